"""A chart drawn over an earlier one of the same kind: the lines of that one stay in sight, faint, while it grows."""

from typing import Any

import plotly.graph_objects as go

from tfcore.charts import theme

OPACITY = 0.28  # of the lines of before


def over(now: go.Figure, before: go.Figure) -> go.Figure:
    """The chart of now over the lines of the other; y axes with a fixed range hold both, x axes stay as they are.

    Args:
        now, before: charts of the same view: same axes, other numbers.
    """
    chart, other = now.to_dict(), before.to_dict()
    drawn = [part for part in other["data"] if part.get("type") == "scatter" and "lines" in part.get("mode", "")]
    layout = {
        name: _wide(part, other["layout"].get(name)) if name.startswith("yaxis") else part
        for name, part in chart["layout"].items()
    }
    return theme.build([*map(_faint, drawn), *chart["data"]], layout)


def _faint(part: dict[str, Any]) -> dict[str, Any]:
    quiet = {"opacity": OPACITY, "showlegend": False, "hoverinfo": "skip", "mode": "lines"}
    return {name: value for name, value in part.items() if name not in ("hovertemplate", "legendgroup")} | quiet


def _wide(axis: Any, other: Any) -> Any:
    """An axis whose fixed range holds that of the other too; anything else as it is."""
    if not (isinstance(axis, dict) and isinstance(other, dict) and "range" in axis and "range" in other):
        return axis
    (start, end), (first, last) = axis["range"], other["range"]
    outer = (min, max) if start <= end else (max, min)
    return axis | {"range": [outer[0](start, first), outer[1](end, last)]}
