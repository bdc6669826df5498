"""Weights in one file or several: what is missing, damaged, hostile or too large is refused before anything is read."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.parity.test_families import DECODERS, written
from tests.small import assert_load_refuses, ids, model
from tfcore import CheckpointError, load, save
from tfcore.loading import weights
from tfcore.loading.weights import check_memory, free_memory

CPU = torch.device("cpu")


@pytest.fixture
def whole(tmp_path):
    written(*DECODERS["llama"], tmp_path)
    return tmp_path


@pytest.fixture
def shards(tmp_path):
    written(*DECODERS["llama"], tmp_path, max_shard_size="20KB")
    return tmp_path


def edit_index(folder, change):
    path = folder / weights.INDEX
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def place(name):
    """Says that a tensor is in the file of that name."""
    return lambda folder: edit_index(folder, lambda c: c["weight_map"].update({"model.norm.weight": name}))


def first(folder):
    return sorted(folder.glob("model-*.safetensors"))[0]


def cut(path, share=0.7):
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


NO_FILE = "which is no safetensors file beside it"
DAMAGES = {
    "a shard is missing": (lambda f: first(f).unlink(), "model-00001-of-"),
    "a shard is cut": (lambda f: cut(first(f)), "is damaged or no safetensors file"),
    "a shard is a pickle": (lambda f: torch.save({}, first(f)), "is damaged or no safetensors file"),
    "a shard lacks a tensor": (
        lambda f: save_file({"none": torch.ones(1)}, first(f)),
        "which model.safetensors.index.json says is in it",
    ),
    "the index lacks a tensor": (
        lambda f: edit_index(f, lambda c: c["weight_map"].pop("model.norm.weight")),
        "model.safetensors.index.json lacks norm.weight",
    ),
    "a way out": (place("../../etc/x.safetensors"), f"names '../../etc/x.safetensors', {NO_FILE}"),
    "a whole path": (place("/etc/x.safetensors"), f"names '/etc/x.safetensors', {NO_FILE}"),
    "a drive": (place("c:x.safetensors"), f"names 'c:x.safetensors', {NO_FILE}"),
    "the other slash": (place("..\\x.safetensors"), NO_FILE),
    "a pattern": (place("*.safetensors"), NO_FILE),
    "a pickle": (place("pytorch_model.bin"), f"names 'pytorch_model.bin', {NO_FILE}"),
    "a zero byte": (place("a\0.safetensors"), NO_FILE),
    "a number": (place(3), f"names '3', {NO_FILE}"),
    "no map": (lambda f: edit_index(f, lambda c: c.pop("weight_map")), "has no weight_map"),
    "a list": (lambda f: edit_index(f, lambda c: c.update(weight_map=["x"])), "has no weight_map"),
    "no JSON": (lambda f: cut(f / weights.INDEX), "cannot be read as JSON"),
    "no weights": (lambda f: (f / weights.INDEX).unlink(), "model.safetensors is missing"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=list(DAMAGES))
def test_a_damaged_index_or_shard_is_refused_in_a_sentence(shards, damage, message):
    damage(shards)
    assert_load_refuses(shards, message)


def test_a_pickle_alone_is_named_and_not_opened(whole):
    (whole / "model.safetensors").unlink()
    (whole / "pytorch_model.bin").write_bytes(b"not opened")
    with pytest.raises(CheckpointError, match=r"model\.safetensors is missing, and pytorch_model\.bin is a pickle"):
        load(whole, device="cpu")


def edit(folder, change):
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


K = "model.layers.1.self_attn.k_proj.weight"
WRONG = {
    "q and k swapped": (
        lambda w: w.update({K: w[K.replace("k_p", "q_p")], K.replace("k_p", "q_p"): w[K]}),
        "layers.1.self_attn.q_proj.weight has shape (30, 24), config.json asks for (60, 24)",
    ),
    "turned": (
        lambda w: w.update({K: w[K].T.contiguous()}),
        "layers.1.self_attn.k_proj.weight has shape (24, 30), config.json asks for (30, 24)",
    ),
    "flat": (lambda w: w.update({K: w[K].flatten()}), "has shape (720,), config.json asks for (30, 24)"),
    "lacking": (lambda w: w.pop(K), "model.safetensors lacks layers.1.self_attn.k_proj.weight"),
    "a whole layer lacking": (
        lambda w: [w.pop(name) for name in list(w) if ".layers.1." in name],
        "model.safetensors lacks layers.1.input_layernorm.weight and 8 more",
    ),
    "no head": (lambda w: w.pop("lm_head.weight"), "lacks lm_head.weight"),
    "too many": (lambda w: w.update(score=torch.ones(2, 24)), "holds score, which a model of its config does not"),
    "a layer too many": (
        lambda w: w.update({K.replace(".1.", ".2."): w[K].clone()}),
        "holds layers.2.self_attn.k_proj",
    ),
    "twice": (lambda w: w.update({K.removeprefix("model."): w[K].clone()}), "another copy under another name"),
    "whole numbers": (lambda w: w.update({K: w[K].to(torch.int8)}), "k_proj.weight is I8, not one of F16, BF16"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=list(WRONG))
def test_tensors_that_do_not_fit_the_settings_are_named(whole, change, message):
    edit(whole, change)
    with pytest.raises(CheckpointError) as refused:
        load(whole, device="cpu")
    assert message in str(refused.value)
    assert str(refused.value).startswith(str(whole / "model.safetensors"))


def test_one_missing_expert_is_named(tmp_path):
    written(*DECODERS["mixtral"], tmp_path)
    edit(tmp_path, lambda w: w.pop("model.layers.0.block_sparse_moe.experts.2.w3.weight"))
    with pytest.raises(CheckpointError, match=r"lacks layers\.0\.mlp\.experts\.2\.w3\.weight$"):
        load(tmp_path, device="cpu")


def test_a_loaded_model_does_not_hang_on_its_file(tmp_path):
    save(model(), tmp_path, dtype=torch.float32)
    loaded, _ = load(tmp_path, device="cpu")
    before = loaded(ids()).logits
    path = tmp_path / "model.safetensors"
    size = path.stat().st_size
    with path.open("r+b") as file:  # in place, as another program would
        file.seek(size // 4)
        file.write(b"\0" * (size // 2))
    assert torch.equal(loaded(ids()).logits, before)
    path.unlink()


def test_a_model_that_does_not_fit_is_refused_before_it_is_read(whole, monkeypatch):
    monkeypatch.setattr(weights, "free_memory", lambda _: 20_000)
    monkeypatch.setattr(weights.Weights, "read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(CheckpointError) as refused:
        load(whole, device="cpu")
    assert str(refused.value) == (
        "the model needs 0.1 MB of memory for its weights in float32, 0.0 MB are available on cpu; take a smaller "
        "model or a dtype of fewer bytes"
    )


def test_needed_memory_is_that_of_the_type_computed_in(monkeypatch):
    shapes = {"a": (1000, 1000, 1000), "b": (500_000_000,)}
    monkeypatch.setattr(weights, "free_memory", lambda _: 4_000_000_000)
    check_memory(shapes, dict.fromkeys(shapes, torch.bfloat16), CPU)  # 3 GB
    with pytest.raises(CheckpointError, match=r"needs 6\.0 GB of memory .* in float32, 4\.0 GB are available on cpu"):
        check_memory(shapes, dict.fromkeys(shapes, torch.float32), CPU)
    monkeypatch.setattr(weights, "free_memory", lambda _: None)  # the system does not tell
    check_memory(shapes, dict.fromkeys(shapes, torch.float32), CPU)


def test_free_memory_is_the_smaller_of_machine_and_container(tmp_path, monkeypatch):
    assert 10**8 < free_memory(CPU) < 10**14
    (tmp_path / "meminfo").write_text("MemTotal: 99 kB\nMemAvailable:   2000 kB\n")
    assert weights.machine_memory(tmp_path / "meminfo") == 2_048_000
    assert weights.machine_memory(tmp_path / "none") > 10**8  # the whole of it, where nobody says what is free
    assert weights.container_memory(tmp_path) is None
    for name, content in (("max", "5000"), ("current", "3000"), ("stat", "anon 1\ninactive_file 700\n")):
        (tmp_path / f"memory.{name}").write_text(content)
    assert weights.container_memory(tmp_path) == 2700
    (tmp_path / "memory.max").write_text("max\n")
    assert weights.container_memory(tmp_path) is None
    monkeypatch.setattr(weights, "machine_memory", lambda: 7)
    monkeypatch.setattr(weights, "container_memory", lambda: 5)
    assert free_memory(CPU) == 5


def test_only_types_that_can_compute(whole):
    with pytest.raises(ValueError, match=r"dtype=torch\.int8 is no floating-point type"):
        load(whole, device="cpu", dtype=torch.int8)
