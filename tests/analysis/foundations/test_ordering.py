"""The shuffle experiment: only a Transformer without positions and without a causal mask does not notice."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tfcore.analysis.foundations.ordering import LONGEST, SCHEMES, shuffle_experiment, shuffled_places

WORDS = ("the", "dog", "bites", "the", "man", "and", "runs", "away")


@pytest.mark.parametrize("shuffle", [1, 2, 20])
def test_only_none_does_not_notice(shuffle):
    largest = shuffle_experiment(WORDS, shuffle).largest
    assert largest["none"] < 1e-5
    assert all(largest[scheme] > 0.1 for scheme in SCHEMES if scheme != "none")


def test_a_causal_mask_gives_the_order_away():
    assert min(shuffle_experiment(WORDS, 1, is_causal=True).largest.values()) > 0.1


def test_differences_are_those_of_the_same_word():
    result = shuffle_experiment(WORDS, 3)
    for scheme in range(len(SCHEMES)):
        for new, old in enumerate(result.permutation):
            change = abs(result.shuffled[scheme, new] - result.outputs[scheme, old]).max()
            assert change == pytest.approx(result.differences[scheme, old])


def test_equal_words_have_equal_outputs_without_positions():
    result = shuffle_experiment(("no", "yes", "no"), 1)
    none = result.outputs[SCHEMES.index("none")]
    assert abs(none[0] - none[2]).max() < 1e-5
    assert abs(none[0] - none[1]).max() > 0.1


@pytest.mark.parametrize("words", [(), ("one",)])
def test_nothing_to_shuffle(words):
    assert set(shuffle_experiment(words, 1).largest.values()) == {0.0}


def test_too_many_words_are_refused():
    with pytest.raises(ValueError, match="65 words are more than 64"):
        shuffle_experiment(("word",) * (LONGEST + 1), 1)


@given(st.integers(2, 40), st.integers(0, 1000))
def test_shuffles_are_permutations_that_move_something(n, shuffle):
    places = shuffled_places(n, shuffle)
    assert torch.equal(places.sort().values, torch.arange(n))
    assert not torch.equal(places, torch.arange(n))
