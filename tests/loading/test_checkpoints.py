"""A folder written is the folder read; every damage is one sentence that names the file."""

import json
import pickle

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import tfcore
from tests.small import BASE, assert_load_refuses, difference, ids, model
from tfcore.files import CheckpointError
from tfcore.loading import checkpoints
from tfcore.loading.checkpoints import load, save, shipped
from tfcore.part_configs import ExpertsConfig
from tfcore.tokenizers.tokenizer import ByteTokenizer, CharacterTokenizer


@pytest.fixture
def folder(tmp_path):
    save(model(vocab_size=300), tmp_path, CharacterTokenizer("abc"), card="# A card\n", dtype=torch.float32)
    return tmp_path


@pytest.mark.parametrize("positions", ["learned", "rope"])
@pytest.mark.parametrize("tie", [True, False])
def test_what_was_saved_is_loaded(tmp_path, positions, tie):
    saved = model(positions=positions, tie_embeddings=tie, bias=True, norm="layernorm", vocab_size=300)
    save(saved, tmp_path, ByteTokenizer(), card="# A card\n", dtype=torch.float32)
    loaded, tokenizer = load(tmp_path, device="cpu")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "CARD.md",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert loaded.config == saved.config
    assert hash(loaded.config) == hash(saved.config)
    assert torch.equal(loaded(ids()).logits, saved(ids()).logits)
    assert tokenizer.encode("é\x00") == ByteTokenizer().encode("é\x00")
    assert not loaded.training
    assert not any(parameter.requires_grad for parameter in loaded.parameters())


def test_the_biases_that_balance_experts_are_kept(tmp_path):
    saved = model(experts=ExpertsConfig(n_experts=4, top_k=1, bias_rate=0.01))
    routers = [block.mlp for block in saved.decoder.blocks]
    for router in routers:
        router.balance_bias += torch.tensor([0.5, -0.5, 0.0, 0.25])
    save(saved, tmp_path, dtype=torch.float32)
    loaded, _ = load(tmp_path, device="cpu")
    assert torch.equal(loaded.decoder.blocks[0].mlp.balance_bias, routers[0].balance_bias)
    assert torch.equal(loaded(ids()).logits, saved(ids()).logits)


def test_half_precision_halves_the_file_and_hardly_moves_the_answers(tmp_path):
    saved = model(d_model=96)
    save(saved, tmp_path / "half", dtype=torch.float16)
    save(saved, tmp_path / "single", dtype=torch.float32)
    half, _ = load(tmp_path / "half", device="cpu")
    sizes = [(tmp_path / kind / "model.safetensors").stat().st_size for kind in ("half", "single")]
    assert sizes[0] < 0.6 * sizes[1]
    assert next(half.parameters()).dtype == torch.float32
    p, q = (subject(ids()).logits.softmax(-1) for subject in (half, saved))
    assert difference(p, q) < 0.02


def test_a_card_is_left_alone_unless_a_new_one_is_given(tmp_path):
    save(model(), tmp_path, card="first")
    save(model(), tmp_path)
    assert (tmp_path / "CARD.md").read_text() == "first"


def test_a_shipped_model_is_found_by_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "PRETRAINED", tmp_path)
    save(model(), tmp_path / "tiny")
    assert tfcore.shipped() == ["tiny"]
    assert load("tiny", device="cpu")[0].config == model().config
    with pytest.raises(
        CheckpointError,
        match=r"^large is neither a model that is here \(tiny\) nor a folder nor a GGUF file, nor has it",
    ):
        load("large")


def edit_config(folder, **values):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def edit_weights(folder, change):
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")


def write(folder, name, content):
    (folder / name).write_bytes(content)


def truncate(folder, share):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


def as_pickle(folder):
    torch.save({"embed.weight": torch.zeros(2)}, folder / "model.safetensors")


HUGE = b'{"vocab_size": 1' + b" " * 1_000_001 + b"}"
DAMAGES = {
    "no config": (lambda f: (f / "config.json").unlink(), "config.json is missing"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "model.safetensors is missing"),
    "config is a folder": (lambda f: ((f / "config.json").unlink(), (f / "config.json").mkdir()), "cannot be read"),
    "bad JSON": (lambda f: write(f, "config.json", b'{"vocab_size": 61,'), "config.json cannot be read as JSON"),
    "not UTF-8": (lambda f: write(f, "config.json", b"\xff\xfe\x00"), "config.json cannot be read as text"),
    "deep JSON": (lambda f: write(f, "config.json", b"[" * 100_000), "config.json cannot be read as JSON"),
    "long number": (lambda f: write(f, "config.json", b"1" * 5_000), "config.json cannot be read as JSON"),
    "huge JSON": (lambda f: write(f, "config.json", HUGE), "config.json is larger than 1,000,000 bytes"),
    "a JSON list": (lambda f: write(f, "config.json", b"[1]"), "config.json must hold a JSON object"),
    "unknown setting": (lambda f: edit_config(f, wings=2), "config.json: unknown model setting wings"),
    "no vocab_size": (lambda f: write(f, "config.json", b"{}"), "config.json: the model settings lack vocab_size"),
    "a text for a number": (lambda f: edit_config(f, d_model="24"), "d_model='24' must be a whole number"),
    "heads that do not fit": (lambda f: edit_config(f, n_heads=7), "d_model=24 is not divisible by n_heads=7"),
    "absurd size": (lambda f: edit_config(f, d_head=10**18), "d_head=1000000000000000000 must be between"),
    "wrong shapes": (lambda f: edit_config(f, d_model=48), "config.json asks for (300, 48)"),
    "a layer too few": (lambda f: edit_config(f, n_layers=3), "model.safetensors lacks decoder.blocks.2."),
    "a layer too many": (lambda f: edit_config(f, n_layers=1), "which a model of its config does not have"),
    "extra tensor": (
        lambda f: edit_weights(f, lambda w: w.update(spare=torch.ones(3))),
        "model.safetensors holds spare, which",
    ),
    "missing tensor": (lambda f: edit_weights(f, lambda w: w.pop("embed.weight")), "lacks embed.weight"),
    "whole numbers": (
        lambda f: edit_weights(f, lambda w: w.update({"embed.weight": torch.ones(300, 24, dtype=torch.int64)})),
        "embed.weight is I64, not one of F16, BF16, F32, F64",
    ),
    "truncated": (lambda f: truncate(f, 0.7), "model.safetensors is damaged or no safetensors file"),
    "header cut": (lambda f: truncate(f, 0.001), "model.safetensors is damaged or no safetensors file"),
    "empty file": (lambda f: truncate(f, 0), "model.safetensors is damaged or no safetensors file"),
    "a torch pickle": (as_pickle, "model.safetensors is damaged or no safetensors file"),
    "a bare pickle": (
        lambda f: write(f, "model.safetensors", pickle.dumps({"a": 1})),
        "model.safetensors is damaged or no safetensors file",
    ),
    "tokenizer too big": (
        lambda f: CharacterTokenizer("".join(map(chr, range(110)))).save(f),
        "tokenizer.json has 366 tokens, more than the vocab_size=300 of its config",
    ),
    "bad tokenizer": (
        lambda f: write(f, "tokenizer.json", b"{"),
        "tokenizer.json is not a tokenizer file that can be used",
    ),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=list(DAMAGES))
def test_every_damage_is_one_sentence_that_names_the_file(folder, damage, message):
    damage(folder)
    assert_load_refuses(folder, message)


def test_a_tokenizer_file_of_absurd_size_is_not_read(folder):
    with open(folder / "tokenizer.json", "wb") as file:
        file.truncate(10**9)
    with pytest.raises(CheckpointError, match=r"tokenizer\.json has 1\.0 GB, more than the 40\.0 MB a tokenizer may"):
        load(folder, device="cpu")


def test_the_undamaged_folder_loads(folder):
    subject, tokenizer = load(folder, device="cpu")
    assert subject.config.vocab_size == 300 != BASE["vocab_size"]
    assert tokenizer.decode(tokenizer.encode("é")) == "é"


def test_a_folder_without_tokenizer_gives_none(tmp_path):
    save(model(), tmp_path)
    assert load(tmp_path, device="cpu")[1] is None


def test_shipped_models_are_listed_by_architecture():
    assert "stories" in shipped("decoder")
    assert sorted(shipped("decoder") + shipped("encoder", "encoder-decoder")) == shipped()
    assert all(load(name, device="cpu")[0].config.architecture == "decoder" for name in shipped("decoder"))


def test_a_model_is_saved_in_its_own_type_unless_told(tmp_path):
    for dtype in (torch.float32, torch.bfloat16):
        save(model().to(dtype), tmp_path / str(dtype))
        with safe_open(tmp_path / str(dtype) / "model.safetensors", "pt") as file:
            assert {file.get_tensor(name).dtype for name in file.keys()} == {dtype}  # noqa: SIM118 - a file is no dict


def test_of_a_folder_without_tokenizer_the_family_is_named_first(tmp_path):
    """Somebody who brings a tokenizer would only then be told that the model cannot be read."""
    config = {"model_type": "mamba", "architectures": ["MambaForCausalLM"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    for ask in (checkpoints.estimate, load):
        with pytest.raises(CheckpointError, match="model_type='mamba' is not supported; of the "):
            ask(tmp_path)
    save(model(), tmp_path / "ours")
    with pytest.raises(CheckpointError, match=r"has no tokenizer\.json, without which no text can be given"):
        checkpoints.estimate(tmp_path / "ours")
