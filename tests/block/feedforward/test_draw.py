"""Pictures of the feed-forward layer: valid for plotly, and with the true numbers."""

import numpy as np
import pytest

from tests import small
from tfcore import presets
from tfcore.charts import theme
from tfcore.measures.block_parameters import block_share, layer_cost
from tfcore.views.block.feedforward.draw import layers as figures
from tfcore.views.block.feedforward.measure import activation_functions as functions
from tfcore.views.block.feedforward.measure import layers as widths


@pytest.mark.parametrize("kind", functions.PLAIN_ACTIVATIONS)
@pytest.mark.parametrize("x", [-5.0, -1.0, 5.0])
def test_curves_mark_the_point_looked_at(kind, x):
    result = functions.activation_curves()
    for slope in (False, True):
        figure = figures.activation_figure(result, kind, x, 300, slope=slope)
        theme.check(figure)
        point = figure.data[-1]
        assert point.x[0] == x
        if not (kind == "relu" and slope):
            assert point.y[0] == pytest.approx(functions.value_and_slope(kind, x)[slope], abs=2e-4)


def test_inputs_are_drawn_as_they_are():
    result = functions.inputs_among(*functions.pre_activations(small.model(), small.ids(1, 9)[0].tolist(), [0]))
    figure = figures.inputs_figure(result, -1.0, 200)
    theme.check(figure)
    np.testing.assert_allclose(figure.data[0].y, result.share, rtol=1e-6)


@pytest.mark.parametrize("up", [-4.0, -1.27, 0.0, 4.0])
def test_the_slice_is_the_row_of_the_surface(up):
    unit = widths.gated_unit("geglu")
    theme.check(figures.unit_figure(unit, up, 300))
    figure = figures.slice_figure(unit, up, 300)
    theme.check(figure)
    np.testing.assert_allclose(figure.data[1].y, unit.plain * up, atol=1e-5)


@pytest.mark.parametrize("d_model", [64, 8192])
def test_matrices_are_as_long_as_they_have_parameters(d_model):
    rows = [(name, layer_cost(name, d_model)) for name in ("relu", "swiglu")]
    figure = figures.matrices_figure(rows, d_model, 260)
    theme.check(figure)
    assert [sum(trace.x[i] for trace in figure.data) for i in range(2)] == [cost.count for _, cost in rows]


def test_shares_add_up_to_one():
    blocks = {name: block_share(getattr(presets, name)()) for name in ("gpt2_small", "mixtral_8x7b")}
    figure = figures.block_shares_figure(blocks, "gpt2_small", 300)
    theme.check(figure)
    assert [sum(trace.x[i] for trace in figure.data) for i in range(2)] == pytest.approx([1, 1])
