"""What CONTRIBUTING.md shows can be done as it is shown."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.nightly import nightly
from tests.pages.snapshot import ANEW

ROOT = Path(__file__).resolve().parents[2]
PATCHES = re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL)
FOLDERS = ("pages", "tfcore", "tests", "tools", "assets", ".streamlit")
NEW = {
    "the activation": ("tests/core/test_feedforward.py", "mish"),
    "the family": ("tests/parity/test_families.py", "seed"),
    "the page's numbers": ("tests/foundations/temperature/test_views.py", "formula"),
    "the page": ("tests/pages/test_every_page.py", "temperature"),
    "its experiment": ("tests/pages/test_experiments.py", "temperature"),
    "its facts": ("tests/pages/test_facts.py", "told_apart or begins_with"),
    "the way to it": ("tests/start/home/test_page.py", "leads_to"),
}


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A copy of the tree with every change applied."""
    tree = tmp_path_factory.mktemp("changed")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "app.py"):
        shutil.copy(ROOT / name, tree)
    for patch in PATCHES:
        # stops git from looking for a repository above the copy, and then leaving the patch out
        apart = os.environ | {"GIT_CEILING_DIRECTORIES": str(tree.parent)}
        subprocess.run(["git", "apply", "--unidiff-zero", "-"], input=patch, text=True, cwd=tree, env=apart, check=True)
    return tree


def test_there_is_one_for_each_kind_of_change_and_it_can_be_applied(changed):
    assert len(PATCHES) == 3
    assert (changed / "pages/foundations/temperature/page.py").is_file()


@nightly
def test_every_change_passes_the_tests_it_brings(changed):
    files = [file for file, _ in NEW.values()]
    words = " or ".join(word for _, word in NEW.values())
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", words, "-rA"]
    found = subprocess.run(
        run, cwd=changed, text=True, capture_output=True, env=os.environ | {"PYTHONPATH": "", ANEW: "yes"}
    )
    assert found.returncode == 0, found.stdout[-9000:]
    for name, (file, _) in NEW.items():
        assert f"PASSED {file}::" in found.stdout, name
