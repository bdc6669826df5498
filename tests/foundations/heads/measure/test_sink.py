"""Attention without its sink, against loops over every row."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.foundations.heads.measure.test_kinds import random_patterns
from tests.small import model
from tfcore import load
from tfcore.measures.heads.kinds import score_cross, score_heads
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.heads.sink import score_without, sink_tokens, weight_on, without_keys
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.foundations.heads.measure.attention_maps import HiddenSink, hidden_sink, read_attention, without_sink


class Around(ByteTokenizer):
    """Puts 1 before a text and 2 behind it."""

    def encode(self, text):
        return [1, *super().encode(text), 2]


@pytest.mark.parametrize(
    ("ids", "around", "expected"),
    [
        ([1, 97, 2], True, [0, 2]),
        ([1, 1, 97, 1, 98, 2, 2], True, [0, 1, 5, 6]),
        ([97, 98], True, [0]),
        ([1, 97, 2], False, [0]),
        ([1, 2], True, [0, 1]),
        ([], True, []),
    ],
)
def test_the_first_token_is_a_sink_and_what_stands_around_an_encoders_text(ids, around, expected):
    assert np.flatnonzero(sink_tokens(Around(), ids, around)).tolist() == expected


@given(n=st.integers(1, 12), seed=st.integers(0, 99), data=st.data())
def test_what_is_left_of_each_row_sums_to_one(n, seed, data):
    patterns = random_patterns(2, 2, n, seed)
    hidden = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    found = without_keys(patterns, hidden)
    for layer, head, query in np.ndindex(2, 2, n):
        row = patterns[layer, head, query]
        left = sum(float(row[key]) for key in range(n) if not hidden[key])
        for key in range(n):
            expected = 0.0 if hidden[key] or left <= 1e-6 else row[key] / left
            assert found[layer, head, query, key] == pytest.approx(expected, abs=1e-5)


def test_the_weight_of_the_sink_is_that_of_the_other_queries():
    patterns, hidden = random_patterns(2, 3, 7), np.array([True, False, False, True, False, False, False])
    found = weight_on(patterns, hidden, within=True)
    for place in np.ndindex(2, 3):
        rows = [sum(float(patterns[(*place, q, k)]) for k in (0, 3)) for q in (1, 2, 4, 5, 6)]
        assert found[place] == pytest.approx(np.mean(rows), abs=1e-6)
    assert weight_on(patterns, ~np.zeros(7, bool), within=True).tolist() == [[1.0] * 3] * 2
    across = weight_on(patterns[:, :, :4], hidden, within=False)
    assert across[1, 2] == pytest.approx(np.mean([patterns[1, 2, q, [0, 3]].sum() for q in range(4)]), abs=1e-6)


def test_scores_are_those_of_the_text_without_the_hidden_tokens():
    hidden = np.array([True, False, False, False, False, True])
    ids = np.array([9, 4, 5, 4, 5, 9])
    patterns = without_keys(random_patterns(1, 2, 6, ahead=True), hidden)
    found, expected = score_without(patterns, ids, hidden), score_heads(patterns[:, :, 1:5, 1:5], ids[1:5])
    for kind, values in expected.scores.items():
        np.testing.assert_array_equal(found.scores[kind], values)
    assert found.kind.tolist() == expected.kind.tolist()
    everything = score_without(patterns, ids, np.ones(6, bool))
    np.testing.assert_array_equal(everything.entropy, score_heads(patterns, ids).entropy)
    across = score_without(patterns[:, :, :3], ids, hidden, within=False)
    np.testing.assert_array_equal(across.distance, score_cross(patterns[:, :, :3, 1:5]).distance)


def test_a_text_is_read_without_its_sink():
    network, tokenizer = load("stories", device="cpu")
    seen, hidden = (read_attention(network, tokenizer, "Tom sat. Tom", hide_sink=hide) for hide in (False, True))
    assert (seen.hides_sink, hidden.hides_sink) == (False, True)
    np.testing.assert_array_equal(hidden.maps.patterns, without_sink(seen).maps.patterns)
    assert (hidden.maps.patterns[..., 0] == 0).all()
    assert hidden.maps.patterns[:, :, 1:].sum(-1) == pytest.approx(1, abs=1e-5)
    assert (hidden.maps.patterns[:, :, 0] == 0).all(), "the first token sees itself alone"
    share = np.mean([seen.maps.patterns[2, 3, q, 0] for q in range(1, len(seen.queries))])
    assert hidden_sink(hidden, 2, 3).share == pytest.approx(share, abs=1e-6)
    assert hidden_sink(hidden, 2).share == pytest.approx(float(seen.sink_weight[2].mean()))
    assert hidden_sink(hidden).share == pytest.approx(float(seen.sink_weight.mean()))


def test_the_sentence_names_the_tokens_and_their_share():
    found = HiddenSink(("[CLS]", " a very long token"), (0, 4), 0.384, "head 3.1")
    assert str(found) == (
        "Hidden: '[CLS]' (0) and '·a·very·lon…' (4), with 38% of the weight of head 3.1; the other weights of each row "
        "are divided by their sum."
    )


def test_with_the_token_before_a_text_the_sink_is_that_token():
    network, tokenizer = load("stories", device="cpu")
    found = read_attention(network, tokenizer, "Tom sat.", bos=True, hide_sink=True)
    assert found.keys[0] == "<|endoftext|>"
    assert np.flatnonzero(found.sink).tolist() == [0]
    plain = attention_maps(network, [0, *tokenizer.encode("Tom sat.")]).patterns
    expected = plain[1, 2, 3, 1:] / plain[1, 2, 3, 1:].sum()
    np.testing.assert_allclose(found.maps.patterns[1, 2, 3, 1:], expected, atol=1e-6)
    assert math.isclose(found.sink_weight[1, 2], plain[1, 2, 1:, 0].mean(), abs_tol=1e-6)


def test_one_token_is_all_sink():
    found = without_sink(read_attention(model(vocab_size=256), ByteTokenizer(), "a"))
    assert found.maps.patterns.tolist() == np.zeros((2, 6, 1, 1)).tolist()
    assert not np.isnan(found.maps.heads.entropy).any()


def causal(layers, n, on_first):
    """One head a layer: so much weight on the first token, the rest on the query itself."""
    patterns = np.zeros((layers, 1, n, n), dtype=np.float32)
    patterns[:, 0, 0, 0] = 1
    for query in range(1, n):
        patterns[:, 0, query, 0], patterns[:, 0, query, query] = on_first, 1 - on_first
    return patterns
