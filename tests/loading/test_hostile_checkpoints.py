"""Folders that lie: headers, settings and tokenizers made to break the reader are refused in one sentence, at once."""

import json
import os
import pickle
import socket
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bounded import bounded, within
from tests.small import assert_load_refuses, model
from tfcore import CheckpointError, load, save
from tfcore.loading.checkpoints import estimate

MEGABYTES, SECONDS = 200, 10  # that the reader may take
BROKEN = "model.safetensors is damaged or no safetensors file"
Header = dict[str, dict[str, object]]


@pytest.fixture
def folder(tmp_path):
    save(model(), tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _bounded():
    with bounded(MEGABYTES, SECONDS):
        yield


def taken_apart(folder: Path) -> tuple[Header, bytes]:
    raw = (folder / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + size]), raw[8 + size :]


def written(folder: Path, head: bytes, body: bytes, size: int | None = None) -> None:
    length = struct.pack("<Q", len(head) if size is None else size)
    (folder / "model.safetensors").write_bytes(length + head + body)


def lie(change: Callable[[Header, list[str]], object]) -> Callable[[Path], None]:
    """The same file under another header; `change` is given it and the names of its tensors."""

    def damage(folder: Path) -> None:
        header, body = taken_apart(folder)
        change(header, [name for name in header if name != "__metadata__"])
        written(folder, json.dumps(header).encode(), body)

    return damage


def raw(head: bytes, size: int | None = None) -> Callable[[Path], None]:
    return lambda folder: written(folder, head, taken_apart(folder)[1], size)


def twice(folder: Path) -> None:
    header, body = taken_apart(folder)
    name = next(name for name in header if name != "__metadata__")
    head = json.dumps(header)[:-1] + f", {json.dumps(name)}: {json.dumps(header[name])}}}"
    written(folder, head.encode(), body)


def offsets(*places: int) -> Callable[[Path], None]:
    return lie(lambda header, names: header[names[0]].update(data_offsets=list(places)))


ENTRY = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
LIES = {
    "a header of 2^63 bytes": raw(b"{}", 2**63),
    "a header of 2^64 - 1 bytes": raw(b"{}", 2**64 - 1),
    "a header longer than the file": raw(b"{}", 10_000_000),
    "a header of 100 MB in a small file": raw(b"{}", 100_000_000),
    "a header of nothing": raw(b"", 0),
    "a header that is no JSON": raw(b"{'a': 1}"),
    "a header that is no text": raw(b"\xff\xfe{}"),
    "a header that is a list": raw(b"[]"),
    "a header of brackets": raw(b'{"a":' * 50_000),
    "metadata that nests": raw(b'{"__metadata__":' + b'{"a":' * 20_000 + b"1" + b"}" * 20_001),
    "metadata of numbers": raw(json.dumps({"__metadata__": {"a": 1}, "x": ENTRY}).encode()),
    "tensors that overlap": lie(lambda h, names: h[names[1]].update(data_offsets=h[names[0]]["data_offsets"])),
    "offsets outside": offsets(0, 10**15),
    "offsets turned round": offsets(400, 0),
    "offsets below zero": offsets(-4, 0),
    "offsets beyond 2^64": offsets(0, 2**65),
    "a hole": lie(lambda header, names: header.pop(names[0])),
    "another type": lie(lambda header, names: header[names[0]].update(dtype="F64")),
    "no such type": lie(lambda header, names: header[names[0]].update(dtype="pickle")),
    "a shape that overflows": lie(lambda header, names: header[names[0]].update(shape=[2**33, 2**33])),
    "a shape below zero": lie(lambda header, names: header[names[0]].update(shape=[-1, 4])),
    "a shape of words": lie(lambda header, names: header[names[0]].update(shape="all")),
    "a field too many": lie(lambda header, names: header[names[0]].update(data_offsets=[0, 4, 8])),
}


@pytest.mark.parametrize("damage", LIES.values(), ids=LIES)
def test_a_lying_header_is_refused(folder, damage):
    damage(folder)
    assert_load_refuses(folder, "model.safetensors")


def test_of_a_name_that_is_there_twice_no_more_than_one_counts(folder):
    twice(folder)
    with suppress(CheckpointError):
        assert load(folder, device="cpu")[0].config.d_model == 24


def test_many_tiny_tensors_are_refused_soon(folder):
    entries = {f"t{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(20_000)}
    written(folder, json.dumps(entries).encode(), b"")
    assert_load_refuses(folder, "model.safetensors")


def archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("data.pkl", b"\0" * 20_000_000)


DISGUISES: dict[str, Callable[[Path], object]] = {
    "a zip bomb": archive,
    "a pickle": lambda path: path.write_bytes(pickle.dumps({"a": 1})),
    "nothing": lambda path: path.write_bytes(b""),
}


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("make", DISGUISES.values(), ids=DISGUISES)
def test_what_only_has_the_name_is_refused(folder, name, make):
    (folder / "tokenizer.json").write_text("{}")
    make(folder / name)
    assert_load_refuses(folder, name)


SPECIAL: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a socket": lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a folder": lambda path: path.mkdir(),
}


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("make", SPECIAL.values(), ids=SPECIAL)
def test_what_is_no_file_is_refused_and_not_waited_for(folder, name, make, monkeypatch):
    monkeypatch.chdir(folder)  # a socket's name is short
    (folder / name).unlink(missing_ok=True)
    make(Path(name))
    with within(20):
        assert_load_refuses(folder, name)
        with pytest.raises(CheckpointError):
            estimate(folder)


def test_a_long_header_is_refused_before_it_is_read(folder):
    written(folder, b" " * 11_000_000, b"")
    assert_load_refuses(folder, "model.safetensors has a header of 11.0 MB, more than the 10.0 MB such may")


def test_an_index_of_many_files_is_read_in_one_go(folder):
    """Once it took names times files."""
    places = {f"t{i}": f"{i}.safetensors" for i in range(50_000)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    (folder / "model.safetensors").unlink()
    with bounded(MEGABYTES, 2):
        assert_load_refuses(folder, "0.safetensors is missing")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a":' * 100_000,
        '{"d_model": ' + "9" * 5_000 + "}",
        '{"d_model": 1e999}',
        '{"d_model": NaN}',
        '{"vocab_size": 99999999999999999999, "d_model": 8}',
        '{"model_type": ["gpt2"]}',
        '{"model_type": {"gpt2": 1}}',
        '{"model_type": "gpt2", "n_layer": 1e9, "n_embd": 1e9}',
        '{"model_type": "../../gpt2"}',
        '"\\ud800"',
        '{"\\ud800": 1}',
        '{"model_type": "\\ud800"}',
        '{"model_type": "llama", "rope_scaling": [[]]}',
        "null",
        "1" * 999_999,
    ],
)
def test_hostile_settings_are_refused(folder, text):
    (folder / "config.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert_load_refuses(folder, "config.json")


TOKENIZERS = {
    "nesting": "[" * 100_000,
    "nesting inside": '{"model": ' * 20_000,
    "no model": '{"version": "1.0"}',
    "no such model": '{"version": "1.0", "model": {"type": "Pickle"}}',
    "ids beyond 2^32": '{"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 99999999999}, "merges": []}}',
    "ids below zero": '{"version": "1.0", "model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}',
    "merges of nothing": '{"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["b c"]}}',
    "a number for the words": '{"version": "1.0", "model": {"type": "BPE", "vocab": 3, "merges": 4}}',
    "a lone surrogate": '{"model": {"type": "BPE", "vocab": {"\\ud800": 0}, "merges": []}}',
    "a list": "[1, 2]",
}


@pytest.mark.parametrize("text", TOKENIZERS.values(), ids=TOKENIZERS)
def test_hostile_tokenizers_are_refused(folder, text):
    (folder / "tokenizer.json").write_text(text)
    assert_load_refuses(folder, "tokenizer.json")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 400), st.binary(min_size=1, max_size=4), st.sampled_from(["model.safetensors", "config.json"]))
def test_damage_anywhere_is_survived(folder, place, patch, name):
    good = (folder / name).read_bytes()
    (folder / name).write_bytes(good[:place] + patch + good[place + len(patch) :])
    for look in (load, estimate):
        with suppress(CheckpointError):  # and nothing else
            look(folder, device="cpu")
    (folder / name).write_bytes(good)
