"""Numbers as the panels on long context write them."""

from typing import Any

import streamlit as st


def size(count: float, of: str = "B") -> str:
    """134.2 MB, 1.0 TFLOP: bytes or operations in few digits, decimal units."""
    for unit, letter in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= unit:
            return f"{count / unit:,.1f} {letter}{of}"
    return f"{count:,.0f} {of}"


def metric(place: Any, label: str, value: str, note: str, hint: str | None = None) -> None:
    """A number with a quiet note under it; `place` is a column, or `st` itself."""
    (place or st).metric(label, value, note, delta_color="off", delta_arrow="off", help=hint)
