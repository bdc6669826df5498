"""Panels beside each other: rows for switches, what is unknown left out."""

import pytest

from tests.small import config
from tfcore.charts import theme
from tfcore.measures.attention_sizes import AttentionSizes
from tfcore.training.alike import SeedDifference
from tfcore.views.model.modern.draw import QuantityPanel, effects_figure, panels, second_wave_panels
from tfcore.views.model.modern.measure import SecondWave, Speed, Trained, TrainedSwitch, Version

NAMES = ["a", "b", "c"]


def test_bars_and_marks_with_their_numbers():
    panels = [
        QuantityPanel("size", [1, 2, 3], ["1", "2", "3"]),
        QuantityPanel("ms", [0.5, None, 2.0], ["0.5", "", "2.0"]),
        QuantityPanel("loss", [2.0, 1.5, 1.0], ["2", "1.5", "1"], [[1.9, 2.1], [1.5], [1.0]], near=True),
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
    theme.check(effects_figure(NAMES, [QuantityPanel("ms", [None] * 3, [""] * 3)], 0, 300))


def test_each_version_has_its_own_numbers():
    found = [Version(name, config(), 1_000 * (i + 1), 10 * (i + 1)) for i, name in enumerate(NAMES)]
    speeds = [Speed(2, 0.05, 0.006), Speed(0, 0.03, 0.004), Speed(2, 0.01, 0.002)]
    size, cache, prefill, decode, loss = panels(
        found, speeds, Trained({"a": [3.0, 2.0], "b": [2.0, 1.0], "c": [1.0, 0.0]}, 8, 2, 1)
    )
    assert (size.values, size.labels) == ([1_000, 2_000, 3_000], ["1 k", "2 k", "3 k"])
    assert (cache.values, cache.labels) == ([20, 40, 60], ["20", "40", "60"])
    assert (prefill.values, prefill.labels) == ([30, None, 10], ["30.0", "", "10.0"])
    assert (decode.values, decode.labels) == ([4, None, 2], ["4.0", "", "2.0"])
    assert (loss.values, loss.labels, loss.near) == ([2.5, 1.5, 0.5], ["2.500", "1.500", "0.500"], True)
    assert len(panels(found, [], None)) == 4


def test_differences_have_intervals_and_a_line_at_none():
    panel = QuantityPanel(
        "loss, nats",
        [0.0, -0.2, 0.1],
        ["4.3", "-0.2", "+0.1"],
        [[0.0], [-0.1, -0.3], [0.2, 0.0]],
        near=True,
        intervals=[(0.0, 0.0), (-0.3, -0.1), (-0.1, 0.3)],
    )
    drawn = effects_figure(NAMES, [panel, QuantityPanel("score", [1, 2, 3], ["1", "2", "3"])], 1, 300)
    theme.check(drawn)
    lines = [trace for trace in drawn.data if trace.type == "scatter" and trace.mode == "lines"]
    assert [list(line.x) for line in lines] == [[0, 0], [0.0, 0.0], [-0.3, -0.1], [-0.1, 0.3]]
    assert [list(line.y) for line in lines[1:]] == [[0, 0], [1, 1], [2, 2]]
    words = next(trace for trace in drawn.data if trace.type == "scatter" and trace.mode == "text")
    assert list(words.text) == ["4.3", "-0.2", "+0.1"]
    wide, narrow = (drawn.to_dict()["layout"][axis]["domain"] for axis in ("xaxis", "xaxis2"))
    assert wide[1] - wide[0] == pytest.approx(2 * (narrow[1] - narrow[0]))


def test_the_second_wave_in_panels():
    wave = SecondWave(
        tuple(
            TrainedSwitch(
                Version(name, config(), 1_000, 10),
                (2.0, 2.2),
                (mean, mean),
                SeedDifference(mean, mean - 0.1, mean + 0.1),
                AttentionSizes(score=10.0 + mean, first=0.02, sunk=0.3, stream=4.0),
            )
            for name, mean in (("base", 0.0), ("a", -0.05))
        ),
        1_000,
        8,
    )
    loss, score, first, sunk, stream = second_wave_panels(wave)
    assert loss.labels == ["2.100", "-0.050"]
    assert list(loss.intervals) == [(-0.1, 0.1), (pytest.approx(-0.15), pytest.approx(0.05))]
    assert score.labels == ["10.0", "9.9"]
    assert (first.values, sunk.values, stream.labels) == ([2.0, 2.0], [30.0, 30.0], ["4.0", "4.0"])
