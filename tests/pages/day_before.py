"""What pages showed a day ago: the tree of then is checked out beside this one, and its own tests are asked."""

import json
import re
import subprocess
import sys
from functools import cache
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.architecture.sources import ROOT

WRITTEN = "TFCORE_SHOWN"  # a file, set where a test writes what it has seen into it, and compares nothing
BEFORE = "TFCORE_BEFORE"  # the revision to compare with; the last one of a day ago where it is not set

VERSION = re.compile(r"(?<= )v=\d+&?")  # of a link, with which the page's own begin


def write(found: dict[str, Any]) -> None:
    """For the test that asked."""
    Path(environ[WRITTEN]).write_text(json.dumps(found), "utf-8")


def shown_before(test: str) -> dict[str, Any] | None:
    """What this test saw a day ago, None where there is no tree of then or it had no such test.

    Args:
        test: its name for pytest.

    Raises:
        AssertionError: if it failed.
    """
    if (tree := _tree()) is None:
        return None
    with TemporaryDirectory() as folder:
        file = Path(folder) / "shown.json"
        run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", test]
        done = subprocess.run(run, cwd=tree, env=environ | {WRITTEN: str(file)}, capture_output=True, text=True)
        if done.returncode == 4:  # pytest's word for a test that is not there
            return None
        assert done.returncode == 0, done.stdout
        return unversioned(json.loads(file.read_text("utf-8")))


def unversioned(found: dict[str, Any]) -> dict[str, Any]:
    """The same without the version of links: each page has some, and another version opens what the one before did."""
    return dict(json.loads(VERSION.sub("", json.dumps(found))))


def is_changed(snapshot: str) -> bool:
    """Whether a page's snapshot is another than it was: a folder of texts where it has sections, else one text."""
    return _git("diff", "--quiet", _revision(), "--", snapshot, f"{snapshot}.txt").returncode != 0


@cache
def _tree() -> str | None:
    """A folder with the tree of then, for as long as this process runs."""
    if not _revision():
        return None
    archive = subprocess.run(["git", "archive", _revision()], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", _KEEPER.name], input=archive, check=True)
    return _KEEPER.name


_KEEPER = TemporaryDirectory()  # goes with this process


@cache
def _revision() -> str:
    return _git(
        "rev-list", "-1", *([environ[BEFORE]] if BEFORE in environ else ["--before=1 day ago", "HEAD"])
    ).stdout.strip()


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
