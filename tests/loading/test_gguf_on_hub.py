"""GGUF files on the hub: known by their header alone, downloaded once, refused in a sentence."""

import os
import struct
import time
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants

from tests import fake_hub
from tests.loading import gguf_files
from tests.loading.conftest import GGUF, point_to
from tests.small import ids
from tfcore import CheckpointError, load
from tfcore.loading import checkpoints, gguf_file, hub
from tfcore.loading.special_tokens import special_tokens
from tfcore.part_configs import RopeScaling
from tfcore.positions import rope_frequencies


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
    monkeypatch.setattr(time, "sleep", lambda _: None)  # the hub's library waits 23 seconds between its attempts
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
    assert checkpoints.estimate(GGUF, device="cpu").config.positions.scaling == scaling


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
    "another tokenizer": (with_settings(**{"tokenizer.ggml.pre": "viking"}), None, "cuts texts by 'viking'"),
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
