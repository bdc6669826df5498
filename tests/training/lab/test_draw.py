"""Pictures of the lab: valid for plotly in both themes, small, and drawn from the numbers given."""

import json

import numpy as np

from pages.ui.components.figure import _json
from tfcore.charts import theme
from tfcore.training.lab.curves import Curves, Evaluation
from tfcore.training.lab.options import Norms, Rates, Updates
from tfcore.views.training.lab.draw import option_effects, runs
from tfcore.views.training.lab.measure import smoothing


def curves(steps=1_000, checks=40):
    every = np.arange(1, steps + 1, dtype=np.int32)
    falling = np.linspace(3, 0.1, steps, dtype=np.float32)
    at = np.linspace(0, steps, checks).astype(np.int32)
    loss = np.linspace(3, 0.2, checks, dtype=np.float32)
    return Curves(every, falling, falling, falling / 100, at, loss, 1 - loss / 3, loss + 0.1, 1 - loss / 3)


def a_look(n=12, layers=2, heads=4):
    patterns = np.tril(np.ones((layers, heads, n - 1, n - 1), np.float32))
    ids, half = np.arange(n) % 5, n // 2
    free = np.where(np.arange(half) == 1, 4, ids[half:])
    share = np.linspace(1, 0.5, half, dtype=np.float32)
    return Evaluation(7, ids, half, patterns / patterns.sum(-1, keepdims=True), ids[half:], share, free, share, share)


def size(figure, height=300):
    return len(_json(figure, height, "x"))


def test_all_are_valid():
    c, rates = curves(), Rates(np.arange(3, dtype=np.int32), dict.fromkeys(("a", "b", "c"), np.ones(3)))
    one = [Updates(kind, ("w", "v"), np.array([1e-3, 1e-2]), np.array([1e-4, 1e-3])) for kind in option_effects.SIGNS]
    names = {kind: kind for kind in (*"abc", *option_effects.HUES)}
    for figure in (
        runs.run_figure(c, 1_000, 3.2, 300),
        runs.dials_figure(c, 1_000, 1.0, 200),
        runs.dials_figure(c, 1_000, 0.0, 200),
        runs.head_maps_figure(a_look(), 300),
        runs.right_shares_figure(a_look(), 200),
        runs.answer_figure(a_look(), list("abcde"), 160),
        runs.compare_figure([("one", c), ("two", c)], True, 300),
        runs.compare_figure([("one", c)], False, 300),
        option_effects.rates_figure(rates, names, "b", 300),
        option_effects.updates_figure(one, names, 300),
        option_effects.weight_norms_figure([Norms("none", np.ones(3), np.ones(3))], {"none": "no"}, 300),
        option_effects.clipping_figure(c, 0.5, 300),
        option_effects.smoothing_figure(smoothing(0.1, 20), 300),
        option_effects.gap_figure([("dropout 0", c)], 300),
    ):
        theme.check(figure)


def test_a_long_run_is_thinned_but_ends_where_it_ends():
    long = curves(20_000, 400)
    x, y = runs.thinned(long.step, long.loss)
    assert len(x) <= runs.MOST + 1
    assert (x[-1], y[-1]) == (20_000, long.loss[-1])
    together = size(runs.run_figure(long, 20_000, 3.2, 300)) + size(runs.dials_figure(long, 20_000, 1.0, 200))
    together += size(runs.head_maps_figure(a_look(64, 4, 8), 700)) + size(
        runs.answer_figure(a_look(64), list("abcde"), 160)
    )
    assert together < 150_000


def test_a_loss_without_bounds_keeps_the_axis():
    wild = curves()
    wild.held_loss[3] = np.inf
    wild.train_loss[5] = 1e9
    assert runs.loss_axis_end(wild, 3.0) <= 6.8 * 3
    json.dumps(runs.loss_axis_end(wild, 3.0), allow_nan=False)


def test_wrong_tokens_are_coloured_as_wrong():
    heat, words = runs.answer_figure(a_look(), list("abcde"), 160).data
    assert heat["z"][1].tolist() == [1] * 6
    assert heat["z"][2].tolist() == [1, 0, 1, 1, 1, 1]
    assert words["text"][:6] == words["text"][6:12]
    assert "free-running: it says 'e', right is 'c'" in words["customdata"]


def test_large_maps_keep_their_strongest_weights():
    maps = np.zeros((1, 5, 5), np.float32)
    maps[0, 4, 1] = 0.9
    small = runs.largest_weights(maps, 2)
    assert small.shape == (1, 3, 3)
    assert small[0, 2, 0] == np.float32(0.9)
    assert small.sum() == np.float32(0.9)
