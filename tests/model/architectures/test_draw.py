"""Drawings of architectures and of likely tokens."""

import pytest

from tfcore.charts import theme
from tfcore.views.model.architectures import draw as figures
from tfcore.views.model.architectures.measure import seen


@pytest.mark.parametrize("kind", list(figures.STACKS))
def test_plotly_accepts_the_drawing_and_every_part_is_named(kind):
    drawn = figures.stack_figure(kind, 6, 300)
    theme.check(drawn)
    layout = drawn.to_dict()["layout"]
    words = [note["text"] for note in layout["annotations"]]
    boxes = [box for stack in figures.STACKS[kind] for box in stack]
    assert {name for name, _ in boxes} <= set(words)
    assert words.count("× 6") == len(figures.STACKS[kind])
    filled = [shape for shape in layout["shapes"] if "fillcolor" in shape]
    assert len(filled) == sum(bool(role) for _, role in boxes)
    for box in filled:
        low, high = layout["yaxis"]["range"]
        assert low < box["y0"] < box["y1"] < high


def test_the_line_is_between_what_is_read_and_what_is_written():
    drawn = figures.seen_figure(seen("encoder-decoder", 3, 2), list("abcde"), 3, 300)
    theme.check(drawn)
    across, down = drawn.to_dict()["layout"]["shapes"]
    assert across["x0"] == across["x1"] == down["y0"] == 2.5
