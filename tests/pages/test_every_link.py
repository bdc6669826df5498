"""A link reproduces the view: every control of every page at a random value, the address taken, and opened afresh."""

import pytest

from pages.facts import pages
from pages.ui.work import jobs
from tests.nightly import often
from tests.pages.figures import figures
from tests.pages.random_controls import set_all, values
from tests.pages.visits import opened, said
from tfcore.views.model.your_model import measure as your_model

SEEDS = 1
FILES = [page.file for page in pages().values()]


@pytest.fixture(autouse=True)
def _nothing_that_time_changes(monkeypatch):
    """No training and no measuring begins, and the memory that is free stays so: none of it belongs to a link."""
    monkeypatch.setattr(jobs.Jobs, "start", lambda *_, **__: jobs.Job("refused"))
    monkeypatch.setenv("TFCORE_RUNS", "0")
    monkeypatch.setattr(your_model, "free_now", lambda: 18 * 10**9)


def shown(test):
    """All that a link must reproduce: what the controls hold, and what the figures show and say."""
    return {"controls": values(test), **figures(test)}


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("file", often(FILES, FILES[::4]))
def test_a_link_shows_what_was_set(file, seed):
    first = set_all(opened(file), f"{file} {seed}")
    second = opened(file, **first.query_params)
    assert "Corrected" not in said(second, "caption")
    one, other = shown(first), shown(second)
    assert other.keys() == one.keys()
    for name in one:
        assert other[name] == one[name], name
    assert second.query_params == first.query_params, "the link says the same of itself"


def test_a_link_that_forgets_something_would_be_noticed():
    first = set_all(opened("foundations/masks/page.py"), 1)
    assert len(first.query_params) >= 4
    for forgotten in first.query_params:
        rest = {key: value for key, value in first.query_params.items() if key != forgotten}
        assert shown(opened("foundations/masks/page.py", **rest)) != shown(first), forgotten
