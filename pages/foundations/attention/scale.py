"""Panels of the page on attention: why scores are divided by sqrt(d_k), and what becomes of the gradient if not."""

import pandas as pd
import streamlit as st

from pages.foundations.attention import experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.foundations import score_scale
from tfcore.analysis.foundations.score_scale import (
    WIDTHS,
    GradientTheory,
    ProductSpread,
    Quantity,
    Saturation,
    product_variance,
)

SAMPLES = 2_000  # pairs of vectors
spread = cache.data(max_entries=8)(score_scale.product_spread)
saturate = cache.data(max_entries=16)(score_scale.saturation)
theory = cache.data(max_entries=64)(score_scale.gradient_theory)

# of a quantity: key and height of its figure, and what its caption adds
FIGURES: dict[Quantity, tuple[str, int, str]] = {
    "entropy": ("entropy", 300, " Bands: 10 to 90 % of them."),
    "largest": ("largest", 300, ""),
    "steepest": ("curve", 320, " The line is p (1 − p)."),
    "gradient": ("gradient", 320, ""),
}


def _width_slider() -> int:
    """Which of the widths; the slider moves in powers of two."""
    at = controls.place("d_k: 2 to the power of", "width", len(WIDTHS), 6)
    st.metric("d_k", f"{WIDTHS[at]:,}")
    return at


def _seed_slider() -> int:
    return controls.slider("Draw number", "seed", 0, 20, 0, help="Another number draws other vectors.")


def products_panel() -> None:
    """Histograms of q . k, its variance beside d_k."""
    st.markdown(
        "**A longer sum spreads wider.** q · k adds up d_k products. If the entries of q and k are independent, with "
        "mean 0 and variance 1, each product has these too, so the variance of the sum is d_k; dividing by √d_k "
        "brings it back to 1."
    )
    tries = st.container()
    left, right = st.columns([1, 4], gap="medium")
    with left:
        at, seed = _width_slider(), _seed_slider()
        result = spread(SAMPLES, seed)
        st.metric("Variance of q · k, measured", product_variance(result, at, divided=False).measured_text)
        st.metric("after ÷ √d_k", product_variance(result, at, divided=True).measured_text)
    with right:
        for place, divided in zip(st.columns(2, gap="medium"), (False, True), strict=True):
            shown = experiments.histogram(result, at, divided)
            with place:
                figure(
                    shown.figure,
                    key=f"products {divided}",
                    height=280,
                    table=lambda one=divided: _histogram(result, at, one),
                    alt=f"Histogram with the normal curve of the variance in theory over it: {shown.alt}",
                    caption=shown.caption,
                )
        shown = experiments.products(result, at)
        figure(
            shown.figure,
            key="variance",
            height=300,
            table=lambda: pd.DataFrame(
                {
                    "d_k": result.widths,
                    "variance": result.variance,
                    "divided": result.variance / result.widths,
                    "kurtosis": result.kurtosis,
                }
            ),
            alt="Variance of q · k against d_k from 1 to 1,024 on logarithmic axes, with the line variance = d_k and, "
            f"after the division, the line at 1. {shown.alt}",
            caption=shown.caption,
        )
    with tries:
        page.try_this(
            {
                "one number": {"width": 0},
                "a small head: 64": {"width": 6},
                "a wide head: 1,024": {"width": 10},
                "draw again": {"seed": seed % 20 + 1},
            }
        )
    page.what_to_see(
        "Move d_k: the left histogram spreads like √d_k, the right one stays. The normal curve is drawn from the "
        "variance alone, not fitted. At d_k = 1 the histogram is not normal at all, but sharply peaked with long "
        "tails (its excess kurtosis is 6 / d_k); sums of many products are nearly normal."
    )
    page.question(
        "Why divide by √d_k and not by d_k?",
        "The standard deviation grows like √d_k. Dividing by d_k would leave scores with variance 1 / d_k: in a wide "
        "head all of them would be close to 0 at the start, and the weights nearly uniform.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.products, made(score_scale.product_spread, SAMPLES, seed), at),
        code=(score_scale.product_spread, score_scale.products_by_width),
        papers=(
            "Attention Is All You Need, section 3.2.1 and footnote 4, arXiv:1706.03762. The first d_k numbers of the "
            "same vectors serve every d_k."
        ),
    )


def _histogram(result: ProductSpread, at: int, divided: bool) -> pd.DataFrame:
    """The bins of one histogram, which are kept in units of sqrt(d_k)."""
    unit = 1.0 if divided else float(result.widths[at]) ** 0.5
    edges = result.edges * unit
    return pd.DataFrame({"from": edges[:-1], "to": edges[1:], "density": result.density[at] / unit})


def softmax_panel() -> None:
    """Entropy, largest weight and gradient against d_k, without and with the division."""
    st.markdown(
        "**Large scores saturate the softmax.** In a wide head without the division one key takes nearly all the "
        "weight at random, before anything is learned, and the gradient through the softmax, $p_i(\\delta_{ij} - "
        "p_j)$, falls towards 0."
    )
    page.try_this(
        {
            "two keys": {"keys": 2, "width": 6},
            "64 keys": {"keys": 64, "width": 6},
            "a narrow head: 4": {"width": 2},
            "a wide head: 1,024": {"width": 10},
        }
    )
    left, right = st.columns([1, 4], gap="medium")
    with left:
        at = _width_slider()
        n_keys = controls.slider("Number of keys", "keys", 2, 64, 16)
        seed = _seed_slider()
    with st.spinner("Drawing queries and keys"):
        result, known = saturate(n_keys, seed), theory(n_keys)
    with right:
        rows: tuple[tuple[Quantity, Quantity], ...] = (("entropy", "largest"), ("steepest", "gradient"))
        for row in rows:
            for place, quantity in zip(st.columns(2, gap="medium"), row, strict=True):
                with place:
                    _quantity(result, known, quantity, at)
    page.what_to_see(
        "Without the division (diamonds) entropy falls and the largest weight rises with d_k; with it (circles) both "
        "stay nearly where they are. Every mark of the gradient lies on p (1 − p), which goes to 0 as p nears 1. Its "
        "mean norm follows the line of the theory, which in wide heads falls like 1 / √d_k: only queries whose two "
        "highest scores happen to be close still have a gradient."
    )
    page.question(
        "With two keys, how large can an entry of the gradient be at most, and where?",
        "1/4, where both weights are 1/2: the top of p (1 − p). The gradient is largest where the weights are even.",
    )
    page.how_it_is_computed(
        page.experiment(
            experiments.gradient,
            made(score_scale.saturation, n_keys, seed),
            made(score_scale.gradient_theory, n_keys),
            at,
        ),
        code=(
            score_scale.saturation,
            score_scale.softmax_jacobian,
            score_scale.measured_jacobian,
            score_scale.gradient_theory,
        ),
        papers=(
            "Attention Is All You Need, section 3.2.1, arXiv:1706.03762. The marks are measured by automatic "
            "differentiation of torch's softmax; lines are theory."
        ),
    )


def _quantity(result: Saturation, known: GradientTheory, quantity: Quantity, at: int) -> None:
    """One quantity of the softmax: against d_k, or the slopes on p (1 - p)."""
    if quantity == "gradient":
        shown = experiments.gradient(result, known, at)
    else:
        shown = experiments.weights(result, quantity, at)
    figure(
        shown.figure,
        key=FIGURES[quantity][0],
        height=FIGURES[quantity][1],
        table=lambda: _slopes(result, at) if quantity == "steepest" else _means(result),
        alt=shown.caption,
        caption=f"{shown.caption}{FIGURES[quantity][2]}",
    )


def _slopes(result: Saturation, at: int) -> pd.DataFrame:
    """One row per query: its largest weight and steepest slope, without and with the division."""
    rows = {"largest weight": result.largest, "steepest": result.steepest}
    ends = ("", ", divided")
    return pd.DataFrame({name + ends[i]: values[i, at] for name, values in rows.items() for i in (0, 1)})


def _means(result: Saturation) -> pd.DataFrame:
    """The means behind the figures against d_k, without and with the division."""
    columns = {"d_k": result.widths}
    for name, values in (("entropy", result.entropy), ("largest weight", result.largest), ("norm", result.gradient)):
        columns |= {name: values[0].mean(-1), f"{name}, divided": values[1].mean(-1)}
    return pd.DataFrame(columns)
