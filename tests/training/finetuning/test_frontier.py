"""The figure of reward against KL draws a line for each algorithm, the chosen run's way, and marks it."""

from tfcore.charts import theme
from tfcore.training.preference import kept_preferences
from tfcore.views.training.finetuning.draw.preference import frontier_figure
from tfcore.views.training.finetuning.measure.preference import reward_hacking


def test_every_run_is_drawn():
    runs = [run for run in kept_preferences() if run.config.reward == "animals"]
    chosen = next(run for run in runs if run.config.algorithm == "reinforce")
    figure = frontier_figure(runs, chosen, "animals", 400)
    theme.check(figure)
    way, dpo_seeds, dpo, gradient_seeds, gradient, mark = figure.to_dict()["data"]
    assert way["x"] == [point.kl for point in chosen.points]
    own = [run for run in runs if run.config.algorithm == "reinforce"]
    first = sorted((run for run in own if run.config.seed == 0), key=lambda run: -run.config.beta)
    assert gradient["y"] == [run.points[-1].reward for run in first]
    assert [symbol == "square" for symbol in gradient["marker"]["symbol"]] == [reward_hacking(r).hacked for r in first]
    assert sorted(gradient_seeds["y"]) == sorted(run.points[-1].reward for run in own if run.config.seed)
    assert len(dpo["x"]) + len(dpo_seeds["x"]) == len(runs) - len(own)
    assert (mark["x"], mark["y"]) == ([chosen.points[-1].kl], [chosen.points[-1].reward])


def test_without_other_seeds_there_are_no_small_marks():
    runs = [run for run in kept_preferences() if run.config.reward == "happy"]
    assert len(frontier_figure(runs, runs[0], "happy", 400).data) == 4
