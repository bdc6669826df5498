"""Figures of normalisation, depth and paths: what plotly accepts, small, and true to their numbers."""

from dataclasses import replace

import numpy as np
import pytest

from tests import small
from tfcore.analysis.block import ablation_and_dropout as ablation
from tfcore.analysis.block import depth, normalisation
from tfcore.figures import theme
from tfcore.figures.block import ablation_and_dropout as ablation_figures
from tfcore.figures.block import depth as depth_figures
from tfcore.figures.block import normalisation as figures
from tfcore.figures.block.depth import Line

LAYER, RMS = (normalisation.normalisation_steps((2.0, 4.0, 9.0), kind, 2.0, 1.0) for kind in ("layernorm", "rmsnorm"))
LEAK = normalisation.axis_leak(small.model(), [[1, 2, 3], [4, 5, 6]], 0, 2, 9, "layernorm")
PROBE = depth.probe(depth.Deep(n_layers=3))
LINES = [Line("a", "@cat0", np.arange(1, 4), PROBE.gradient), Line("b", "@cat1", np.arange(1, 4), np.zeros(3))]
COLUMNS = {name: [LINES[0], Line("x", "@cat2", np.arange(4), PROBE.alike)] for name in ("pre", "post")}
PATHS = ablation.every_subset(small.model(), small.ids(1, 9)[0].tolist())
DROPPED, SAME = (
    ablation.draw_dropout(small.model(), [1, 2, 3], "blocks.0.mlp_out", 0.5, on, 0) for on in (True, False)
)

FIGURES = {
    "steps": lambda: figures.norm_steps_figure(LAYER, RMS),
    "equal numbers": lambda: figures.norm_steps_figure(*[normalisation.normalisation_steps((3.0,), "layernorm")] * 2),
    "axis": lambda: figures.axis_figure(LEAK, [["a", "b", "c"]] * 2, (0, 2), 400),
    "curves": lambda: depth_figures.depth_figure(LINES, x_title="x", y_title="y", height=300, marked=2),
    "log curves": lambda: depth_figures.depth_figure(
        LINES, x_title="x", y_title="y", height=300, log_x=True, limits=((1e-2, "here"), (1e9, "far away"))
    ),
    "nothing to draw": lambda: depth_figures.depth_figure(LINES[1:], x_title="x", y_title="y", height=300),
    "panels": lambda: depth_figures.layers_figure(COLUMNS, ("gradient", "likeness"), 400),
    "race": lambda: depth_figures.first_steps_figure({"pre": ("@cat0", [[2.0, 1.0], []])}, 80, 2.77, 380),
    "diverged": lambda: depth_figures.first_steps_figure({"pre": ("@cat0", [[np.nan, np.inf], [1e9]])}, 80, 2.77, 380),
    "paths": lambda: ablation_figures.subsets_figure(PATHS, 3),
    "paths of what is known for certain": lambda: ablation_figures.subsets_figure(
        replace(PATHS, losses=PATHS.losses * 0), 3
    ),
    "dropped": lambda: ablation_figures.dropout_figure(DROPPED),
    "means": lambda: ablation_figures.dropout_means_figure(DROPPED),
    "inference": lambda: ablation_figures.dropout_means_figure(SAME),
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


def test_a_vanished_gradient_is_not_drawn_and_does_not_stretch_the_axis():
    assert np.isnan(FIGURES["curves"]().data[1]["y"]).all()
    assert depth_figures.decades([np.array([0.0, 2e-3, np.nan, np.inf, 30.0])]) == (-3, 2)
    assert depth_figures.decades([np.array([0.5])]) == (-2, 0)
    assert depth_figures.decades([np.zeros(2)]) == (-1, 1)


def test_only_limits_within_the_picture_are_drawn():
    layout = FIGURES["log curves"]().to_dict()["layout"]
    assert [note["text"] for note in layout["annotations"]] == ["here"]


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
    assert bell["y"].sum() == pytest.approx(ablation.DRAWS, rel=0.01)
    assert bars["y"].sum() == pytest.approx(ablation.DRAWS, rel=0.01)
