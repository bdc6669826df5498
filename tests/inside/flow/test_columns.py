"""Columns of the picture of a flow: what is folded carries what its layers carry, and nothing is counted twice; shares
of a sum, and the smallest that are followed, told apart and drawn."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.views.inside.flow.measure.columns import Column, Ribbon, columns, strongest_layers
from tfcore.views.inside.flow.measure.passages import of_ids
from tfcore.views.inside.flow.measure.routes import LEAST, SMALLEST, Flow, Route, follow, trace
from tfcore.views.inside.flow.measure.shares import LayerShares, shares

TEXT = small.ids(1, 9)[0].tolist()


def test_columns_open_and_folded():
    model = small.model(n_layers=5)
    found = trace(model, of_ids(TEXT, 8))
    drawn = columns(found, [2], least=0.0)
    assert [(one.first, one.last, one.open) for one in drawn] == [(0, 1, False), (2, 2, True), (3, 4, False)]
    assert [(one.first, one.open) for one in columns(found, range(5))] == [(i, True) for i in range(5)]
    for column in columns(found, [2], least=0.0, most=10**6):
        arrived, before = found.stream[column.last + 1], found.stream[column.first]
        own = arrived.copy()  # what stays in the row
        for one in column.ribbons:
            own[one.query] -= one.share
        left = own.copy()
        for one in column.ribbons:
            left[one.key] += one.share
        np.testing.assert_allclose(left, before, atol=0.03)  # ribbons that are too small to be drawn
        assert all(one.query != one.key for one in column.ribbons)
    heads = [one for one in columns(found, [2], least=0.01)[1].ribbons if one.head is not None]
    expected = [r for r in found.routes if r.layer == 2 and r.share >= 0.01 and r.query != r.key]
    assert [(one.query, one.key, one.head, one.share) for one in heads] == [
        (r.query, r.key, r.head, r.share) for r in expected
    ]
    few = columns(found, [2], least=0.01, most=1)[1].ribbons
    assert [one.head is None for one in few] == [False, True]


def test_the_smallest_shares_that_are_drawn():
    nothing, moved = np.zeros((2, 2)), np.zeros((2, 2, 2))
    moved[:, 1] = SMALLEST, 1 - SMALLEST
    route = Route(1, 3, 1, 0, SMALLEST)
    found = Flow(("0", "1"), 1, 0.0, np.ones((3, 2)), nothing, nothing, nothing, np.zeros((2, 6)), moved, (route,))
    assert columns(found, [1], least=SMALLEST) == [
        Column(0, 0, False, (Ribbon(1, 0, SMALLEST),)),
        Column(1, 1, True, (Ribbon(1, 0, SMALLEST, 3),)),
    ]


def test_shares_of_a_sum_by_hand():
    parts = torch.tensor([[[3.0, 0.0]], [[0.0, 1.0]], [[-1.0, 0.0]]])
    # |sum| = 2 + 1; distances 1 + 1, 2 + 0, 3 + 1: near by 1, 1 and 0
    np.testing.assert_allclose(shares(parts, torch.tensor([[2.0, 1.0]])), [[0.5], [0.5], [0.0]])
    nothing = torch.tensor([[[1.0, 0.0]], [[-1.0, 0.0]]])
    np.testing.assert_allclose(shares(nothing, torch.zeros(1, 2)), [[0.0], [1.0]])


def test_shares_at_their_limits_are_followed():
    """A head's share that is the threshold; a route of SMALLEST, which is told apart; a state of LEAST of the whole."""
    config, every = small.config(n_heads=1, d_model=4), range(3)
    kept = np.ones((3, 1))

    def layer(*shares):
        heads = np.zeros((3, 1, 3))
        heads[2, 0] = shares
        return LayerShares(every, every, heads, kept - heads.sum(2), None)

    small_ones = [layer(0, 0, 0), layer(LEAST, SMALLEST, 0.5)]
    found = follow(config, of_ids([5, 6, 7], 2), small_ones)
    np.testing.assert_allclose(found.stream, found.stream[[1, 1, 2]])
    assert found.followed == pytest.approx(1)
    assert [(one.layer, one.query, one.key, one.share) for one in found.routes] == [(1, 2, 2, 0.5), (1, 2, 1, SMALLEST)]
    assert follow(config, of_ids([5, 6, 7], 2), small_ones, 0.5).routes == found.routes[:1]


def test_folded_layers_carry_what_their_layers_carry_one_after_the_other():
    found = trace(small.model(n_layers=3), of_ids(TEXT, 8))
    [folded] = columns(found, [], most=10**6)
    whole = found.moved[2] @ found.moved[1] @ found.moved[0]
    for one in folded.ribbons:
        assert one.share == pytest.approx(found.stream[3, one.query] * whole[one.query, one.key])
        assert one.query == 8  # all of the state is there at the end


def test_the_layers_that_carry_most():
    found = trace(small.model(n_layers=5), of_ids(TEXT, 8))
    kept = strongest_layers(found, 2)
    assert kept == sorted(kept)
    by_layer = found.carried.sum(1)
    assert min(by_layer[kept]) >= max(np.delete(by_layer, kept))
