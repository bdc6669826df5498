"""The package: what is built holds tfcore and the app and nothing else; programs from pages run over it anywhere, and
the app does."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import tfcore
from tests.e2e.serving import get, serve
from tests.nightly import nightly
from tfcore.views import programs
from tfcore.views.inference import kv_cache
from tfcore.views.model import parts as model_parts

ROOT = Path(__file__).resolve().parents[2]
BUILD = "from setuptools import build_meta as b; b.build_wheel('dist'); b.build_sdist('dist')"
USE = """
import pathlib, tfcore
model, tokenizer = tfcore.load("stories")
print(tfcore.__version__, pathlib.Path(tfcore.__file__).parent)
greedy = tfcore.Sampling(temperature=0)
print(tokenizer.decode(tfcore.generate(model, tokenizer.encode("Once upon a"), greedy, max_new_tokens=2)))
"""


APP = ("pages", "assets", ".streamlit")


def parts(*folders: str) -> set[str]:
    """Every file of these folders, as it is in the repository."""
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    return {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The folder with the wheel and the sdist."""
    tree = tmp_path_factory.mktemp("tree")
    for folder in ("tfcore", *APP):
        shutil.copytree(ROOT / folder, tree / folder)
    (tree / "tests").mkdir()  # what else stands beside them in the repository stays outside
    for name in ("tests/__init__.py", ".streamlit/secrets.toml", "pages/__pycache__/facts.pyc"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).touch()
    names = ("pyproject.toml", "setup.py", "app.py", "README.md", "LICENSE")
    for name in (*names, *(path.name for path in ROOT.glob("requirements*.txt"))):
        shutil.copy(ROOT / name, tree)
    subprocess.run([sys.executable, "-c", BUILD], cwd=tree, check=True, capture_output=True)
    return tree / "dist"


@nightly
def test_the_wheel_holds_tfcore_and_the_app_in_a_folder_of_its_own_and_nothing_else(built):
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        (entry,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
        assert "tfcore = tfcore.__main__:main" in wheel.read(entry).decode()
    assert names == parts("tfcore") | {f"tfcore_app/{name}" for name in {"app.py", *parts(*APP)}}


@nightly
def test_its_extras_are_the_requirements(built):
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        metadata = wheel.read(next(name for name in wheel.namelist() if name.endswith("/METADATA"))).decode()
    extras = {"app": [""], "dev": ["", "-dask", "-notebook", "-dev"], "docs": ["-docs"], "notebook": ["-notebook"]}
    for extra, names in extras.items():
        lines = [line for name in names for line in (ROOT / f"requirements{name}.txt").read_text("utf-8").splitlines()]
        pinned = {line for line in lines if not line.startswith("#")}
        assert pinned == set(re.findall(rf'^Requires-Dist: (.+); extra == "{extra}"$', metadata, re.MULTILINE))


@nightly
def test_the_sdist_holds_what_the_wheel_is_built_of(built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"app.py", "setup.py", *parts("tfcore", *APP)} <= names
    assert not [name for name in names if name.startswith("tests") or "secrets" in name]


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory) -> Path:
    """The folder into which the wheel was installed."""
    site = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*pip, str(next(built.glob("*.whl")))], check=True, capture_output=True)
    return site


def run(installed: Path, folder: Path, *arguments: str) -> list[str]:
    """The lines that a Python program says in a folder where only the installed package can be imported."""
    command, place = [sys.executable, "-P", *arguments], {"PYTHONPATH": str(installed)}
    return subprocess.run(
        command, cwd=folder, env=place, check=True, text=True, capture_output=True
    ).stdout.splitlines()


@nightly
def test_it_works_from_another_folder(installed, tmp_path):
    first, second = run(installed, tmp_path, "-c", USE)
    assert first == f"{tfcore.__version__} {installed / 'tfcore'}"
    assert second == " time,"


@nightly
def test_a_program_of_a_view_runs_in_another_folder(installed, tmp_path):
    shown = kv_cache.with_and_without("stories", "Once upon a time", 2, so_far=[])
    (tmp_path / "own.py").write_text(programs.script(programs.program(shown)), "utf-8")
    assert run(installed, tmp_path, "own.py")[0].startswith("At 5 tokens each step costs")
    assert (tmp_path / "kv-cache-with-and-without.html").stat().st_size > 1_000


@nightly
def test_a_scene_is_drawn_from_another_folder(installed, tmp_path):
    (tmp_path / "own.py").write_text(programs.script(programs.program(model_parts.parts("stories"))), "utf-8")
    assert run(installed, tmp_path, "own.py")[0].startswith("stories: decoder")
    assert "createObjectURL" in (tmp_path / "parts-parts.html").read_text("utf-8")


@nightly
def test_a_command_makes_a_view_in_another_folder(installed, tmp_path):
    line = ("-m", "tfcore", "view", "heads.portrait", "--model=stories", "--text=Once upon a", "--layer=1", "--head=2")
    said = run(installed, tmp_path, *line, "-o", "head.html")
    assert said[0].startswith("Head 1.2. ")
    assert (tmp_path / "head.html").stat().st_size > 1_000
    assert run(installed, tmp_path, *line, "--csv")[0] == "query,key,query token,key token,weight"


@nightly
def test_the_app_is_served_from_another_folder(installed, tmp_path):
    line = (sys.executable, "-P", "-m", "tfcore", "app", "--port", "0")
    with serve(*line, cwd=tmp_path, PYTHONPATH=str(installed), TFCORE_REAL_MODELS="") as address:
        assert json.loads(get(address, "/healthz")[1])["status"] == "ok"
        answer, page = get(address, "/heads")
        assert answer.status == 200
        assert b"<title>Attention heads" in page
    assert not list(tmp_path.iterdir())
