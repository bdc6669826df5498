"""A full disk, called one: what was to be written, what it needs and what is free."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)
IN_WORDS = "No space left on device"  # libraries pass on the words alone


class FullDiskError(ValueError):
    """There is no room for a file; the message says so in one sentence."""


def is_full(problem: BaseException) -> bool:
    """Whether a problem is that of a full disk, or comes of one."""
    if isinstance(problem, OSError) and problem.errno in FULL:
        return True
    return IN_WORDS in str(problem) or (problem.__cause__ is not None and is_full(problem.__cause__))


def free(place: Path) -> int | None:
    """Bytes that are free where a file or folder is, or would be; None where the system does not tell."""
    there = next((one for one in (place, *place.parents) if one.exists()), Path())
    with suppress(OSError):
        return shutil.disk_usage(there).free
    return None


def sentence(what: str, needed: int, place: Path) -> str:
    """A sentence that says that a disk has no room for this: "the disk is full: ..." """
    left = free(place)
    there = "nobody knows how much is free" if left is None else f"{_size(left)} are free"
    return f"the disk is full: {what} needs {_size(needed)}, and {there}; make room and try again"


@contextmanager
def writing(what: str, needed: int, place: Path) -> Iterator[None]:
    """A context in which so many bytes are written to a place: errors of a full disk become a sentence.

    Raises:
        FullDiskError: there is no room.
    """
    try:
        yield
    except Exception as problem:
        if is_full(problem):
            raise FullDiskError(sentence(what, needed, place)) from problem
        raise


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"
