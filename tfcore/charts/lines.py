"""Parts of line charts."""

from typing import Any

from numpy import ndarray


def line(x: ndarray, y: ndarray, name: str, colour: str, hover: str, **more: Any) -> dict[str, Any]:
    """A line trace, silent when `hover` is empty; `more` are further properties, `dash` and `width` of the line too."""
    tip = {"hovertemplate": hover + "<extra></extra>"} if hover else {"hoverinfo": "skip"}
    style = {"color": colour, "width": more.pop("width", 2), "dash": more.pop("dash", "solid")}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, "line": style, **tip, **more}


def upright(x: int | float) -> dict[str, Any]:
    """A dashed line from bottom to top at x."""
    return {
        "type": "line",
        "yref": "paper",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "line": {"color": "@muted", "width": 1, "dash": "dash"},
    }
