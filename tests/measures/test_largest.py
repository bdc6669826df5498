"""Of values that are the same but for rounding the first is the largest, on any processor."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcore.measures.largest import first_largest
from tfcore.views.foundations.attention.say import closest_tokens
from tfcore.views.foundations.heads.measure.attention_maps import strongest_key
from tfcore.views.foundations.heads.measure.head_ranking import strongest_look, strongest_pair

NEXT = float(np.nextafter(np.float32(0.8), np.float32(1)))


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ([0.1, 0.8, 0.8], 1),
        ([0.1, 0.8, NEXT], 1),
        ([0.1, NEXT, 0.8], 1),
        ([[0.1, 0.2], [0.8, NEXT]], 2),
        ([0.8, 0.8001], 1),
        ([-0.8001, -0.8], 1),
        ([-np.inf, -0.8, -NEXT], 1),
        ([-np.inf, -np.inf], 0),
        ([0.0, 0.0], 0),
        ([0, 3, 3], 1),
    ],
)
def test_it_is_the_first_of_those_that_rounding_sets_apart(values, place):
    assert first_largest(np.array(values)) == place


@given(st.lists(st.integers(-9, 9), min_size=1))
def test_of_whole_numbers_it_is_numpys(values):
    assert first_largest(np.array(values)) == int(np.argmax(values))


@pytest.mark.parametrize("more", [(7, 3), (3, 7)])
def test_a_token_that_stands_in_a_text_twice_is_met_at_its_first_place(more):
    """Its second one is larger or smaller by rounding, as the processor has it."""
    tokens = [*"abcdefgh"]
    tokens[7] = tokens[3]
    weights = np.full((8, 8), 0.1, np.float32)
    weights[5, 3] = weights[3, 5] = weights[5, 7] = weights[7, 5] = 0.8
    weights[5, more[0]] = weights[more[0], 5] = NEXT
    closest, key = closest_tokens(weights, tokens), strongest_key(weights, 5, tokens, tokens)
    assert closest is not None
    assert ((closest.first, closest.second), key.key) == ((3, 5), 3)
    heads = np.stack([weights, weights])[None]
    heads[0, 1, 3, 5] = NEXT
    pair, look = strongest_pair(heads, np.zeros(8, bool)), strongest_look(heads, tokens, tokens, np.zeros(8, bool))
    assert look is not None
    assert (pair.query, pair.key) == (look.query, look.key) == (3, 5)
    assert look.head == 0
