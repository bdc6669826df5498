"""Limits set by whoever runs the server, read from the environment each time.

Which models visitors may load is in model_settings.py, how many may train in run_settings.py.

TFCORE_THREADS    1; threads that torch may use for each visitor
TFCORE_TEXT       20000; characters of a pasted text that count, where a page does not set less
TFCORE_CACHE      1; how many results are kept: 0.5 is half of what every cache keeps by default, 2 twice as much
TFCORE_UPLOAD_MB  128; megabytes that all visitors' files may take together
"""

import math
import os

MOST_TEXT = 20_000  # no page takes more; most take 2,000


def number(name: str, default: float, least: float, most: float, what: str) -> float:
    """A number from the environment; the default where it is unset or empty.

    Args:
        what: the setting should be, in the words of the message.

    Raises:
        ValueError: it is no number, or lies outside least..most.
    """
    said = os.environ.get(name, "").strip() or str(default)
    try:
        value = float(said)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise ValueError(f"{name}={said!r} is no {what}: use a number from {least:,} to {most:,}")
    return value


def whole(name: str, default: int, least: int, most: int, what: str) -> int:
    """The same for whole numbers: 2 and 2.0 are, 2.5 is none."""
    value = number(name, default, least, most, what)
    if value != int(value):
        raise ValueError(f"{name}={value} is no {what}: use a whole number from {least:,} to {most:,}")
    return int(value)


def threads() -> int:
    """Threads that torch may use for one visitor."""
    return whole("TFCORE_THREADS", 1, 1, 256, "number of threads")


def text_cap() -> int:
    """Characters of a pasted text that count at most, on any page."""
    return whole("TFCORE_TEXT", MOST_TEXT, 100, MOST_TEXT, "number of characters")


def cache_factor() -> float:
    """Factor for the size of every cache of results."""
    return number("TFCORE_CACHE", 1, 0.01, 100, "factor for the caches")


def entries(default: int) -> int:
    """Entries that a cache keeps, of its default; at least one."""
    return max(1, round(default * cache_factor()))


def upload_bytes() -> int:
    """Bytes that all visitors' files may take together."""
    return whole("TFCORE_UPLOAD_MB", 128, 16, 100_000, "number of megabytes for uploads") * 1_048_576


def check() -> None:
    """Read the settings of this module once.

    Raises:
        ValueError: one makes no sense, in a sentence that names it and what would work.
    """
    for read in (threads, text_cap, cache_factor, upload_bytes):
        read()
