"""What all tests of pages share."""

import pytest

from tfcore.analysis import learned_positions


@pytest.fixture(autouse=True)
def _short_training(monkeypatch):
    """The model that the page on positions trains is there after a few steps: what it learns is tested elsewhere."""
    monkeypatch.setattr(learned_positions, "STEPS", 20)
