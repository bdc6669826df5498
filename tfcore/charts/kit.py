"""The pieces that charts are made of: lines, dots, bars, cells, words, notes, rules, boxes and axes, as plotly's dicts.

A drawing function says with them what is drawn, `theme.build` makes a figure of them. What is not given is left to
plotly; other properties of plotly are taken as they are. Colours are roles (`tfcore.charts.theme`).

Hovers: a sentence with plotly's %{x} and %{y} in it, or False where nothing is said.
"""

from typing import Any, Literal

Part = dict[str, Any]  # of a figure
Hover = str | Literal[False] | None
EXTRA = "<extra></extra>"  # no second box with the name of the trace beside the sentence


def line(
    x: Any,
    y: Any,
    colour: Any = None,
    *,
    name: Any = None,
    width: Any = None,
    dash: Any = None,
    hover: Hover = None,
    marks: Part | None = None,
    **more: Any,
) -> Part:
    """A curve; with `marks`, plotly's properties of markers, one at each point."""
    return _given(
        {
            "type": "scatter",
            "mode": "lines" if marks is None else "lines+markers",
            "x": x,
            "y": y,
            "name": name,
            "line": _given({"color": colour, "width": width, "dash": dash}) or None,
            "marker": marks,
            **_hover(hover),
        },
        more,
    )


def dots(
    x: Any,
    y: Any,
    colour: Any = None,
    *,
    name: Any = None,
    size: Any = None,
    symbol: Any = None,
    hover: Hover = None,
    marker: Part | None = None,
    **more: Any,
) -> Part:
    """Marks; `marker` has further properties of theirs."""
    look = _given({"color": colour, "size": size, "symbol": symbol}, marker)
    return _given(
        {"type": "scatter", "mode": "markers", "x": x, "y": y, "name": name, "marker": look or None, **_hover(hover)},
        more,
    )


def words(
    x: Any,
    y: Any,
    text: Any,
    colour: Any = None,
    *,
    size: Any = None,
    family: Any = None,
    hover: Hover = None,
    **more: Any,
) -> Part:
    """Words at points."""
    font = _given({"size": size, "color": colour, "family": family})
    return _given(
        {"type": "scatter", "mode": "text", "x": x, "y": y, "text": text, "textfont": font or None, **_hover(hover)},
        more,
    )


def bars(
    x: Any,
    y: Any,
    colour: Any = None,
    *,
    name: Any = None,
    hover: Hover = None,
    marker: Part | None = None,
    **more: Any,
) -> Part:
    """Bars; `orientation="h"` lays them down, `marker` has further properties of theirs."""
    look = _given({"color": colour}, marker)
    return _given({"type": "bar", "x": x, "y": y, "name": name, "marker": look or None, **_hover(hover)}, more)


def cells(z: Any, scale: Any = None, low: Any = None, high: Any = None, *, hover: Hover = None, **more: Any) -> Part:
    """A matrix of coloured cells: a scale of colours and the fixed range that it covers."""
    return _given({"type": "heatmap", "z": z, "colorscale": scale, "zmin": low, "zmax": high, **_hover(hover)}, more)


def colour_bar(**more: Any) -> Part:
    """The scale of colours beside cells: narrow, without a frame."""
    return {"thickness": 10, "outlinewidth": 0, "tickfont": {"size": 11, "color": "@muted"}} | more


def note(
    text: Any,
    x: Any,
    y: Any,
    colour: Any = "@muted",
    *,
    size: Any = 12,
    family: Any = None,
    paper: Literal["", "x", "y", "xy"] = "",
    **more: Any,
) -> Part:
    """Words in the picture.

    Args:
        paper: along which axes the place is a share of the picture, and not a value.
    """
    font = _given({"size": size, "color": colour, "family": family})
    return _given({"text": text, "x": x, "y": y, "showarrow": False, "font": font or None, **_paper(paper)}, more)


def across(
    y: Any, colour: Any = "@muted", *, width: Any = None, dash: Any = None, below: bool = True, **more: Any
) -> Part:
    """A line from the left edge of the picture to the right, below the data."""
    return stroke(0, 1, y, y, colour, width=width, dash=dash, below=below, paper="x", **more)


def upright(
    x: Any, colour: Any = "@muted", *, width: Any = None, dash: Any = None, below: bool = True, **more: Any
) -> Part:
    """A line from the lower edge of the picture to the upper, below the data."""
    return stroke(x, x, 0, 1, colour, width=width, dash=dash, below=below, paper="y", **more)


def stroke(
    x0: Any,
    x1: Any,
    y0: Any,
    y1: Any,
    colour: Any = None,
    *,
    width: Any = None,
    dash: Any = None,
    below: bool = False,
    paper: Literal["", "x", "y", "xy"] = "",
    **more: Any,
) -> Part:
    """A straight line between two points."""
    return _given(
        {
            "type": "line",
            "x0": x0,
            "x1": x1,
            "y0": y0,
            "y1": y1,
            "line": _given({"color": colour, "width": width, "dash": dash}) or None,
            "layer": "below" if below else None,
            **_paper(paper),
        },
        more,
    )


def box(
    x0: Any,
    x1: Any,
    y0: Any,
    y1: Any,
    fill: Any = None,
    *,
    edge: Any = None,
    width: Any = None,
    below: bool = False,
    paper: Literal["", "x", "y", "xy"] = "",
    **more: Any,
) -> Part:
    """A rectangle: the colours of its inside and of its edge."""
    return _given(
        {
            "type": "rect",
            "x0": x0,
            "x1": x1,
            "y0": y0,
            "y1": y1,
            "fillcolor": fill,
            "line": _given({"color": edge, "width": width}) or None,
            "layer": "below" if below else None,
            **_paper(paper),
        },
        more,
    )


def axis(
    title: Any = None,
    ends: Any = None,
    *,
    log: bool = False,
    fixed: bool = False,
    grid: bool = True,
    zero: bool = False,
    **more: Any,
) -> Part:
    """An axis.

    Args:
        ends: first and last value; powers of ten where it is logarithmic.
        fixed: nobody zooms along it.
        grid: whether lines cross the picture at its ticks.
        zero: a line marks 0.
    """
    settings = {
        "title": title,
        "range": ends,
        "type": "log" if log else None,
        "fixedrange": True if fixed else None,
        "showgrid": None if grid else False,
    }
    return _given(settings, ({"zeroline": True, "zerolinecolor": "@muted"} if zero else {}) | more)


def _hover(said: Hover) -> Part:
    if said is False:
        return {"hoverinfo": "skip"}
    return {} if said is None else {"hovertemplate": said if "<extra>" in said else said + EXTRA}


def _paper(axes: str) -> Part:
    return {f"{axis}ref": "paper" for axis in axes}


def _given(part: Part, more: Part | None = None) -> Part:
    return {key: value for key, value in part.items() if value is not None} | (more or {})
