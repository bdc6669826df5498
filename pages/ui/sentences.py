"""Errors as visitors read them: one line, without paths of this machine."""

import os
import re
import sys
import tempfile
from pathlib import Path

LONGEST = 400  # characters
READ = 10_000  # characters that are looked at
# A path in quotes may have spaces in it.
_QUOTED = re.compile(
    r"""(['"`´‘’“”])((?:file:)?(?:~[\w.-]*)?/[^'"`´‘’“”\n]*|(?:[A-Za-z]:)?\\[^'"`\n]*)(?=['"`´‘’“”])"""
)
# Not a path: org/name, ./folder, and/or, </s>, and what an address of the web goes on with.
_PLAIN = re.compile(
    r"""(?:file:/*|(?<![\w.~/\\-])(?<!https:)(?<!http:)(?:~[\w.-]*(?=/)|[A-Za-z]:(?=[/\\])|(?=[/\\])))"""
    r"""(?:[/\\]+[^\s'"`´‘’“”<>|*?;,()\[\]{}/\\]+)+[/\\]*"""
)


def told(problem: BaseException, largest: int = LONGEST) -> str:
    """A problem in one line. Of other kinds than ValueError the class name alone: their texts are for developers."""
    if isinstance(problem, MemoryError):
        return "there is not enough memory for it now"
    if not isinstance(problem, ValueError) or isinstance(problem, UnicodeError):
        return f"it ended with {type(problem).__name__}"
    return without_paths(str(problem) or type(problem).__name__)[:largest]


def without_paths(said: str) -> str:
    """A text on one line, with the last part alone of every absolute path in it, whatever stands around it."""
    line = " ".join(said[:READ].split())
    for place in _places():
        line = line.replace(place, "/…")
    line = _QUOTED.sub(lambda match: match[1] + _last(match[2]), line)
    return _PLAIN.sub(lambda match: match[0] if _is_tag(line, match) else _last(match[0]), line)


def _is_tag(line: str, match: re.Match[str]) -> bool:
    closed = line[match.end() : match.end() + 1] == ">"
    return closed and line[: match.start()].endswith("<") and match[0].count("/") == 1


def _last(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or "…"


def _places() -> list[str]:
    """Folders of this machine whose names may have spaces, the longest first."""
    set_here = [os.environ.get(name, "") for name in ("HF_HOME", "HF_HUB_CACHE", "TFCORE_MODEL_FOLDER")]
    paths = {*set_here, str(Path.home()), os.getcwd(), tempfile.gettempdir(), sys.prefix}
    absolute = (place.rstrip("/\\") for place in paths if len(place) > 2 and Path(place).is_absolute())
    return sorted(absolute, key=len, reverse=True)
