"""Figures of normalisation: what plotly accepts, small, and true to their numbers."""

import numpy as np
import pytest

from tests import small
from tfcore.charts import theme
from tfcore.views.block.normalisation.draw.early_training import first_steps_figure
from tfcore.views.block.normalisation.draw.norms import axis_figure, norm_steps_figure
from tfcore.views.block.normalisation.measure.norms import axis_leak, normalisation_steps

LAYER, RMS = (normalisation_steps((2.0, 4.0, 9.0), kind, 2.0, 1.0) for kind in ("layernorm", "rmsnorm"))
LEAK = axis_leak(small.model(), [[1, 2, 3], [4, 5, 6]], 0, 2, 9, "layernorm")

FIGURES = {
    "steps": lambda: norm_steps_figure(LAYER, RMS),
    "equal numbers": lambda: norm_steps_figure(*[normalisation_steps((3.0,), "layernorm")] * 2),
    "axis": lambda: axis_figure(LEAK, [["a", "b", "c"]] * 2, (0, 2), 400),
    "race": lambda: first_steps_figure({"pre": ("@cat0", [[2.0, 1.0], []])}, 80, 2.77, 380),
    "diverged": lambda: first_steps_figure({"pre": ("@cat0", [[np.nan, np.inf], [1e9]])}, 80, 2.77, 380),
}


@pytest.mark.parametrize("name", FIGURES)
def test_plotly_accepts_it_in_both_themes_and_it_is_small(name):
    figure = FIGURES[name]()
    theme.check(figure)
    assert len(figure.to_json()) < 60_000


def test_both_norms_share_the_range_of_a_step():
    layout = FIGURES["steps"]().to_dict()["layout"]
    for column in range(4):
        first, second = (layout[f"yaxis{n}" if n > 1 else "yaxis"]["range"] for n in (column + 1, column + 5))
        assert first == second


def test_bars_are_the_stages():
    data = FIGURES["steps"]().data
    for trace, values in zip(data, [*LAYER.stages, *RMS.stages], strict=True):
        assert np.array_equal(trace["y"], values)


def test_exact_zeros_are_written_as_zero():
    trace = FIGURES["axis"]().data[0]
    assert trace["text"][1] == ["a<br>0", "b<br>0", "c<br>0"]
    assert not trace["text"][0][2].endswith("<br>0")
