"""Sparse patterns: pairs counted without the matrix, layers counted by hand and by paths, a real model agrees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import small
from tfcore.measures.mask_patterns import MaskConfig, build
from tfcore.views.inference.long_context.measure import patterns as length_cost
from tfcore.views.inference.long_context.measure.patterns import (
    COUNTED,
    keys_seen,
    layers_needed,
    measured_reach,
    pairs_kept,
    reach,
)
from tfcore.views.inference.long_context.say import patterns as say

configs = st.builds(
    MaskConfig,
    kind=st.sampled_from(COUNTED),
    window=st.integers(1, 9),
    n_global=st.integers(0, 5),
    dilation=st.integers(1, 5),
    block=st.integers(1, 7),
    stride=st.integers(1, 4),
)


@given(config=configs, n=st.integers(1, 40))
def test_pairs_are_those_of_the_mask(config, n):
    assert keys_seen(config, n).tolist() == build(config, n).sum(-1).tolist()
    assert pairs_kept(config, [n])[0] == build(config, n).sum()


def test_a_long_window_by_hand():
    assert pairs_kept(MaskConfig(kind="window", window=4096), [131_072])[0] == 131_072 * 4096 - 4096 * 4095 // 2
    assert pairs_kept(MaskConfig(kind="causal"), [4096])[0] == 4096 * 4097 // 2


def test_masks_of_a_text_are_refused():
    with pytest.raises(ValueError, match="kind='padding'"):
        keys_seen(MaskConfig(kind="padding"), 8)


@given(config=configs, n=st.integers(1, 16))
def test_layers_are_the_shortest_path(config, n):
    mask = build(config, n)
    needed = layers_needed(mask, 4)
    allowed = mask.numpy()
    for key in range(n):
        seen, front = {}, {key}
        for layer in range(1, 5):  # who hears of it in this layer, from those who knew of it before
            front = {query for query in range(n) if any(allowed[query, one] for one in front)}
            for query in front:
                seen.setdefault(query, layer)
        assert {q: int(needed[q, key]) for q in range(n) if needed[q, key]} == seen


@pytest.mark.parametrize("layers", [1, 4])
def test_a_window_reaches_its_width_less_one_in_each_layer(layers):
    found = reach(MaskConfig(kind="window", window=6), 64, layers)
    assert found.back.tolist() == [5 * (layer + 1) for layer in range(layers)]
    assert found.arrived.tolist() == [5 * (layer + 1) + 1 for layer in range(layers)]
    assert found.pairs == 64 * 6 - 15


def test_gaps_stay_gaps():
    needed = reach(MaskConfig(kind="dilated", window=4, dilation=4), 40, 6).needed
    assert set(np.flatnonzero(needed[39]) % 4) == {3}


@pytest.mark.parametrize("kind", ["causal", "window", "dilated", "blocks", "window_global"])
def test_a_model_hears_what_the_pattern_lets_through_and_nothing_else(kind):
    config, ids = MaskConfig(kind=kind, window=3, block=4), small.ids(1, 20)[0].tolist()
    found = measured_reach(small.model(), ids, config, 5, (ids[5] + 1) % 61)
    assert not (found.changed & ~found.expected).any()
    assert (found.changed == found.expected).all()
    assert found.furthest == np.flatnonzero(found.expected)[-1] - 5


@pytest.mark.parametrize("kind", length_cost.NAMES)
def test_the_reach_of_a_pattern_is_that_of_paths(kind):
    config, n, layers = MaskConfig(kind=kind, window=3, block=4, dilation=2), 12, 3
    allowed, known = build(config, n).numpy(), {n - 1}
    for _ in range(layers):
        known = {key for query in known for key in range(n) if allowed[query, key]}
    found = say.pattern_reach(reach(config, n, layers)).values
    assert (found["pattern"], found["n"], found["layers"]) == (length_cost.NAMES[kind], n, layers)
    assert (found["pairs"], found["causal"]) == (sum(bool(x) for x in allowed.ravel()), sum(range(1, n + 1)))
    assert (found["arrived"], found["back"]) == (len(known), n - 1 - min(known))


def test_the_reach_in_words():
    assert str(say.pattern_reach(reach(MaskConfig(kind="window", window=5), 64, 3))) == (
        "64 × 64: sliding window keeps 310 of 2,080 causal pairs (15%); through 3 layers the last token depends on 13 "
        "of 64 tokens, up to 12 back."
    )


def test_pairs_at_a_length_are_compared_with_all():
    counts = {"causal": np.array([10, 80]), "window": np.array([9, 16])}
    found = say.pairs_at_length([4, 1024], counts, "window", 1)
    assert str(found) == "At 1,024 tokens, sliding window: 16 pairs, 5.0 × fewer than the 80 of full attention."


def test_outputs_that_change_are_counted():
    expected = np.array([0, 0, 1, 1, 1, 1, 0], dtype=bool)
    changed = np.array([0, 0, 1, 0, 1, 0, 0], dtype=bool)
    found = say.model_reach(length_cost.MeasuredReach("blocks", 4, 2, expected, changed))
    assert found.sentence == (
        "The shipped model, 4 layers under block-sparse: changing token 2 changes the outputs of 2 tokens, up to 2 "
        "further on; the pattern allows 4, with differences."
    )
    same = say.model_reach(length_cost.MeasuredReach("blocks", 4, 2, expected, expected))
    assert same.sentence.endswith("the pattern allows 4, token by token.")
