"""The command that serves the app: its settings, and what it says where there is none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tfcore.commands import app


def test_the_app_of_a_clone_is_found_and_that_of_a_wheel_comes_first(tmp_path, monkeypatch):
    assert app.app_folder() == ROOT
    for folder in (tmp_path, tmp_path / app.FOLDER):
        (folder / "pages").mkdir(parents=True)
        (folder / "app.py").touch()
    monkeypatch.setattr(app, "__file__", str(tmp_path / "tfcore" / "commands" / "app.py"))
    assert app.app_folder() == tmp_path / app.FOLDER


def test_what_the_app_lacks_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(app, "__file__", str(tmp_path / "tfcore" / "commands" / "app.py"))
    with pytest.raises(ValueError, match=r"the app needs its pages, .*: pip install \.\[app\]"):
        app.app_folder()
    monkeypatch.setattr(app, "NEEDED", ("no_such_package",))
    with pytest.raises(ValueError, match="the app needs no_such_package, "):
        app.app_folder()


def test_one_person_may_load_models_and_visitors_of_a_server_may_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = app.settings({"A": "1", "TFCORE_MODEL_GB": "2"}, 0, "")
    assert own == {
        "A": "1",
        "PORT": "0",
        "TFCORE_MODELS": "any",
        "TFCORE_MODEL_GB": "2",
        "TFCORE_DOWNLOAD_GB": "16",
        "TFCORE_THREADS": str(os.cpu_count()),
        "TFCORE_MODEL_FOLDER": str(tmp_path / "models"),
    }
    assert app.settings({}, 80, "0.0.0.0") == {"PORT": "80", "HOST": "0.0.0.0"}
    with pytest.raises(ValueError, match="--port -1 is no port"):
        app.settings({}, -1, "")


@pytest.mark.parametrize("system", ["posix", "nt"])
def test_it_runs_as_a_program_of_its_own(system, monkeypatch):
    asked = []
    monkeypatch.setattr(os, "execve", lambda *given: asked.append(given) or sys.exit(0))
    monkeypatch.setattr(subprocess, "call", lambda command, env: asked.append((command[0], command, env)) or 0)
    monkeypatch.setattr(app, "SYSTEM", system)
    try:
        app.serve(0, "")
    except SystemExit:
        assert system == "posix"
    ((program, command, environment),) = asked
    assert (program, command) == (sys.executable, [sys.executable, str(Path(ROOT, "app.py"))])
    assert environment["PORT"] == "0"
