"""Strips of a walk: valid for plotly, true numbers, comparable colours, and thinned out only where too wide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import small
from tfcore.charts import theme
from tfcore.charts.guesses import guesses_figure
from tfcore.views.start.walkthrough import draw
from tfcore.views.start.walkthrough.measure.tensors import ShownTensor, stage_tensors
from tfcore.views.start.walkthrough.measure.walk import walk, walk_stages

N = 7
LABELS = [f"t{i}" for i in range(N)]


def piece(values, **more):
    return ShownTensor(title="x", role="residual", values=values, axes=("seq", "d_model"), shape=values.shape, **more)


def test_plotly_accepts_every_stage():
    model = small.model(positions="learned", n_kv_heads=3)
    walked = walk(model, small.ids(1, N)[0].tolist(), 1)
    for stage in walk_stages(model.config, 1):
        if stage.name not in ("characters", "tokens", "ids", "top-5"):
            made = stage_tensors(walked, stage.name, 4)
            for pieces in (made.before, made.after):
                limit = draw.limit_of(pieces)
                names = [f"c{i}" for i in range(len(walked.candidates))]
                figure = draw.pieces_figure(pieces, LABELS, limit=limit, height=330, sign=made.sign, candidates=names)
                theme.check(figure)
    theme.check(guesses_figure(walked.probabilities[-1, :5], LABELS[:5], 190))


def test_numbers_are_drawn_as_they_are():
    values = np.random.default_rng(0).normal(size=(N, 50))
    drawn = draw.pieces_figure([piece(values, first=100)], LABELS, limit=2.0, height=330).data[0]
    np.testing.assert_array_equal(drawn.z, values.astype(np.float32))
    assert (drawn.zmin, drawn.zmax, drawn.x0, drawn.dx) == (-2.0, 2.0, 100, 1)


@given(rows=st.integers(1, 8), columns=st.integers(1, 40), most=st.integers(1, 200))
def test_what_is_thinned_out_keeps_the_number_furthest_from_zero(rows, columns, most):
    values = np.random.default_rng(columns).normal(size=(rows, columns))
    thinned, few = draw.thin(values, most)
    assert thinned.shape == (rows, -(-columns // few))
    assert thinned.size <= max(most, rows)
    for i in range(thinned.shape[1]):
        block = values[:, i * few : (i + 1) * few]
        np.testing.assert_array_equal(thinned[:, i], [row[np.abs(row).argmax()] for row in block])


@pytest.mark.parametrize(("largest", "limit"), [(0.0, 1.0), (0.9, 1.0), (1.1, 1.2), (4.1, 5.0), (61.0, 80.0)])
def test_full_colour_is_a_round_number(largest, limit):
    assert draw.limit_of([piece(np.array([[-largest, 0.0]]), columns="key")]) == pytest.approx(limit)


def test_shares_have_no_limit_and_blocked_numbers_do_not_count():
    shares = piece(np.full((2, 2), 0.5), weights=True, columns="key")
    assert draw.limit_of([shares]) == 1.0
    blocked = piece(np.array([[1.0, 900.0]]), columns="key", blocked=np.array([[False, True]]))
    assert draw.limit_of([blocked]) == 1.0
