"""Panels of the page on attention: why scores are divided by sqrt(d_k), and what becomes of the gradient if not."""

import math

import pandas as pd
import streamlit as st

from pages.foundations.attention import experiments as experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from tfcore.analysis.foundations import score_scale
from tfcore.analysis.foundations.score_scale import WIDTHS, GradientTheory, ProductSpread, Saturation
from tfcore.figures.foundations import score_scale as figures

SAMPLES = 2_000
spread = cache.data(max_entries=8)(score_scale.product_spread)
saturate = cache.data(max_entries=16)(score_scale.saturation)
theory = cache.data(max_entries=64)(score_scale.gradient_theory)


def _width_slider() -> int:
    """Which of the widths; the slider moves in powers of two."""
    at = controls.slider("d_k: 2 to the power of", "width", 0, len(WIDTHS) - 1, 6)
    st.metric("d_k", f"{WIDTHS[at]:,}")
    return at


def _seed_slider() -> int:
    return controls.slider("Draw number", "seed", 0, 20, 0, help="Another number draws other vectors.")


def products_panel() -> None:
    """Histograms of q . k, its variance beside d_k."""
    st.markdown(
        "**A longer sum spreads wider.** q · k adds up d_k products. If the entries of q and k have mean 0 and "
        "variance 1, each product does too, so the variance of the sum is d_k; dividing by √d_k brings it back to 1."
    )
    left, right = st.columns([1, 4], gap="medium")
    with left:
        at, seed = _width_slider(), _seed_slider()
        result = spread(SAMPLES, seed)
        width, variance = WIDTHS[at], float(result.variance[at])
        st.metric("Variance of q · k, measured", f"{variance:.4g}")
        st.metric("after ÷ √d_k", f"{variance / width:.3f}")
    with right:
        for place, scaled in zip(st.columns(2, gap="medium"), (False, True), strict=True):
            name = "q · k ÷ √d_k" if scaled else "q · k"
            unit = 1.0 if scaled else math.sqrt(width)
            measured, wanted = (variance / width, 1) if scaled else (variance, width)
            finding = f"{name} at d_k = {width:,}: variance {measured:.4g} measured, {wanted:,} in theory"
            with place:
                figure(
                    figures.products_figure(result, at, scaled=scaled),
                    key=f"products {scaled}",
                    height=280,
                    table=lambda u=unit: _histogram(result, at, u),
                    alt=f"{finding}. Histogram of {SAMPLES:,} pairs with the normal curve of that variance over it.",
                    caption=f"{SAMPLES:,} pairs. {finding}.",
                )
        figure(
            figures.variance_figure(result, at),
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
            alt=f"Variance of q · k against d_k from 1 to 1,024 on logarithmic axes: the marks lie on the line "
            f"variance = d_k ({result.variance[-1]:,.0f} at 1,024); after the division they lie at 1.",
            caption=f"Measured: {', '.join(f'{v:.4g}' for v in result.variance[::2])} at d_k = "
            f"{', '.join(f'{w:,}' for w in WIDTHS[::2])}.",
        )
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
        "tails (its excess kurtosis is 6 / d_k); sums of many products are normal."
    )
    page.source(score_scale.product_spread, score_scale.products_by_width)
    page.experiment(experiments.products, SAMPLES, seed, at)
    st.caption(
        "Attention Is All You Need, section 3.2.1 and footnote 4, arXiv:1706.03762. The first d_k numbers of the same "
        "vectors serve every d_k."
    )
    page.question(
        "Why divide by √d_k and not by d_k?",
        "The standard deviation grows like √d_k. Dividing by d_k would leave scores with variance 1 / d_k: in a wide "
        "head all of them would be close to 0 at the start, and the weights nearly uniform.",
    )


def _histogram(result: ProductSpread, at: int, unit: float) -> pd.DataFrame:
    """The bins of one histogram; `unit` is the standard deviation that theory expects."""
    edges = result.edges * unit
    return pd.DataFrame({"from": edges[:-1], "to": edges[1:], "density": result.density[at] / unit})


def softmax_panel() -> None:
    """Entropy, largest weight and gradient against d_k, without and with the division."""
    st.markdown(
        "**Large scores saturate the softmax.** Without the division one key takes nearly all the weight at random, "
        "before anything is learned, and the gradient through the softmax, $p_i(\\delta_{ij} - p_j)$, falls towards 0."
    )
    left, right = st.columns([1, 4], gap="medium")
    with left:
        at = _width_slider()
        n_keys = controls.slider("Number of keys", "keys", 2, 64, 16)
        seed = _seed_slider()
    with st.spinner("Drawing queries and keys"):
        result, known = saturate(n_keys, seed), theory(n_keys)
    with right:
        _weights(result, at)
        _gradient(result, known, at)
    page.try_this(
        {
            "two keys": {"keys": 2, "width": 6},
            "64 keys": {"keys": 64, "width": 6},
            "a narrow head: 4": {"width": 2},
            "a wide head: 1,024": {"width": 10},
        }
    )
    page.what_to_see(
        "Without the division (diamonds) entropy falls and the largest weight rises with d_k; with it (circles) both "
        "stay nearly where they are. Every mark of the gradient lies on p (1 − p), which goes to 0 as p nears 1. Its "
        "mean norm falls like 1 / √d_k, along the line of the theory: only queries whose two highest scores happen to "
        "be close still have a gradient."
    )
    page.source(
        score_scale.saturation, score_scale.softmax_jacobian, score_scale.measured_jacobian, score_scale.gradient_theory
    )
    page.experiment(experiments.gradient, n_keys, seed, at)
    st.caption(
        "Attention Is All You Need, section 3.2.1, arXiv:1706.03762. The marks are measured by automatic "
        "differentiation of torch's softmax; lines are theory."
    )
    page.question(
        "With two keys, how large can an entry of the gradient be at most, and where?",
        "1/4, where both weights are 1/2: the top of p (1 − p). The gradient is largest where the weights are even.",
    )


def _weights(result: Saturation, at: int) -> None:
    """Entropy and largest weight."""
    entropy, largest = (v[:, at].mean(-1) for v in (result.entropy, result.largest))
    one, two = st.columns(2, gap="medium")
    width, end = WIDTHS[at], f"at d_k = {WIDTHS[at]:,} with {result.n_keys} keys"
    with one:
        finding = f"Entropy {entropy[0]:.2f} bits without the division, {entropy[1]:.2f} with it, {end}"
        figure(
            figures.entropy_figure(result, at),
            key="entropy",
            height=300,
            table=lambda: _means(result),
            alt=f"{finding}; equal weights would have {math.log2(result.n_keys):.2f}.",
            caption=f"{finding}. Mean of {result.entropy.shape[-1]:,} queries; bands: 10 to 90 % of them.",
        )
    with two:
        finding = f"Largest weight {largest[0]:.2f} without the division, {largest[1]:.2f} with it"
        figure(
            figures.largest_figure(result, at),
            key="largest",
            height=300,
            table=lambda: _means(result),
            alt=f"{finding}, {end}.",
            caption=f"{finding}, at d_k = {width:,}.",
        )


def _gradient(result: Saturation, known: GradientTheory, at: int) -> None:
    """Steepest slope on p (1 - p), and the norm of the Jacobian."""
    steepest, norm = (v[:, at].mean(-1) for v in (result.steepest, result.gradient))
    one, two = st.columns(2, gap="medium")
    with one:
        finding = f"Steepest slope {steepest[0]:.3f} on average without the division, {steepest[1]:.3f} with it"
        figure(
            figures.curve_figure(result, at),
            key="curve",
            height=320,
            table=lambda: _slopes(result, at),
            alt=f"{finding}; all {result.largest.shape[-1]:,} marks of each kind lie on the curve p (1 − p).",
            caption=f"{finding}, at d_k = {WIDTHS[at]:,}.",
        )
    with two:
        expected = known.slope / math.sqrt(WIDTHS[at])
        finding = f"Norm {norm[0]:.4f} without the division, {norm[1]:.4f} with it"
        figure(
            figures.gradient_figure(result, known, at),
            key="gradient",
            height=320,
            table=lambda: _means(result),
            alt=f"{finding}, at d_k = {WIDTHS[at]:,}; theory for one winner: {expected:.4f}.",
            caption=f"{finding}. Theory: {known.flat:.3f} for equal weights, {known.slope:.3f} ÷ √d_k = "
            f"{expected:.4f} where one score is far ahead.",
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
