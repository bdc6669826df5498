"""Pictures of the residual stream: valid for plotly, sums that end where they should, clicks that name a place."""

import numpy as np
import pytest

from tfcore.charts import boards, theme
from tfcore.charts.before_after import before_after
from tfcore.charts.part_by_token import part_by_token
from tfcore.views.inside.stream.draw import lens as logit_lens
from tfcore.views.inside.stream.draw import parts as figures
from tfcore.views.inside.stream.draw import shape
from tfcore.views.inside.stream.measure.lens import TokenPath

LABELS = ["a", "b", "a", "c"]


def test_each_bar_begins_where_the_one_before_ended():
    figure = figures.running_sum(["x", "y", "z"], [2.0, -0.5, 1.25], ["@embedding", "@attention", "@norm"], 300)
    theme.check(figure)
    bars = figure.data[0]
    assert list(bars.base) == [0, 2.0, 1.5, 0]
    assert list(bars.x) == [2.0, -0.5, 1.25, 2.75]
    assert bars.marker.color[-1] == "@residual"


@pytest.mark.parametrize("shape", [(1, 1), (4, 7), (12, 40)])
def test_a_board_has_a_field_for_each_part(shape):
    values = np.linspace(-1, 1, np.prod(shape)).reshape(shape)
    values[0, -1] = np.nan
    figure = boards.board(values, [str(i) for i in range(shape[1])], "%{z}", limit=1.0, selected=[(0, 0)], height=300)
    theme.check(figure)
    fields = figure.data[0]
    assert fields.z.shape == shape
    assert fields.customdata[-1][-1] == [shape[0] - 1, shape[1] - 1]
    assert bool(fields.texttemplate) == (values.size <= boards.MOST_NUMBERS)


def test_the_grid_frames_right_guesses_only():
    right = np.array([[False, True], [False, False], [True, True], [False, False]])
    words = [["x", "y"]] * 4
    figure = logit_lens.lens_grid(
        words, np.full((4, 2), 0.5), right, words, LABELS, [*LABELS[1:], ""], ["in", "out"], 3
    )
    theme.check(figure)
    x, y = logit_lens.frames(right)
    corners = {(float(a), float(b)) for a, b in zip(x.round(), y.round(), strict=True) if not np.isnan(a)}
    assert corners == {(1, 0), (0, 2), (1, 2)}
    assert np.isnan(logit_lens.frames(~(right | True))[0]).all()


def test_a_path_has_a_line_for_each_token():
    path = TokenPath(("x", "y", "z"), np.random.rand(3, 2), np.zeros((3, 2)), np.array([[4, 0], [1, 2], [0, 1]]))
    figure = logit_lens.token_path_figure(path, ["p", "q"], ["s", "t", "u"], 300)
    theme.check(figure)
    assert [trace.name for trace in figure.data] == ["p", "q"]
    assert figure.data[0].customdata[0][0] == 5


def test_curves_keep_positions_apart():
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    figure = shape.curves(values, ["s", "t", "u"], LABELS, 2, "length", height=300)
    theme.check(figure)
    theme.check(shape.curves(values, ["s", "t", "u"], LABELS, 2, "cosine", height=300, limits=(0.0, 1.0)))
    each, median, chosen = figure.data
    assert list(each.y[:3]) == [0, 4, 8]
    assert np.isnan(each.y[3::4]).all()
    assert list(median.y) == [1.5, 5.5, 9.5]
    assert list(chosen.y) == [2, 6, 10]
    theme.check(shape.writes_figure(np.ones(2), np.zeros(2), ["p", "q"], ["@attention", "@feedforward"], 300))


@pytest.mark.parametrize("column", [-1, 2])
def test_loss_increases_and_bars_before_and_after(column):
    rows, chosen = ["p", "q"], (1, column)
    for n in (3, 60):  # with numbers in the cells, and without
        labels = [f"t{i}" for i in range(n)]
        theme.check(part_by_token(np.zeros((2, n)), rows, labels, 5.0, chosen, "%{z}", "token", 300))


def test_a_bar_stands_before_the_one_that_was_and_says_both_numbers():
    figure = before_after(["p", "q", "r"], [0.9, 0.0, 0.25], [0.0004, 0.5, 0.25], ("whole", "without"))
    theme.check(figure)
    was, now, words = figure.data
    assert (was.name, list(was.x), now.name, list(now.x)) == ("whole", [0.9, 0, 0.25], "without", [0.0004, 0.5, 0.25])
    assert was.width > now.width
    assert figure.layout.barmode == "overlay"
    assert list(words.text) == [" 90 % → 0.04 %", " 0 % → 50 %", " 25 %"]
    assert list(words.x) == [0.9, 0.5, 0.25]
    assert [one[1] for one in now.customdata] == ["90 % → 0.04 %", "0 % → 50 %", "25 %"]


def test_the_colour_of_a_part_follows_from_its_name():
    names = ["embedding", "positions", "attention 3", "head 2 of layer 1", "feed-forward 0", "FF 2", "attn 1", "biases"]
    roles = ["embedding", "position", "attention", "attention", "feedforward", "feedforward", "attention", "norm"]
    assert [figures.part_role(name) for name in names] == [f"@{role}" for role in roles]
