"""Models that visitors brought: at most two, by bytes, refused in a sentence, stopped when nobody wants them."""

import gc
import json
import shutil
import threading
import weakref
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file, save_file

from pages.ui import streamlit_internals
from pages.ui.loading import model_settings, models, own_models
from pages.ui.loading.own_models import Own, Refused, Store
from pages.ui.work import jobs as jobs_module
from pages.ui.work import progress
from tests import fake_hub, own_folders
from tests.hostile_tokenizers import CHAIN, normalizers
from tests.loading import gguf_files
from tfcore.loading import hub, weights


def own(name, size=10, state="a"):
    return Own(name, None, None, size, 0.0, state)


def kept(store, *names):
    return [name for name in names if store.get(name) is not None]


def test_at_most_two_and_the_least_used_goes_first():
    store = Store()
    for name in ("a", "b"):
        store.make_room(name, 10, 100)
        store.put(own(name))
    store.get("a")
    store.make_room("c", 10, 100)
    store.put(own("c"))
    assert kept(store, "a", "b", "c") == ["a", "c"]


def test_bytes_count_too():
    store = Store()
    store.put(own("a", 60))
    store.make_room("b", 50, 100)
    assert kept(store, "a") == []
    store.put(own("b", 50))
    store.make_room("c", 50, 100)
    assert kept(store, "b") == ["b"]
    assert store.used == 50


def test_other_weights_under_an_old_name_are_noticed():
    store = Store()
    assert [store.put(own("a", state=s)) for s in ("x", "x", "y")] == [False, False, True]


@dataclass(frozen=True)
class Far:
    stage: str
    done: int
    total: int = 1000


def test_work_says_how_far_it_is_and_not_too_often():
    def work(say):
        for i in range(1001):
            say(Far("load", i))
        return "there"

    said = [item for item in progress.steps(work) if item is not None]
    assert said[-1] == "there"
    assert len(said) == progress.SHARE + 2
    assert said[-2] == Far("load", 1000)


def test_work_that_nobody_wants_ends():
    ended, going = threading.Event(), threading.Event()

    def work(say):
        try:
            for i in range(10**9):
                say(Far("load", i, 10**9))
                going.set()
        finally:
            ended.set()

    steps: Any = progress.steps(work)  # a generator
    next(steps)
    assert going.wait(20)
    steps.close()
    assert ended.wait(20)


def test_even_a_panic_is_an_answer():
    class Panic(BaseException):
        pass

    def work(_):
        raise Panic("deep inside")

    with pytest.raises(progress.WorkError) as failed:
        list(progress.steps(work))
    assert isinstance(failed.value.problem, Panic)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A GPT-2 at ./gpt2, and a store of its own."""
    own_folders.write(tmp_path, "gpt2")
    monkeypatch.setenv("TFCORE_MODELS", "any")
    monkeypatch.setenv("TFCORE_MODEL_FOLDER", str(tmp_path))
    monkeypatch.setattr(own_models, "STORE", Store())
    return tmp_path / "gpt2"


def last(job=own_models.bring, name="./gpt2"):
    """What a job said last; of one that has loaded the model, the model in the store."""
    said = [item for item in job(name, model_settings.read()) if item is not None]
    found = None if job is own_models.look else own_models.STORE.get(name)
    return said[-1] if found is None or (said and isinstance(said[-1], Refused)) else found


def test_a_folder_is_brought(folder):
    estimated, found = last(own_models.look), last()
    assert isinstance(found, Own)
    assert own_models.STORE.get("./gpt2") is found
    assert found.size == estimated.memory == sum(t.nbytes for t in found.model.state_dict().values())
    assert not any(p.requires_grad for p in found.model.parameters())


def edit(folder, **values):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def change(folder, **tensors):
    held = load_file(folder / "model.safetensors")
    save_file(held | tensors, folder / "model.safetensors")


def lie(folder):
    """A header that promises far more numbers than the file holds."""
    data = (folder / "model.safetensors").read_bytes()
    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + n])
    entry = header["transformer.wte.weight"]
    entry["shape"], entry["data_offsets"] = [10**6, 10**6], [0, 4 * 10**12]
    raw = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(raw).to_bytes(8, "little") + raw + data[8 + n :])


NAN = torch.full((320, 24), float("nan"))
DAMAGES = {
    "no folder": (lambda f: f.rename(f.parent / "x"), "./gpt2: There is no folder ./gpt2 in the folder for models"),
    "no config": (lambda f: (f / "config.json").unlink(), "./gpt2: config.json is missing"),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), "./gpt2: gpt2 has no tokenizer.json, without which"),
    "a tokenizer of rubbish": (lambda f: (f / "tokenizer.json").write_text("{}"), "is not a tokenizer file"),
    "another family": (lambda f: edit(f, model_type="mamba"), "model_type='mamba' is not supported"),
    "absurd settings": (lambda f: edit(f, n_embd=10**9), "d_ff=4000000000 must be between"),
    "many layers": (lambda f: edit(f, n_layer=10**6), "n_layers=1000000 must be between"),
    "wide": (lambda f: edit(f, n_embd=65_536, n_layer=512), "which config.json|config.json asks for|lacks"),
    "a header that lies": (lie, "model.safetensors is damaged or no safetensors file"),
    "a pickle": (lambda f: torch.save({}, f / "model.safetensors"), "model.safetensors is damaged or no safetensors"),
    "not finite": (lambda f: change(f, **{"transformer.wte.weight": NAN}), "holds numbers that are not finite"),
    "answers overflow": (
        lambda f: change(f, **{"transformer.ln_f.weight": torch.full((24,), 3e38)}),
        "./gpt2: it answers with numbers that are not finite",
    ),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=list(DAMAGES))
def test_what_is_wrong_is_one_sentence_without_paths(folder, damage, message):
    damage(folder)
    found = last()
    assert isinstance(found, Refused)
    assert any(part in found.sentence for part in message.split("|")), found.sentence
    assert str(folder.parent) not in found.sentence
    assert "\n" not in found.sentence
    assert own_models.STORE.get("./gpt2") is None


def test_a_model_that_does_not_fit_is_refused_before_anything_is_let_go_of(folder, monkeypatch):
    other = own("./other")
    own_models.STORE.put(other)
    monkeypatch.setenv("TFCORE_MODEL_GB", "0.0001")
    assert "this server keeps at most 0.1 MB" in last().sentence
    monkeypatch.setenv("TFCORE_MODEL_GB", "4")
    monkeypatch.setattr(weights, "free_memory", lambda _: 50)
    monkeypatch.setattr("tfcore.loading.checkpoints.free_memory", lambda _: 50)
    assert last().sentence.endswith("in float32, and 0.0 MB are free")
    assert own_models.STORE.get("./other") is other


def test_the_copy_that_writes_text_counts_towards_the_limit(folder, monkeypatch):
    plain = last().size
    monkeypatch.setattr("tfcore.generation.half_precision.half_is_faster", lambda *_: True)
    assert last().size == plain * 3 // 2  # two bytes a weight besides four
    monkeypatch.setenv("TFCORE_MODEL_GB", str(1.2 * plain / 1e9))
    assert "in float32 and, to write with, bfloat16, and this server keeps at most" in last().sentence


def test_a_tokenizer_that_fails_at_once_is_refused(folder):
    said = json.loads((folder / "tokenizer.json").read_text()) | {"normalizer": normalizers(*CHAIN)}
    (folder / "tokenizer.json").write_text(json.dumps(said))
    assert last().sentence.startswith("./gpt2: its tokenizer cannot read '0123456789abcdefghijklmnopq")
    assert "more memory than a tokenizer may have" in last().sentence


PROBLEMS = {
    "a path in quotes": ValueError("cannot open '/srv/my secret/x.json'"),
    "a path after a colon": ValueError("/srv/secret/x.json:/srv/secret/y.json"),
    "not ours": PermissionError(13, "Permission denied", "/srv/secret/x.json"),
    "an error in an error": RuntimeError(PermissionError(13, "Permission denied", "/srv/secret/x.json")),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_no_sentence_names_a_path(folder, monkeypatch, problem):
    def fails(*_, **__):
        raise problem

    monkeypatch.setattr("tfcore.loading.checkpoints.estimate", fails)
    for job in (own_models.look, own_models.bring):
        sentence = last(job).sentence
        assert sentence.startswith("./gpt2: ")
        assert "secret" not in sentence
        assert "srv" not in sentence


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A hub of the models below "served", and an empty cache."""
    monkeypatch.setattr(hub, "SPARE_DISK", 0)
    monkeypatch.setattr(own_models, "STORE", Store())
    monkeypatch.setenv("TFCORE_MODELS", "public")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    with fake_hub.serving(tmp_path / "served") as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.address + "/{repo_id}/resolve/{revision}/{filename}"
        )
        yield server


def downloaded(tmp_path):
    """Bytes of all that the cache has."""
    return sum(f.stat().st_size for f in (tmp_path / "cache").rglob("blobs/*"))


def test_downloads_make_room_where_that_is_set(served, tmp_path, monkeypatch):
    """A cache that is full is full no longer: what was looked at longest ago goes."""
    own_folders.write(tmp_path, "gpt2")
    for name in "abc":
        shutil.copytree(tmp_path / "gpt2", served.root / "tiny" / name)
    of_one = sum(file.stat().st_size for file in (tmp_path / "gpt2").iterdir())
    monkeypatch.setenv("TFCORE_HUB_CACHE_GB", str(2.5 * of_one / 1e9))
    for name in "abca":
        found = last(name=f"tiny/{name}")
        assert isinstance(found, Own), found
        assert downloaded(tmp_path) <= model_settings.read().cached
        assert (tmp_path / "cache" / f"models--tiny--{name}").is_dir()


def test_files_of_one_repository_make_room_for_each_other(served, tmp_path, monkeypatch):
    """They may be as many as their owner likes."""
    (served.root / "tiny" / "files").mkdir(parents=True)
    for seed in range(3):
        path = served.root / "tiny" / "files" / f"{seed}.gguf"
        gguf_files.write(
            path,
            "llama",
            gguf_files.random_model("llama"),
            **gguf_files.byte_level("gpt-2"),
            **{"general.name": f"{seed}"},
        )
    monkeypatch.setenv("TFCORE_HUB_CACHE_GB", str(1.5 * path.stat().st_size / 1e9))
    settings = model_settings.read()
    for seed in (0, 1, 2, 2):
        name = f"tiny/files/{seed}.gguf"
        estimated = list(own_models.look(name, settings))[-1]
        found = last(name=name)
        assert isinstance(found, Own), found
        assert (found.name, found.size) == (name, estimated.memory)
        assert dict(found.special.names)["eos_token"] == "<|end|>"
        assert 0 < downloaded(tmp_path) <= settings.cached
    assert served.asked == ["0.gguf", "1.gguf", "2.gguf"]


def test_a_file_that_the_repository_does_not_have(served):
    (served.root / "tiny" / "files").mkdir(parents=True)
    (served.root / "tiny" / "files" / "b.gguf").write_bytes(b"x")
    for job in (own_models.look, own_models.bring):
        (found,) = [item for item in job("tiny/files/a.gguf", model_settings.read()) if item is not None]
        assert found == Refused(
            "tiny/files/a.gguf: tiny/files on the hub has no a.gguf; its GGUF files are b.gguf", offline=False
        )


def gone(name):
    """Whether a model is gone that a job has loaded and that made room since."""
    jobs, key = own_models.LOADS, ("load", name, "gone")
    jobs.start(key, lambda: own_models.bring(name, model_settings.read()), "me")
    jobs.wait(key, 10**9, 60)
    found = own_models.STORE.get(name)
    assert found is not None, jobs.look(key, "me")
    model, tokenizer = weakref.ref(found.model), weakref.ref(found.tokenizer)
    del found
    own_models.STORE.make_room("./another", 1, 0)
    gc.collect()
    return model() is None and tokenizer() is None


def test_a_model_that_made_room_is_gone(folder):
    """Of a folder and of a file; the job that loaded it is remembered longer."""
    gguf_files.write(
        folder.parent / "a.gguf", "llama", gguf_files.random_model("llama"), **gguf_files.byte_level("gpt-2")
    )
    assert gone("./gpt2")
    assert gone("./a.gguf")


def test_so_is_one_of_the_hub(served, tmp_path):
    own_folders.write(tmp_path, "gpt2")
    shutil.copytree(tmp_path / "gpt2", served.root / "tiny" / "a")
    assert gone("tiny/a")


def test_so_is_one_that_was_refused(folder, monkeypatch):
    """Its problem, and the frames that it came through, are not kept."""
    tried: list[Any] = []

    def refuse(model, _):
        tried.append(weakref.ref(model))
        raise ValueError("it answers with numbers that are not finite")

    monkeypatch.setattr(own_models, "_try_out", refuse)
    assert isinstance(last(), Refused)
    gc.collect()
    assert tried[0]() is None


def test_experts_without_end_are_refused(tmp_path, folder):
    own_folders.write(tmp_path, "mixtral")
    edit(tmp_path / "mixtral", num_local_experts=4096, num_hidden_layers=512)
    found = list(own_models.bring("./mixtral", model_settings.read()))[-1]
    assert found.sentence == "./mixtral: config.json: more than 100,000 experts in all are too many"


def test_who_leaves_while_a_model_loads_frees_the_place(folder, monkeypatch):
    """Through the button of a page; another visitor's model is then loaded at once."""
    monkeypatch.setattr(jobs_module, "AWAY", 0.0)
    monkeypatch.setattr(own_models, "LOADS", jobs_module.Jobs(running=1))
    left, begun = threading.Event(), threading.Event()
    monkeypatch.setattr(streamlit_internals, "leaving", lambda: left.is_set)
    whole = own_models._bring

    def slow(name: str, settings: Any, say: Any) -> None:
        if name == "./slow":
            begun.set()
            while True:  # until it is stopped: `say` raises then
                say(weights.LoadProgress("load", 1, 2))
                left.wait(0.05)
        whole(name, settings, say)

    monkeypatch.setattr(own_models, "_bring", slow)
    models._start("./slow")
    assert begun.wait(60)
    (key,) = own_models.LOADS.registry.records
    own_models.LOADS.start("other", lambda: own_models.bring("./gpt2", model_settings.read()), "another")
    assert own_models.LOADS.look("other", "another").state == "waiting"
    left.set()
    own_models.LOADS.wait("other", 10**9, 60)
    assert own_models.LOADS.look("other", "another").state == "done"
    assert own_models.STORE.get("./gpt2") is not None
    assert own_models.LOADS.registry.records[key].state == "stopped"
