"""The page on linear-time mixers: every section from its address, and work done here."""

from functools import partial

import pytest

from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.waiting import wait_for_jobs
from tfcore.training.mixing import comparison, lengths

opened = partial(visits.opened, "foundations/linear/page.py")


def keys(test):
    return set(figures(test))


@pytest.mark.parametrize("row", ["linear attention", "short convolution", "gated delta rule"])
def test_each_mixer_has_the_same_pictures(row):
    test = opened(row=row)
    assert {"softmax", "implied", "state", "held", "carried"} <= keys(test)
    sliders = {slider.key for slider in test.slider}
    assert ("strength" in sliders) == (row == "gated delta rule")
    assert ("half_life" in sliders) == (row == "gated delta rule")


def test_a_text_of_one_token():
    assert {"softmax", "implied", "state", "held"} <= keys(opened(text="A"))


def test_the_other_sections():
    assert {"recall", "sizes"} <= keys(opened(look="Recall and size of the state", d_key="32"))
    assert {"course", "places"} <= keys(opened(look="Trained side by side", task="hybrids of four layers"))
    assert {"lengths", "memory"} <= keys(opened(look="Time and memory"))


def test_of_work_that_is_done_the_last_result_is_drawn(monkeypatch):
    kept, timed = comparison.kept_comparison("four layers"), lengths.kept_lengths()
    monkeypatch.setattr(comparison, "compare", lambda _: iter([kept]))
    monkeypatch.setattr(lengths, "time_lengths", lambda _: iter([timed]))
    for figure, address in (
        ("course", {"look": "Trained side by side", "run": "here, now", "task": "hybrids of four layers"}),
        ("lengths", {"look": "Time and memory", "timing": "here, now"}),
    ):
        test = opened(**address)
        wait_for_jobs()
        head, _ = figures(visits.run(test))[figure]
        assert "CPU thread" in head["caption"]
