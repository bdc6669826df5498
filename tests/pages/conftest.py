"""What all tests of pages share."""

from collections.abc import Iterator

import pytest

from pages.inference import _kv_cache_watch
from pages.ui import jobs, places
from tests.pages.test_router import listed
from tfcore.analysis import attention_timing, balance, learned_positions


@pytest.fixture(autouse=True)
def _short_training(monkeypatch):
    """The model that the page on positions trains is there after a few steps: what it learns is tested elsewhere.

    The page on the KV cache writes a few tokens. That on balance trains on few letters.
    """
    monkeypatch.setattr(learned_positions, "STEPS", 20)
    monkeypatch.setattr(balance, "ROWS", 2)
    monkeypatch.setattr(balance, "SEQ", 12)
    monkeypatch.setattr(balance, "HELD_OUT", 2)
    monkeypatch.setattr(_kv_cache_watch, "STEPS", 16)
    monkeypatch.setattr(_kv_cache_watch, "MOST", 24)


@pytest.fixture(autouse=True)
def _short_texts(monkeypatch):
    """Attention is timed on short texts only."""
    monkeypatch.setattr(attention_timing, "LENGTHS", (128, 256))
    monkeypatch.setattr(attention_timing, "REPEATS", 1)


@pytest.fixture(autouse=True)
def _own_jobs(monkeypatch) -> Iterator[None]:
    """Trainings that a page begins belong to its test, and end with it."""
    own = jobs.Jobs()
    monkeypatch.setattr(jobs, "JOBS", own)
    yield
    own.close()


@pytest.fixture(autouse=True)
def _announced() -> None:
    """The pages there are, as the router announces them."""
    chapters: dict[str, list[tuple[str, str, str, str]]] = {}
    for entry in listed():
        chapters.setdefault(entry[0].partition("/")[0], []).append(entry)
    places.announce(chapters)
