"""The figure of reward against KL draws a line for each algorithm, the chosen run's way, and marks it."""

from tfcore.analysis.training.preference import reward_hacking
from tfcore.figures import theme
from tfcore.figures.training.preference import frontier_figure
from tfcore.training.preference import kept_preferences


def test_every_run_is_drawn():
    runs = kept_preferences()
    chosen = runs[-1]
    figure = frontier_figure(runs, chosen, "animals", 400)
    theme.check(figure)
    way, dpo, gradient, mark = figure.to_dict()["data"]
    assert way["x"] == [point.kl for point in chosen.points]
    own = sorted((run for run in runs if run.config.algorithm == "reinforce"), key=lambda run: -run.config.beta)
    assert gradient["y"] == [run.points[-1].reward for run in own]
    assert [symbol == "square" for symbol in gradient["marker"]["symbol"]] == [reward_hacking(r).hacked for r in own]
    assert len(dpo["x"]) == len(runs) - len(own)
    assert (mark["x"], mark["y"]) == ([chosen.points[-1].kl], [chosen.points[-1].reward])
