"""The Markdown files of the repository: their links and imports lead somewhere, their versions are those of tfcore."""

import ast
import re
from pathlib import Path
from pkgutil import resolve_name

import pytest
import yaml
from packaging.version import Version

import tfcore

ROOT = Path(__file__).resolve().parents[2]
TEXTS = sorted(
    path
    for folder in (ROOT, *(ROOT / name for name in ("docs", "deploy", "tfcore/pretrained")))
    for path in (folder.glob("*.md") if folder == ROOT else folder.rglob("*.md"))
)
NAMES = [path.relative_to(ROOT).as_posix() for path in TEXTS]


def anchors(text: str) -> set[str]:
    """The anchors that GitHub and the site give to the headings of a text."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def broken(path: Path, text: str) -> list[str]:
    """Relative links that lead to no file, or to no heading of one."""
    found = []
    for link in re.findall(r"\]\((?!\w+:)([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize("path", TEXTS, ids=NAMES)
def test_links_lead_somewhere(path):
    assert broken(path, path.read_text("utf-8")) == []


def test_a_broken_link_is_found():
    text = "[a](README.md) [b](README.md#run-it) [c](README.md#nowhere) [d](gone.md) [e](https://a.org) `[f](code.md)`"
    assert broken(ROOT / "x.md", text) == ["README.md#nowhere", "gone.md"]


def missing_imports(text: str) -> list[str]:
    """What the Python examples of a text import, and is not there."""
    found = []
    for example in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for node in ast.walk(ast.parse(example)):
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}:{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            found += [name for name in names if not is_there(name)]
    return found


def is_there(name: str) -> bool:
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("path", TEXTS, ids=NAMES)
def test_examples_import_what_is_there(path):
    assert missing_imports(path.read_text("utf-8")) == []


def test_a_missing_import_is_found():
    text = "```python\nimport tfcore\nfrom tfcore import load, lode\nfrom tfcore.wings import flap\n```\n"
    assert missing_imports(text) == ["tfcore:lode", "tfcore.wings:flap"]


def test_the_changelog_has_its_form():
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    form = re.compile(r"\[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d")
    released = [match[1] for heading in headings[1:] if (match := form.fullmatch(heading))]
    assert len(released) == len(headings) - 1
    assert released == sorted(released, key=Version, reverse=True)
    assert released[:1] in ([], [tfcore.__version__])


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == tfcore.__version__
    assert {"message", "title", "authors"} <= set(citation)
