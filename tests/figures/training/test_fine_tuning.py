"""Figures of fine-tuning draw every run, the chosen one last and widest."""

import pytest

from tfcore.figures import theme
from tfcore.figures.training.fine_tuning import losses_figure
from tfcore.training.finetuning import kept_runs


@pytest.mark.parametrize("text", ["new", "old"])
def test_every_run_is_drawn(text):
    chosen, *others = kept_runs()
    figure = losses_figure(chosen, others, text, 300)
    theme.check(figure)
    curves = figure.to_dict()["data"]
    assert [curve["name"] for curve in curves] == [run.config.name for run in [*others, chosen]]
    assert curves[-1]["y"] == [getattr(losses, text) for losses in chosen.losses]
    assert [curve["line"]["width"] == 3 for curve in curves] == [False, False, False, True]
