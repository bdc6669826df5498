"""Panels of the page on positions: schemes that add waves to each embedding."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.foundations.positions import experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore import positions
from tfcore.analysis.foundations import sinusoidal_positions
from tfcore.figures.foundations import positions as figures

table = cache.data(max_entries=32)(sinusoidal_positions.sinusoidal_table)
shift = cache.data(max_entries=32)(sinusoidal_positions.sinusoidal_shift)


def base_slider(key: str) -> float:
    """The base of the wavelengths on a logarithmic slider."""
    exponent = controls.slider("Base: 10 to the power of", key, 1.0, 6.0, 4.0, 0.1, format="%.1f")
    return float(10**exponent)


def sinusoidal() -> None:
    """The panel of the sinusoidal scheme."""
    st.markdown(
        "**Sinusoidal position embeddings: every position has its own vector of sines and cosines**, from a period of "
        "2π tokens to one below 2π · b, and a step of *k* is the same rotation everywhere."
    )
    page.try_this(
        {
            "a tiny model": {"length": 64, "d_model": 16, "pair": 1, "pair2": 4},
            "the paper's width": {"length": 256, "d_model": 512, "base10": 4.0, "pair": 16, "pair2": 64},
            "a short base": {"base10": 1.5},
            "far from the start": {"start": 900, "k": 40},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        d_model = controls.slider("Width d_model", "d_model", 8, 512, 128, 8)
        base = base_slider("base10")
        with page.more_settings():
            length = controls.slider("Length (positions)", "length", 16, 512, 128, 8)
            start = controls.slider("Starting point p of the dots", "start", 0, 1000, 40)
            first = controls.place("Pair of dimensions i", "pair", d_model // 2, 4)
            second = controls.place("and another", "pair2", d_model // 2, 16)
    result, pairs = table(length, d_model, base), (first, second)
    waves, shown = result.wavelengths, experiments.sinusoidal(result, pairs)
    periods = str(sinusoidal_positions.pair_periods(result, pairs))
    found = sinusoidal_positions.wavelength_range(waves, base)
    with right:
        figure(
            shown.figure,
            key="table",
            height=420,
            table=lambda: pd.DataFrame(result.table),
            alt=shown.alt,
            caption=f"Shape ({length}, {d_model}). One row is what is added to the token at that position; the framed "
            f"columns are the pairs {first} and {second}.",
        )
    left, right = st.columns(2, gap="medium")
    with left:
        figure(
            figures.pair_curves_figure(result, pairs),
            key="curves",
            height=280,
            table=lambda: _curves(result, pairs),
            alt=f"Sine and cosine. {periods}",
            caption=periods,
        )
    with right:
        wavelengths(waves, base, pairs)
    _shifts(length, d_model, base, start)
    page.what_to_see(
        "The left columns of the table change fast with the position, the right ones slowly. The product of two "
        "position vectors depends only on their distance, so the dots lie on the line wherever they start; and one "
        "matrix moves *every* position on by *k*: rotations of 2 by 2 along the diagonal."
    )
    made_table = made(sinusoidal_positions.sinusoidal_table, length, d_model, base)
    page.question(
        "The paper says the wavelengths go from 2π to 10000 · 2π. Does the last pair really get there?",
        f"Not quite: *i* stops at d/2 − 1, so {found.against_limit} Drag the width to 512 and it gets closer; at 8 it "
        "is far off.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.sinusoidal, made_table, pairs),
        formula=r"PE(p, 2i) = \sin\!\big(p / b^{2i/d}\big) \qquad PE(p, 2i{+}1) = \cos\!\big(p / b^{2i/d}\big)",
        code=(positions.sinusoidal, positions.shift_matrix),
        papers="Attention Is All You Need, section 3.5, arXiv:1706.03762",
    )


def wavelengths(waves: np.ndarray, base: float, marked: tuple[int, ...]) -> None:
    """The figure of all wavelengths, which RoPE shares."""
    found = str(sinusoidal_positions.wavelength_range(waves, base))
    figure(
        figures.wavelengths_figure(waves, base, marked),
        key="wavelengths",
        height=280,
        table=lambda: pd.DataFrame({"pair": range(len(waves)), "wavelength": waves}),
        alt=f"A straight line on a logarithmic axis: {found}",
        caption=found,
    )


def _curves(result: sinusoidal_positions.SinusoidalTable, pairs: tuple[int, int]) -> pd.DataFrame:
    return pd.DataFrame({f"dimension {d}": result.table[:, d] for pair in pairs for d in (2 * pair, 2 * pair + 1)})


def _shifts(length: int, d_model: int, base: float, start: int) -> None:
    """What a step of k does: the product by offset, and the matrix."""
    left, right = st.columns([1, 3], gap="medium")
    with left:
        st.markdown("**A step of k**")
        k = controls.slider("Offset k", "k", 0, 128, 5)
        result = shift(length, d_model, base, k, start)
        moved, found = (
            sinusoidal_positions.shift_error(result, k),
            sinusoidal_positions.shift_products(result, k, start),
        )
        st.metric("Largest error of $M_k$", moved.error_text, help="of PE(p + k) = M_k PE(p), over all p")
        st.metric("Line against dots", found.spread_text, help="largest difference between the starting points")
    products, matrix = right.columns(2, gap="medium")
    with products:
        figure(
            figures.products_figure(result, k, start),
            key="products",
            height=340,
            table=lambda: pd.DataFrame(result.products.T, columns=["from 0", "from p"]),
            alt=str(found),
            caption=str(found),
        )
    with matrix:
        part = f"; the first {figures.BLOCKS} rows and columns." if d_model > figures.BLOCKS else "."
        figure(
            figures.shift_figure(result),
            key="shift",
            height=340,
            table=lambda: pd.DataFrame(result.matrix),
            alt=str(moved),
            caption=f"M_k, shape ({d_model}, {d_model}){part}",
        )
