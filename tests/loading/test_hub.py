"""Models from the hub: what is asked for, how large it may be, how far it is, and what is said when it is not there."""

import errno
import json
import os
import shutil
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from huggingface_hub import constants

from tests import fake_hub, own_folders
from tests.loading import gguf_files
from tests.small import ids
from tfcore import CheckpointError, load
from tfcore.loading import checkpoints, gguf_file, hub
from tfcore.loading.special_tokens import special_tokens
from tfcore.part_configs import RopeScaling
from tfcore.positions import rope_frequencies

NAME = "tiny/gpt2"
GGUF = "tiny/files/llama-Q8_0.gguf"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    root = tmp_path_factory.mktemp("hub")
    own_folders.write(root / "tiny", "gpt2")
    (root / "tiny" / "files").mkdir()
    model = gguf_files.random_model("llama")
    more = gguf_files.byte_level("gpt-2") | {"tokenizer.chat_template": "{{ messages }}"}
    gguf_files.write(root / GGUF, "llama", model, "Q8_0", **more)
    return root


@pytest.fixture
def served(models, tmp_path, monkeypatch):
    """A hub with tiny/gpt2 and a GGUF file, an empty cache, and a library that takes it for the real one."""
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


@pytest.fixture
def in_pieces(monkeypatch):
    """Headers of GGUF files come in pieces of 1,000, 1,000, 2,000 ... bytes."""
    monkeypatch.setattr(gguf_file, "FIRST_PIECE", 1_000)


def gguf_of(server):
    return server.root / GGUF


def test_a_gguf_file_on_the_hub_is_the_model_of_that_file(served, in_pieces):
    for other in ("other.gguf", "config.json", "tokenizer.json", "model.safetensors"):
        (gguf_of(served).parent / other).write_bytes(b"never")
    told = []
    ours, tokenizer = load(GGUF, device="cpu", tell=told.append)
    again, same = load(gguf_of(served), device="cpu")
    assert torch.equal(ours(ids()).logits, again(ids()).logits)
    assert tokenizer.encode("a dog") == same.encode("a dog")
    assert special_tokens(GGUF, tokenizer) == special_tokens(gguf_of(served), same)
    assert special_tokens(GGUF, tokenizer).template
    assert served.asked == [gguf_of(served).name]
    assert {name for name, _, _ in served.parts} == {gguf_of(served).name}
    downloads = [p for p in told if p.stage == "download"]
    assert (downloads[0].done, downloads[-1].done) == (0, gguf_of(served).stat().st_size)


def test_the_header_alone_says_what_a_gguf_file_takes(served, in_pieces):
    before = checkpoints.estimate(GGUF, device="cpu")
    with gguf_file.GgufFile(gguf_of(served)) as file:
        first_number = min(entry.start for entry in file.tensors.values())
    assert served.asked == []
    assert [(first, last) for _, first, last in served.parts][:3] == [(0, 999), (1000, 1999), (2000, 3999)]
    assert served.parts[-1][2] < 2 * first_number
    assert not list(Path(constants.HF_HUB_CACHE).rglob("*.gguf"))
    size = gguf_of(served).stat().st_size
    assert (before.download, before.commit) == (size, fake_hub.COMMIT)
    load(GGUF, device="cpu")
    served.parts.clear()
    after = checkpoints.estimate(GGUF, device="cpu")
    assert (after.config, after.parameters, after.memory) == (before.config, before.parameters, before.memory)
    assert after.download == 0
    assert served.parts == []


@pytest.mark.parametrize("named", [None, "main"])
def test_a_gguf_file_that_was_downloaded_works_without_the_hub(served, monkeypatch, named):
    load(GGUF, device="cpu", revision=named)
    point_to("http://127.0.0.1:9", monkeypatch)  # where nobody listens
    tokenizer = load(GGUF, device="cpu", revision=named)[1]
    assert special_tokens(GGUF, tokenizer).template
    assert checkpoints.estimate(GGUF, device="cpu").commit == fake_hub.COMMIT
    with pytest.raises(hub.UnreachableError, match=r"tiny/files/other\.gguf is not in the cache; go online once"):
        load("tiny/files/other.gguf", device="cpu")


def test_a_hub_that_goes_while_a_gguf_file_is_looked_at(served, monkeypatch):
    found = hub.look(GGUF)
    point_to("http://127.0.0.1:9", monkeypatch)
    for asked in (lambda: hub.part(found, 0, 10), lambda: hub.fetch(found)):
        with pytest.raises(hub.UnreachableError, match=r"cannot be reached from here, and tiny/files/llama-Q8_0\.gguf"):
            asked()


def test_numbers_that_the_config_needs_are_fetched_too(served, monkeypatch):
    """LLaMA 3.1's scaling of rotations is a tensor."""
    scaling = RopeScaling(kind="llama3", factor=32.0, original_len=8192, low_freq=1.0, high_freq=4.0)
    factors = rope_frequencies(16, 10_000.0) / rope_frequencies(16, 10_000.0, scaling)
    add = gguf_files.gguf.GGUFWriter.write_header_to_file

    def with_factors(writer, *args, **kwargs):
        writer.add_tensor("rope_freqs.weight", factors.float().numpy())
        return add(writer, *args, **kwargs)

    monkeypatch.setattr(gguf_files.gguf.GGUFWriter, "write_header_to_file", with_factors)
    gguf_files.write(gguf_of(served), "llama", gguf_files.random_model("llama"), **gguf_files.byte_level("gpt-2"))
    assert checkpoints.estimate(GGUF, device="cpu").config.rope_scaling == scaling


def test_a_head_beside_the_table_counts_as_it_does_after_the_download(served, monkeypatch):
    """GPT-2's is the table where it is equal to it."""
    write = gguf_files.tensors

    def with_head(*args):
        found = write(*args)
        return found | {"output.weight": found["token_embd.weight"]}

    monkeypatch.setattr(gguf_files, "tensors", with_head)
    gguf_files.write(gguf_of(served), "gpt2", gguf_files.random_model("gpt2"), **gguf_files.byte_level("gpt-2"))
    found = checkpoints.estimate(GGUF, device="cpu")
    assert found.config.tie_embeddings
    assert found.config == checkpoints.estimate(gguf_of(served), device="cpu").config
    assert served.asked == []


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


def with_settings(**more):
    def change_file(path):
        settings = gguf_files.byte_level("gpt-2") | more
        gguf_files.write(path, "llama", gguf_files.random_model("llama"), "Q8_0", **settings)

    return change_file


def cut(n):
    return lambda path: path.write_bytes(path.read_bytes()[:n])


def renamed(old, new):
    return lambda path: path.write_bytes(path.read_bytes().replace(old, new))


def put(before, ahead, number):
    """A function that writes a number into a file, so many bytes ahead of the end of a text."""

    def change_file(path):
        content = bytearray(path.read_bytes())
        struct.pack_into("<Q", content, content.index(before) + len(before) + ahead, number)
        path.write_bytes(content)

    return change_file


# What is done to the file, what the hub says of its size, the sentence.
GGUF_REFUSED = {
    "too large": (None, 3 * 10**9, "llama-Q8_0.gguf would be a download of 3.0 GB, and at most 2.0 GB are allowed"),
    "something else": (lambda path: path.write_bytes(b"PK" * 99), None, "llama-Q8_0.gguf is no GGUF file"),
    "nothing": (lambda path: path.write_bytes(b""), None, "llama-Q8_0.gguf on the hub is empty"),
    "cut short in its header": (cut(2_500), None, "llama-Q8_0.gguf is cut short in its header"),
    "cut short in its numbers": (cut(50_000), None, "llama-Q8_0.gguf is cut short: "),
    "a tensor beyond the end": (put(b"output_norm.weight", 16, 2**40), None, "is cut short: output_norm.weight would"),
    "a text beyond the end": (put(b"general.architecture", 4, 2**40), None, "has a name or text of 1,099,511,627,776"),
    "more tensors than any model": (put(b"GGUF", 4, 2**40), None, "more than any model has"),
    "another architecture": (renamed(b"llama", b"mamba"), None, "holds a model of the architecture 'mamba'"),
    "another tokenizer": (with_settings(**{"tokenizer.ggml.pre": "dbrx"}), None, "cuts texts by 'dbrx'"),
    "wrong heads": (with_settings(**{"llama.rope.dimension_count": 8}), None, "rotates 8 of 16 numbers of a head"),
    "more than it says": (None, 20_000, "is cut short: "),
}


@pytest.mark.parametrize(("change_file", "said", "message"), GGUF_REFUSED.values(), ids=list(GGUF_REFUSED))
def test_a_gguf_file_is_refused_by_its_header(served, in_pieces, change_file, said, message):
    if change_file is not None:
        change_file(gguf_of(served))
    if said is not None:
        served.sizes[gguf_of(served).name] = said
    with pytest.raises(CheckpointError) as refused:
        load(GGUF, device="cpu", largest_download=2 * 10**9)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert served.asked == []
    assert not list(Path(constants.HF_HUB_CACHE).rglob("*.gguf"))


def test_a_header_elsewhere_has_an_end(served, in_pieces, monkeypatch):
    monkeypatch.setattr(gguf_file, "MAX_HEADER_BYTES", 3_000)
    with pytest.raises(CheckpointError, match=r"has a header of more than 0\.0 MB"):
        load(GGUF, device="cpu")
    assert max(last for _, _, last in served.parts) < 3_000


def test_a_hub_without_parts_of_files_is_not_asked_for_the_whole(served):
    served.ranges = False
    with pytest.raises(
        CheckpointError, match=r"the hub does not send the part of llama-Q8_0\.gguf that it was asked for"
    ):
        load(GGUF, device="cpu")


def test_a_part_of_a_file_of_another_size_is_refused(served):
    found = hub.look(GGUF)
    assert hub.part(found, 1, 3) == b"GUF"
    served.sizes[gguf_of(served).name] = 10**6
    with pytest.raises(CheckpointError, match="does not send the part"):
        hub.part(found, 1, 3)


def test_factors_of_rotations_have_an_end(served, in_pieces):
    """They are read before the download, and a file may say that it has petabytes of them."""
    put(b"blk.1.ffn_up.weight", 4, 2**20)(gguf_of(served))
    content = gguf_of(served).read_bytes().replace(b"blk.1.ffn_up.weight", b"rope_freqs.weight\0\0")
    at = content.index(b"rope_freqs.weight")
    content = content[: at - 8] + struct.pack("<Q", 17) + content[at : at + 17] + content[at + 19 :]
    gguf_of(served).write_bytes(content)
    served.sizes[gguf_of(served).name] = 10**15
    with pytest.raises(CheckpointError, match=r"has rope_freqs\.weight of 0\.1 GB, which cannot be"):
        load(GGUF, device="cpu")
    assert served.asked == []


def test_other_gguf_files_are_named(served):
    there = gguf_of(served).parent
    message = "tiny/files on the hub has no q.gguf; its GGUF files are "
    with pytest.raises(CheckpointError) as refused:
        load("tiny/files/q.gguf", device="cpu")
    assert str(refused.value) == message + "llama-Q8_0.gguf"
    for i in range(7):
        (there / f"a{i}.gguf").write_bytes(b"")
    (there / "<b>\n.gguf").write_bytes(b"")
    with pytest.raises(CheckpointError) as refused:
        load("tiny/files/q.gguf", device="cpu")
    assert str(refused.value) == message + "a0.gguf, a1.gguf, a2.gguf, a3.gguf, a4.gguf and 3 more"
    with pytest.raises(CheckpointError, match=r"tiny/gpt2 on the hub has no q\.gguf; it has no GGUF file"):
        load("tiny/gpt2/q.gguf", device="cpu")
    with pytest.raises(CheckpointError, match=r"has no config\.json, its GGUF files are tiny/files/a0\.gguf, "):
        load("tiny/files", device="cpu")
    with pytest.raises(CheckpointError, match=r"^tiny/none on the hub does not exist, or is private"):
        load("tiny/none/q.gguf", device="cpu")
    assert (served.asked, served.parts) == ([], [])


def test_looking_at_a_gguf_file_makes_it_the_last_to_go(served):
    load(GGUF, device="cpu")
    folder = Path(constants.HF_HUB_CACHE) / "models--tiny--files"
    os.utime(folder, (1, 1))
    checkpoints.estimate(GGUF, device="cpu")
    assert folder.stat().st_mtime > 1


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
    with pytest.raises(CheckpointError, match=os.strerror(code)) as refused:
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
