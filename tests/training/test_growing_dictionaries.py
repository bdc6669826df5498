"""A dictionary that grows: measured on held-out windows, better at the end, the same with the same seed."""

import numpy as np
import pytest

from tests.nightly import nightly
from tfcore.loading.checkpoints import load
from tfcore.measures.dictionaries.quality import dictionary_quality
from tfcore.training import growing_dictionaries as growing
from tfcore.training.growing_dictionaries import GrowDictionaryConfig, grow_dictionary, shipped_windows

TINY = GrowDictionaryConfig(n_features=64, top_k=8, steps=12)


@pytest.fixture
def small(monkeypatch):
    for name, value in {"ROWS": 4, "BATCHES": 3, "HELD_OUT": 4, "NAMED_ON": 8, "EVERY": 5, "WARMUP": 2}.items():
        monkeypatch.setattr(growing, name, value)


@pytest.mark.usefixtures("small")
@nightly
def test_it_learns_and_is_measured_now_and_then():
    items = list(grow_dictionary(TINY))
    assert [i for i, item in enumerate(items) if item is not None] == [0, 5, 10, 12]
    first, last = items[0].moment, items[-1].moment
    assert last.step == 12
    assert last.quality.explained_variance > first.quality.explained_variance + 0.1
    assert last.quality.loss_recovered > first.quality.loss_recovered
    assert np.median(last.cosine) > np.median(first.cosine)
    assert items[0].features is None
    assert items[-1].features.fires.sum() == pytest.approx(8 * 40 * 8, rel=0.05)  # windows, tokens, features a token
    beside = dictionary_quality(load("stories")[0], TINY.shipped, shipped_windows().held_out)
    assert last.shipped.loss_recovered == pytest.approx(beside.loss_recovered)
    again = list(grow_dictionary(TINY))[-1].moment
    assert again.quality == last.quality


@nightly
@pytest.mark.parametrize(("dictionary", "low", "high"), [(4, 0.5, 1.0), (2, -0.1, 0.1)])
def test_what_the_page_says_of_random_directions(dictionary, low, high):
    first = next(grow_dictionary(GrowDictionaryConfig(dictionary=dictionary)))
    assert low < first.moment.quality.loss_recovered < high
    assert np.median(first.moment.cosine) == pytest.approx(first.moment.by_chance, abs=0.01)


def test_no_window_is_both_trained_on_and_measured_on():
    windows = shipped_windows()
    trained = {tuple(row) for row in windows.trained.tolist()}
    assert not trained & {tuple(row) for row in windows.named.tolist()}
    assert {tuple(row) for row in windows.held_out} <= {tuple(row) for row in windows.named.tolist()}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"dictionary": 5}, "dictionary=5 must be between 0 and 4"),
        ({"n_features": 32}, "n_features=32"),
        ({"rate": 0.0}, "rate=0.0"),
        ({"top_k": True}, "whole number"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_a_sentence(bad, said):
    with pytest.raises(ValueError, match=said):
        GrowDictionaryConfig(**bad)
