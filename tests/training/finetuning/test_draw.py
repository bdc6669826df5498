"""Figures of fine-tuning draw a run of each settings, the chosen one last and widest, and the spread over seeds."""

from dataclasses import replace

import pytest

from tfcore.charts import theme
from tfcore.training.finetuning import kept_runs
from tfcore.views.training.finetuning.draw.tuning import losses_figure


@pytest.mark.parametrize("text", ["new", "old"])
def test_every_run_is_drawn(text):
    chosen, *others = kept_runs()
    figure = losses_figure(chosen, others, text, 300)
    theme.check(figure)
    curves = figure.to_dict()["data"]
    assert [curve["name"] for curve in curves] == [run.config.name for run in [*others[:3], chosen]]  # one of each seed
    assert curves[-1]["y"] == [getattr(losses, text) for losses in chosen.losses]
    ends = [getattr(run.losses[-1], text) for run in (chosen, others[3], others[7])]  # of the three seeds
    bar = curves[-1]["error_y"]
    assert bar["array"][-1] == pytest.approx(max(ends) - ends[0])
    assert bar["arrayminus"][-1] == pytest.approx(ends[0] - min(ends))
    assert not any(bar["array"][:-1])
    assert [curve["line"]["width"] == 3 for curve in curves] == [False, False, False, True]


def test_a_run_on_its_way_has_no_bar():
    chosen, *others = kept_runs()
    bar = losses_figure(replace(chosen, losses=chosen.losses[:4]), others, "old", 300).data[-1].error_y
    assert not any((*bar.array, *bar.arrayminus))
