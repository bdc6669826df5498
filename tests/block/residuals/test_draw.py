"""Figures of residual connections: what plotly accepts, small, and true to their numbers."""

from dataclasses import replace

import numpy as np
import pytest

from tests import small
from tfcore.charts import theme
from tfcore.charts.depth_curves import Line
from tfcore.views.block.residuals.draw.ablation import subsets_figure
from tfcore.views.block.residuals.draw.dropout import dropout_figure, dropout_means_figure
from tfcore.views.block.residuals.draw.layers import layers_figure
from tfcore.views.block.residuals.measure import ablation, dropout

PATHS = ablation.every_subset(small.model(), small.ids(1, 9)[0].tolist())
DROPPED, SAME = (dropout.draw_dropout(small.model(), [1, 2, 3], "blocks.0.mlp_out", 0.5, on, 0) for on in (True, False))

LINES = [Line(name, "@cat0", np.arange(1, 4), np.array([0.5, 2.0, 30.0])) for name in ("gradient", "likeness")]

FIGURES = {
    "layers": lambda: layers_figure({"pre": LINES, "post": LINES}, ("gradient", "likeness"), 400),
    "paths": lambda: subsets_figure(PATHS, 3),
    "paths of what is known for certain": lambda: subsets_figure(replace(PATHS, losses=PATHS.losses * 0), 3),
    "dropped": lambda: dropout_figure(DROPPED),
    "means": lambda: dropout_means_figure(DROPPED),
    "inference": lambda: dropout_means_figure(SAME),
}


@pytest.mark.parametrize("name", FIGURES)
def test_plotly_accepts_it_in_both_themes_and_it_is_small(name):
    figure = FIGURES[name]()
    theme.check(figure)
    assert len(figure.to_json()) < 60_000


def test_every_set_is_a_dot_in_its_column_and_the_chosen_one_is_marked():
    dots, mean, mark = FIGURES["paths"]().data
    assert np.array_equal(np.round(dots["x"]), PATHS.removed)
    assert dots["customdata"].tolist() == list(range(16))
    assert dots["text"][0] == "attention 0, feed-forward 0, attention 1, feed-forward 1"
    assert dots["text"][15] == "nothing"
    assert float(mark["y"][0]) == pytest.approx(float(PATHS.loss[3]))
    assert mean["y"][4] == pytest.approx(float(PATHS.loss[0]))


def test_the_bell_has_the_area_of_the_bars():
    bars, bell = FIGURES["means"]().data
    assert bell["y"].sum() == pytest.approx(dropout.DRAWS, rel=0.01)
    assert bars["y"].sum() == pytest.approx(dropout.DRAWS, rel=0.01)
