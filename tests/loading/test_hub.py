"""Models from the hub: what is asked for, how large it may be, how far it is, and what is said when it is not there."""

import errno
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from huggingface_hub import constants

from tests import fake_hub, own_folders
from tests.loading.conftest import point_to
from tests.small import ids
from tfcore import CheckpointError, load
from tfcore.loading import checkpoints, disk, hub

NAME = "tiny/gpt2"


def folder_of(server):
    return server.root / NAME


def test_a_model_of_the_hub_is_the_model_of_its_folder(served):
    told = []
    ours, tokenizer = load(NAME, device="cpu", tell=told.append)
    again, _ = load(folder_of(served), device="cpu")
    assert torch.equal(ours(ids()).logits, again(ids()).logits)
    assert tokenizer.decode(tokenizer.encode("a dog")) == "a dog"
    total = (folder_of(served) / "model.safetensors").stat().st_size
    downloads = [p.done for p in told if p.stage == "download"]
    assert downloads[0] == 0
    assert downloads == sorted(downloads)
    assert downloads[-1] == total
    loads = [p for p in told if p.stage == "load"]
    assert loads[-1].done == loads[-1].total == sum(t.nbytes for t in ours.state_dict().values())


def test_only_settings_tokenizer_and_safetensors_are_fetched(served):
    for name in ("pytorch_model.bin", "modeling_evil.py", "README.md", "flax_model.msgpack"):
        (folder_of(served) / name).write_bytes(b"never")
    load(NAME, device="cpu")
    assert sorted(set(served.asked)) == ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]


def test_looking_downloads_no_weights(served):
    found = checkpoints.estimate(NAME, device="cpu")
    assert "model.safetensors" not in served.asked
    assert found.download == (folder_of(served) / "model.safetensors").stat().st_size
    assert found.commit == fake_hub.COMMIT
    model, _ = load(NAME, device="cpu")
    assert found.parameters == sum(p.numel() for p in model.parameters())
    assert found.memory == 4 * found.parameters
    assert checkpoints.estimate(NAME, device="cpu").download == 0


def test_what_was_downloaded_works_when_the_hub_does_not(served, monkeypatch):
    load(NAME, device="cpu")
    point_to("http://127.0.0.1:9", monkeypatch)  # where nobody listens
    assert load(NAME, device="cpu")[0].config.n_layers == 3
    with pytest.raises(hub.UnreachableError) as refused:
        load("tiny/other", device="cpu")
    assert str(refused.value) == (
        "the Hugging Face hub cannot be reached from here, and tiny/other is not in the cache; go online once, or give "
        "a folder"
    )


def test_offline_mode_says_so(served, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(hub.UnreachableError, match="cannot be reached from here"):
        load(NAME, device="cpu")


REFUSED = {
    "no such model": ("tiny/none", {}, "tiny/none on the hub does not exist, or is private"),
    "no config": (NAME, {"config.json": None}, "tiny/gpt2 on the hub has no config.json"),
    "pickles alone": (
        NAME,
        {"model.safetensors": None, "pytorch_model.bin": b"never opened"},
        "has no model.safetensors; weights are read from safetensors files alone, never from pickles",
    ),
    "a huge config": (
        NAME,
        {"config.json": 2_000_000},
        "config.json of tiny/gpt2 has 2.0 MB, more than the 1.0 MB such may",
    ),
    "a huge tokenizer": (
        NAME,
        {"tokenizer.json": 10**9},
        "tokenizer.json of tiny/gpt2 has 1.0 GB, more than the 40.0 MB such may",
    ),
    "a download that is too large": (
        NAME,
        {"model.safetensors": 3 * 10**9},
        "tiny/gpt2 would be a download of 3.0 GB, and at most 2.0 GB are allowed here",
    ),
    "more than it said": (
        NAME,
        {"model.safetensors": 100},
        "the hub sends more of model.safetensors than the 0.0 MB it said",
    ),
    "an index that leads out": (
        NAME,
        {"model.safetensors.index.json": json.dumps({"weight_map": {"a": "../x"}}).encode()},
        "names '../x', which is no safetensors file beside it",
    ),
}


def change(server, files):
    """None takes a file away, bytes are its contents, a number is what the hub says of its size."""
    for file, what in files.items():
        if isinstance(what, int):
            server.sizes[file] = what
        elif what is None:
            (folder_of(server) / file).unlink()
        else:
            (folder_of(server) / file).write_bytes(what)


@pytest.mark.parametrize(("name", "files", "message"), REFUSED.values(), ids=list(REFUSED))
def test_what_the_hub_must_not_give_is_refused_in_a_sentence(served, name, files, message):
    change(served, files)
    with pytest.raises(CheckpointError) as refused:
        load(name, device="cpu", largest_download=2 * 10**9)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "model.safetensors" not in [file for file in served.asked if message.startswith("tiny")]


def test_a_disk_that_is_too_small_is_said_before_the_download(served, monkeypatch):
    monkeypatch.setattr(hub, "SPARE_DISK", 10**18)
    with pytest.raises(CheckpointError, match=r"would be a download of 0\.1 MB, and the disk has"):
        load(NAME, device="cpu")
    assert "model.safetensors" not in served.asked


def unwritable(tmp_path):
    """A folder that nobody can write to, whoever runs the tests: below a file."""
    (tmp_path / "my secret file").write_text("")
    return str(tmp_path / "my secret file" / "hub")


def test_a_cache_that_cannot_be_written_to_is_a_sentence_without_its_place(served, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", unwritable(tmp_path))
    with pytest.raises(CheckpointError) as refused:
        load(NAME, device="cpu")
    assert (
        str(refused.value) == "tiny/gpt2 on the hub could not be downloaded into the cache (HF_HOME): Not a directory"
    )


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EACCES, errno.EDQUOT])
def test_so_is_a_disk_that_is_full_or_read_only(served, tmp_path, monkeypatch, code):
    def fails(*_, **__):
        raise OSError(code, os.strerror(code), str(tmp_path / "secret"))

    monkeypatch.setattr("huggingface_hub.hf_hub_download", fails)
    why = "the disk is full: it needs" if code in disk.FULL else os.strerror(code)
    with pytest.raises(CheckpointError, match=why) as refused:
        load(NAME, device="cpu")
    assert "secret" not in str(refused.value)


def test_on_the_hub_is_on_the_hub(served, tmp_path, monkeypatch):
    (tmp_path / "here" / "tiny").mkdir(parents=True)
    own_folders.write(tmp_path / "here" / "tiny", "llama")
    (tmp_path / "here" / "tiny" / "llama").rename(tmp_path / "here" / "tiny" / "gpt2")
    monkeypatch.chdir(tmp_path / "here")
    assert load(NAME, device="cpu")[0].config.n_layers == 2
    assert load(Path(NAME), device="cpu")[0].config.n_layers == 2
    assert load(hub.OnHub(NAME), device="cpu")[0].config.n_layers == 3
    assert checkpoints.estimate(hub.OnHub(NAME), device="cpu").config.n_layers == 3


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A cache with four models of 100 bytes, "org/a" looked at longest ago."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hub, "SPARE_DISK", 0)
    for age, name in enumerate("dcba"):
        blobs = tmp_path / "cache" / f"models--org--{name}" / "blobs"
        blobs.mkdir(parents=True)
        (blobs / "x.incomplete").write_bytes(b"x" * 100)  # of a download that was stopped
        (blobs / "link").symlink_to("x.incomplete")
        os.utime(blobs.parent, (10**9 - age, 10**9 - age))
    (tmp_path / "cache" / "datasets--org--a").mkdir()

    def left():
        return "".join(sorted(f.name[-1] for f in (tmp_path / "cache").glob("models--*")))

    return left


@pytest.mark.parametrize(
    ("needed", "limit", "loaded", "besides", "left"),
    [
        (0, 400, (), "", "abcd"),
        (1, 400, (), "", "bcd"),
        (150, 400, (), "", "cd"),
        (100, 400, ("org/a",), "", "acd"),
        (250, 400, ("org/a",), "", "a"),
        (350, 400, ("org/a",), "", ""),
        (350, 400, ("org/a", "org/b"), "org/c", "c"),
        (250, 400, ("org/a/x.gguf",), "", "a"),
        (0, 100, (), "org/c/x.gguf", "c"),
        (100, 200, (), "org/d/x.gguf", "d"),
        (10**6, 400, (), "", ""),
    ],
)
def test_room_is_made_by_those_looked_at_longest_ago(cached, needed, limit, loaded, besides, left):
    hub.make_room(needed, limit, loaded, besides)
    assert cached() == left
    assert (Path(constants.HF_HUB_CACHE) / "datasets--org--a").is_dir()


def test_other_files_of_a_repository_make_room_for_a_gguf_file(cached):
    folder = Path(constants.HF_HUB_CACHE) / "models--org--c"
    (folder / "refs").mkdir()
    hub.make_room(350, 400, (), "org/c/x.gguf")
    assert cached() == "c"
    assert [left.name for left in folder.iterdir()] == ["refs"]


def test_room_is_made_on_the_disk_too(cached, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000 - 100 * len(cached())))
    hub.make_room(750, 10**9)
    assert cached() == "cd"


def test_a_cache_that_is_not_there_has_room(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "none"))
    hub.make_room(10**15, 1)


def test_looking_at_a_model_makes_it_the_last_to_go(served):
    load(NAME, device="cpu")
    folder = Path(constants.HF_HUB_CACHE) / "models--tiny--gpt2"
    os.utime(folder, (1, 1))
    load(NAME, device="cpu")
    assert folder.stat().st_mtime > 1


def test_a_download_can_be_stopped_and_goes_on_later(served):
    class StopError(BaseException):
        pass

    def stop(progress):
        if progress.done:
            raise StopError

    with pytest.raises(StopError):
        load(NAME, device="cpu", tell=stop)
    assert load(NAME, device="cpu")[0].config.n_layers == 3


def test_names():
    for name in ("openai-community/gpt2", "a/b/c.gguf", "a/b/_c-Q4_K.M.gguf"):
        assert hub.is_hub_name(name), name
    for name in ("gpt2", "a/b/c", "../b", "a/..", "/a", "a/", "-a/b", "a b/c", "é/b", "a/b\n", "a" * 200 + "/b"):
        assert not hub.is_hub_name(name), name
    for file in ("c.gguf/", ".gguf", "-c.gguf", "c..gguf", "../c.gguf", "d/c.gguf", "c.gguf\n", "é.gguf", "c.GGUF"):
        assert not hub.is_hub_name(f"a/b/{file}"), file
    assert hub.parted("a/b") == ("a/b", None)
    assert hub.parted("a/b/c.gguf") == ("a/b", "c.gguf")
