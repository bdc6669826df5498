"""A chart over the lines of an earlier one."""

from dataclasses import replace

import pytest

from tfcore.charts import faint, kit, theme
from tfcore.views.finding import state
from tfcore.views.view import Scene, View


def chart(values, low=0.0, high=1.0):
    lines = [kit.line([0, 1, 2], values, "@cat0", name="loss"), kit.dots([1], [0.5], "@cat1")]
    axes = {"xaxis": {"range": [0, len(values)]}, "yaxis": {"range": [high, low]}, "yaxis2": {"title": "accuracy"}}
    return theme.build(lines, theme.base_layout(300, **axes))


def test_lines_of_before_stay_in_sight_behind_and_without_a_name():
    now, before = chart([0.1, 0.2, 0.3]), chart([0.4, 0.5, 0.6], low=-1.0, high=0.7)
    both = faint.over(now, before).to_dict()
    assert len(both["data"]) == 3  # the dots of before are left out
    behind = both["data"][0]
    assert list(behind["y"]) == [0.4, 0.5, 0.6]
    assert behind["opacity"] < 0.5
    assert not behind["showlegend"]
    assert behind["hoverinfo"] == "skip"
    assert "hovertemplate" not in behind
    assert both["data"][1:] == now.to_dict()["data"]
    assert both["layout"]["yaxis"]["range"] == [1.0, -1.0]  # upside down, and both within
    assert both["layout"]["xaxis"] == now.to_dict()["layout"]["xaxis"]
    assert now.to_dict()["layout"]["yaxis"]["range"] == [1.0, 0.0]  # as it was
    theme.check(faint.over(now, before))


def test_a_view_says_what_the_faint_lines_are():
    said = (state("end", "It ends."),)
    now, before = (
        View(key="loss", title="Loss", result=None, chart=chart(y), findings=said, note="A note.")
        for y in ([0.1, 0.2, 0.3], [0.4, 0.5, 0.6])
    )
    assert now.over(before, "Faint: before.").caption == "It ends. A note. Faint: before."
    assert now.caption == "It ends. A note."
    with pytest.raises(ValueError, match="only charts are drawn over others"):
        replace(now, chart=Scene(module="river", data={}, height=100)).over(before, "")
