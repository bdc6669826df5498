"""The online softmax is the softmax: whatever the order, the sizes of the pieces and the size of the scores."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tfcore.views.inference.long_context.measure.online_softmax import (
    RowStep,
    SoftmaxState,
    merge,
    nothing_yet,
    of_tile,
    rescale,
    result,
)
from tfcore.views.inference.long_context.say.pieces import Difference, row_progress

SIZES = st.integers(1, 9)


def numbers(seed, *shape, size=1.0):
    """Random numbers on the CPU, where pieces of a softmax are merged."""
    return (size * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)).cpu()


def close(a, b):
    assert torch.allclose(a, b, rtol=1e-9, atol=1e-12), (a - b).abs().max()


def same(a: SoftmaxState, b: SoftmaxState):
    """Two states that mean the same."""
    close(a.m, b.m)
    close(a.l, b.l)
    close(a.out, b.out)


@given(
    n_query=SIZES,
    pieces=st.lists(SIZES, min_size=1, max_size=6),
    d_head=SIZES,
    seed=st.integers(0, 99),
    size=st.sampled_from([1e-6, 1.0, 30.0, 1e4, 1e30]),
    order=st.randoms(use_true_random=False),
)
def test_any_pieces_in_any_order_give_the_softmax(n_query, pieces, d_head, seed, size, order):
    scores, v = numbers(seed, n_query, sum(pieces), size=size), numbers(seed + 1, sum(pieces), d_head)
    tiles = [of_tile(s, w) for s, w in zip(scores.split(pieces, 1), v.split(pieces), strict=True)]
    order.shuffle(tiles)
    state = nothing_yet(n_query, d_head, torch.float64)
    for tile in tiles:
        state = merge(state, tile)
    close(result(state), scores.softmax(-1) @ v)
    close(state.m, scores.amax(-1))
    close(state.l, (scores - scores.amax(-1, keepdim=True)).exp().sum(-1))


@given(seed=st.integers(0, 99), seen=st.lists(st.booleans(), min_size=24, max_size=24))
def test_hidden_keys_count_for_nothing(seed, seen):
    scores, v = numbers(seed, 4, 6, size=5), numbers(seed + 1, 6, 3)
    mask = torch.tensor(seen, device="cpu").view(4, 6)
    merged = merge(of_tile(scores[:, :2], v[:2], mask[:, :2]), of_tile(scores[:, 2:], v[2:], mask[:, 2:]))
    found = result(merged)
    for i in range(4):
        if mask[i].any():
            close(found[i], scores[i, mask[i]].softmax(-1) @ v[mask[i]])
        else:
            assert (found[i] == 0).all()
            assert merged.m[i] == -math.inf
            assert merged.l[i] == 0


@given(seed=st.integers(0, 99), size=st.sampled_from([1.0, 700.0]))
def test_merging_has_no_order_and_nothing_yet_changes_nothing(seed, size):
    a, b, c = (of_tile(numbers(seed + i, 3, 4, size=size), numbers(seed + i + 9, 4, 2)) for i in range(3))
    same(merge(a, b), merge(b, a))
    same(merge(merge(a, b), c), merge(a, merge(b, c)))
    same(merge(nothing_yet(3, 2, torch.float64), a), a)
    same(merge(a, nothing_yet(3, 2, torch.float64)), a)


def test_no_number_is_lost_where_nothing_was_seen_on_either_side():
    empty = merge(nothing_yet(2, 3), nothing_yet(2, 3))
    assert (empty.m == -math.inf).all()
    assert (empty.l == 0).all()
    assert (result(empty) == 0).all()


def test_float32_does_not_overflow_where_exp_alone_would():
    scores = torch.tensor([[200.0, -300.0, 199.0]])
    state = merge(of_tile(scores[:, :1], torch.ones(1, 1)), of_tile(scores[:, 1:], torch.full((2, 1), 3.0)))
    assert torch.isinf(scores.exp()).any()
    assert float(result(state)) == pytest.approx((1 + 3 * math.exp(-1)) / (1 + math.exp(-1)), rel=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "factor"),
    [(1.0, 1.0, 1.0), (1.0, 3.0, math.exp(-2)), (-math.inf, 3.0, 0.0), (-math.inf, -math.inf, 0.0)],
)
def test_the_rescale_factor(old, new, factor):
    assert float(rescale(torch.tensor([old]), torch.tensor([new]))) == pytest.approx(factor)


def step_of(at, **values):
    none = np.zeros(1, dtype=np.float32)
    numbers = {"tile_m": 2.0, "tile_l": 1.5, "old_m": 1.0, "m": 2.0, "rescale": 0.25, "scale_tile": 1.0, "old_l": 4.0}
    return RowStep(at=at, keys=none.astype(int), scores=none, weights=none, out=none, **(numbers | {"l": 2.5} | values))


def test_the_last_steps_are_told():
    steps = [step_of(at, m=float(at), rescale=1 / (at + 1), l=2.0 * at) for at in (2, 5, 6, 9)]
    found = row_progress("tile", steps, 7)
    assert [(one.number, one.m, one.rescale, one.l) for one in found.last] == [
        (6, 5.0, 1 / 6, 10.0),
        (7, 6.0, 1 / 7, 12.0),
        (10, 9.0, 0.1, 18.0),
    ]
    assert (found.done, found.total) == (4, 7)
    assert row_progress("tile", steps[:1], 7).sentence == (
        "After tile 3: m 2.000, rescale 0.333, l 4.000; 1 of 7 tiles merged."
    )
    two = row_progress("step", steps[:2], 4).sentence
    assert two == (
        "After step 3: m 2.000, rescale 0.333, l 4.000; after step 6: m 5.000, rescale 0.167, l 10.000; 2 of 4 blocks "
        "merged."
    )
    assert row_progress("tile", [], 7).sentence == "Nothing yet; 0 of 7 tiles merged."


def test_the_equation_has_the_numbers_in_their_places():
    line = step_of(0, old_m=-math.inf, rescale=1e-5, l=1.54).equation
    assert r"m &= \max(-\infty,\ 2.000) = 2.000 \\" in line
    assert r"\ell &= 1.0 \cdot 10^{-5} \cdot 4.000 + 1.000 \cdot 1.500 = 1.540" in line


def test_a_difference_says_whether_it_is_rounding():
    small, large = Difference(1e-5, 3e-16), Difference(1.1e-5, 3e-16)
    assert str(small) == "The difference to standard attention is 1.0e-05 at most (equal to 1e-5), in float64 3.0e-16."
    assert (small.verdict, large.verdict) == ("equal to 1e-5", "rounding of float32")
    assert small.words == ("1.0e-05", "3.0e-16")
