"""Models from the hub: what is asked for, how large it may be, how far it is, and what is said when it is not there."""

import json
import shutil

import pytest
import torch
from huggingface_hub import constants

from tests import fake_hub, own_folders
from tests.small import ids
from tfcore import CheckpointError, checkpoints, hub, load

NAME = "tiny/gpt2"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    root = tmp_path_factory.mktemp("hub")
    own_folders.write(root / "tiny", "gpt2")
    return root


@pytest.fixture
def served(models, tmp_path, monkeypatch):
    """A hub with tiny/gpt2, an empty cache, and a library that takes it for the real one."""
    shutil.copytree(models, tmp_path / "served")
    with fake_hub.serving(tmp_path / "served") as server:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1 << 14)
        point_to(server.address, monkeypatch)
        yield server


def point_to(address, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")


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
    assert sorted(set(served.asked)) == ["config.json", "model.safetensors", "tokenizer.json"]


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
    assert hub.is_hub_name("openai-community/gpt2")
    for name in ("gpt2", "a/b/c", "../b", "a/..", "/a", "a/", "-a/b", "a b/c", "é/b", "a/b\n", "a" * 200 + "/b"):
        assert not hub.is_hub_name(name), name
