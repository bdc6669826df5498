"""What all tests of pages share."""

from collections.abc import Iterator

import pytest

from pages.ui import jobs
from tfcore.analysis import attention_timing, learned_positions


@pytest.fixture(autouse=True)
def _short_training(monkeypatch):
    """The model that the page on positions trains is there after a few steps: what it learns is tested elsewhere."""
    monkeypatch.setattr(learned_positions, "STEPS", 20)


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
