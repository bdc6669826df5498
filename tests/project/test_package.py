"""tfcore as a package: what is built holds all of it and nothing else, and programs from pages run over it anywhere."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import tfcore
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


def parts() -> set[str]:
    """Every file of tfcore, as it is in the repository."""
    files = (path for path in (ROOT / "tfcore").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in files}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The folder with the wheel and the sdist."""
    tree = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "tfcore", tree / "tfcore", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pages", "tests"):  # what stands beside it in the repository stays outside
        (tree / name).mkdir()
        (tree / name / "__init__.py").touch()
    for name in ("pyproject.toml", "README.md", "LICENSE", *(path.name for path in ROOT.glob("requirements*.txt"))):
        shutil.copy(ROOT / name, tree)
    subprocess.run([sys.executable, "-c", BUILD], cwd=tree, check=True, capture_output=True)
    return tree / "dist"


@nightly
def test_the_wheel_holds_tfcore_and_nothing_else(built):
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == parts()


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
def test_the_sdist_holds_tfcore(built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert parts() <= names
    assert not [name for name in names if name.startswith(("pages", "tests"))]


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
