"""No visible text has words of our own where the field has a term.

Read are the string literals of the sources (docstrings aside), the files of facts and the Markdown files, README and
cards among them; code between backticks in Markdown is left out.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages.homemade_words import WORDS, found

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("pages", "tfcore", "deploy", "tools", "docs")
# Names that files and columns have; nobody reads them on a page.
NAMES = {
    "pages/reference/check/training.py": {"bits a byte"},  # it seeds the numbers of a question, in old links too
    "tfcore/training/recipes/stories.py": {"twin"},
    "tfcore/moved.py": {"tfcore.analysis.twins", "tfcore.charts.twins"},
}
FORMER = "pages/ui/former_labels.py"  # the words that links of earlier releases carry
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in SOURCES
    for ending in ("py", "md", "toml")
    for path in (ROOT / folder).rglob(f"*.{ending}")
) + sorted(path.name for path in ROOT.glob("*.md"))


def written(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of everything a file has for people to read."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        yield from literals(ast.parse(text))
    else:
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.startswith("#") or path.suffix == ".md":
                yield number, re.sub(r"`[^`]*`", "", line)


def literals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The strings of a source, an f-string whole with {} for its values; no docstrings."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                skipped.add(id(first.value))
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(value) for value in node.values}
            parts = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def homemade(name: str) -> list[str]:
    """What is to be written otherwise in a file, with its line and the field's term."""
    return [
        f"{name}:{line}: {words!r}, write: {term}"
        for line, text in written(ROOT / name)
        if text not in NAMES.get(name, ())
        for words, term in found(text)
    ]


def test_visible_texts_have_the_fields_words():
    assert [line for name in FILES if not name.startswith(FORMER) for line in homemade(name)] == []


@pytest.mark.parametrize(
    "text",
    [
        "Token that looks",
        "a long text",
        "Ask, offer, carry",
        "mixes the **values** with them",
        "Ask many small questions",
        "Keep what fires",
        "reads both ways",
        "hidden tokens, anew each time",
        "ms to read 128",
        "ms a token written",
        "Numbers as",
        "Guesses a pass",
        "Tokens to write",
        "Moved by",
        "at its mean",
        "Most harm",
        "Close one door at a time",
        "their likings",
        "most faithful",
        "by heart",
        "Free running",
        "foretold",
        "tokens of use",
        "Batch: rows a step",
        "nats a token",
        "bytes a parameter",
        "heads of keys and values",
        "heads of queries",
        "random tokens, said twice",
        "a small teller of stories",
        "its larger brother",
        "healthy twin",
        "Off the plain way by",
    ],
)
def test_it_can_fail(text):
    assert found(text), text
    assert [words for _, words in literals(ast.parse(f"f('{text}')"))] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "query token",
        "free-running (autoregressive)",
        "nats per token",
        "as many numbers as Q",
        "harmless",
        "position 5 moved by 2",
        "draft length",
        "KV heads",
        "repeated random tokens",
        "gives a token to an expert",
    ],
)
def test_it_lets_the_fields_words_through(text):
    assert not found(text), found(text)


def test_a_docstring_is_not_read_and_an_f_string_is_whole():
    tree = ast.parse(
        '"""Said twice."""\ndef f(x):\n    """By heart."""\n    return f"nats {x} a token", "nats a token"'
    )
    assert [text for _, text in literals(tree) if found(text)] == ["nats a token"]
    assert len(WORDS) > 25
