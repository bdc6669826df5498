"""Panels beside each other: rows for switches, what is unknown left out."""

from tfcore.figures import theme
from tfcore.figures.model.modernising import Panel, effects_figure

NAMES = ["a", "b", "c"]


def test_bars_and_marks_with_their_numbers():
    panels = [
        Panel("size", [1, 2, 3], ["1", "2", "3"]),
        Panel("ms", [0.5, None, 2.0], ["0.5", "", "2.0"]),
        Panel("loss", [2.0, 1.5, 1.0], ["2", "1.5", "1"], [[1.9, 2.1], [1.5], [1.0]], near=True),
    ]
    drawn = effects_figure(NAMES, panels, 1, 300)
    theme.check(drawn)
    bars = [trace for trace in drawn.data if trace.type == "bar"]
    assert [list(bar.x) for bar in bars] == [[1, 2, 3], [0.5, None, 2.0]]
    assert drawn.data[-1].customdata[2] == [2]
    assert drawn.to_dict()["layout"]["yaxis"]["ticktext"][1] == "<b>b</b>"
    left, right = (drawn.to_dict()["layout"][axis]["domain"] for axis in ("xaxis", "xaxis3"))
    assert left[1] < right[0]


def test_nothing_known_yet_is_an_empty_panel():
    theme.check(effects_figure(NAMES, [Panel("ms", [None] * 3, [""] * 3)], 0, 300))
