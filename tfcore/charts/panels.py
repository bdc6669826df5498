"""Small charts side by side in one figure: the room that each takes, and its heading."""

from typing import Any

PANEL_GAP = 0.055  # between two panels, as a share of the width


def column_domain(column: int, columns: int, gap: float = PANEL_GAP) -> list[float]:
    """The part of the width that one of some panels takes."""
    width = (1 - gap * (columns - 1)) / columns
    left = column * (width + gap)
    return [round(left, 4), round(left + width, 4)]


def heading(x: float, y: float, words: str, *, bold: str = "", colour: str = "@ink") -> dict[str, Any]:
    """Words above (or below) a panel, from its left edge on."""
    return {
        "xref": "paper",
        "yref": "paper",
        "x": x,
        "xanchor": "left",
        "y": y,
        "yanchor": "bottom",
        "text": f"<b>{bold}</b>{words}" if bold else words,
        "showarrow": False,
        "align": "left",
        "font": {"size": 13 if colour == "@ink" else 12, "color": colour},
    }
