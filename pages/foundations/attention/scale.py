"""Sections of the page on attention: why scores are divided by sqrt(d_k), and what becomes of the gradient if not."""

import streamlit as st

from pages.ui import controls
from pages.ui.frame import panel
from tfcore.measures.product_spread import WIDTHS
from tfcore.views.foundations import attention as views


def _width_slider() -> int:
    """Which of the widths; the slider moves in powers of two."""
    at = controls.place("d_k: 2 to the power of", "width", len(WIDTHS), 6)
    st.metric("d_k", f"{WIDTHS[at]:,}")
    return at


def _seed_slider() -> int:
    return controls.slider("Draw number", "seed", 0, 20, 0, help="Another number draws other vectors.")


def scale() -> None:
    """Histograms of q . k, its variance beside d_k."""
    st.markdown(
        "**A longer sum spreads wider.** q · k adds up d_k products. If the entries of q and k are independent, with "
        "mean 0 and variance 1, each product has these too, so the variance of the sum is d_k; dividing by √d_k "
        "brings it back to 1."
    )
    with panel((1, 4)) as p:
        with p.controls:
            at, seed = _width_slider(), _seed_slider()
            plain, divided = views.products(at, seed), views.divided_products(at, seed)
            st.metric("Variance of q · k, measured", plain.result.measured_text)
            st.metric("after ÷ √d_k", divided.result.measured_text)
        with p.picture:
            for place, shown in zip(st.columns(2, gap="medium"), (plain, divided), strict=True):
                with place:
                    p.show(shown)
            p.show(views.variance(at, seed))
        p.examples(
            {
                "one number": {"width": 0},
                "a small head: 64": {"width": 6},
                "a wide head: 1,024": {"width": 10},
                "draw again": {"seed": seed % 20 + 1},
            }
        )
        p.what_to_see(
            "Move d_k: the left histogram spreads like √d_k, the right one stays. The normal curve is drawn from the "
            "variance alone, not fitted. At d_k = 1 the histogram is not normal at all, but sharply peaked with long "
            "tails (its excess kurtosis is 6 / d_k); sums of many products are nearly normal."
        )
        p.question(
            "Why divide by √d_k and not by d_k?",
            "The standard deviation grows like √d_k. Dividing by d_k would leave scores with variance 1 / d_k: in a "
            "wide head all of them would be close to 0 at the start, and the weights nearly uniform.",
        )


def gradient() -> None:
    """Entropy, largest weight and gradient against d_k, without and with the division."""
    st.markdown(
        "**Large scores saturate the softmax.** In a wide head without the division one key takes nearly all the "
        "weight at random, before anything is learned, and the gradient through the softmax, $p_i(\\delta_{ij} - "
        "p_j)$, falls towards 0."
    )
    with panel((1, 4)) as p:
        p.examples(
            {
                "two keys": {"keys": 2, "width": 6},
                "64 keys": {"keys": 64, "width": 6},
                "a narrow head: 4": {"width": 2},
                "a wide head: 1,024": {"width": 10},
            }
        )
        with p.controls:
            at = _width_slider()
            n_keys = controls.slider("Number of keys", "keys", 2, 64, 16)
            seed = _seed_slider()
        given = at, n_keys, seed
        with st.spinner("Drawing queries and keys"):
            rows = ((views.entropy(*given), views.largest(*given)), (views.slopes(*given), views.gradient(*given)))
        with p.picture:
            for row in rows:
                for place, shown in zip(st.columns(2, gap="medium"), row, strict=True):
                    with place:
                        p.show(shown)
        p.what_to_see(
            "Without the division (diamonds) entropy falls and the largest weight rises with d_k; with it (circles) "
            "both stay nearly where they are. Every mark of the gradient lies on p (1 − p), which goes to 0 as p "
            "nears 1. Its mean norm follows the line of the theory, which in wide heads falls like 1 / √d_k: only "
            "queries whose two highest scores happen to be close still have a gradient."
        )
        p.question(
            "With two keys, how large can an entry of the gradient be at most, and where?",
            "1/4, where both weights are 1/2: the top of p (1 − p). The gradient is largest where the weights are "
            "even.",
        )
