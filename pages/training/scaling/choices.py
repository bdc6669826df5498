"""Shared by the sections of the page on scaling: the laws' sources, sliders over powers of ten, rows of numbers."""

import streamlit as st

from pages.ui import controls
from tfcore.measures.scaling_laws import LAWS, LawName
from tfcore.views.training import scaling as views

WHENCE: dict[LawName, str] = {
    "refit": "Besiroglu et al., arXiv:2404.10102: the third approach of Chinchilla, fitted again to its own points.",
    "printed": "Hoffmann et al., arXiv:2203.15556, equation 10, with α and β rounded to two digits.",
    "unrounded": "The same with the digits of the paper's TeX source, as arXiv:2404.10102 gives them.",
}
WIDTH = 158  # of a number, in pixels


def choose_law() -> LawName:
    """One of the laws that are sums."""
    name = controls.select("Constants", "law", list(LAWS), "refit", {law: views.NAMES[law] for law in LAWS})
    st.caption(WHENCE[name])
    return name


def ten_to(label: str, key: str, low: float, high: float, default: float, step: float = 0.02) -> float:
    """A logarithmic slider: its place is the power of ten."""
    return float(10 ** controls.slider(f"{label}: 10 to the power of", key, low, high, default, step, format="%.2f"))


def metrics(*numbers: tuple[str, ...]) -> None:
    """Numbers in a row that wraps: label, value, and if need be a quiet note under it."""
    with st.container(horizontal=True):
        for label, value, *note in numbers:
            quiet = note[0] if note else None
            st.metric(label, value, quiet, delta_color="off", delta_arrow="off", width=WIDTH)
