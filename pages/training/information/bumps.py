"""Panel of the page on information: one bump fitted to two by either KL, which is where the two differ most."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.training.information import experiments as experiments
from pages.ui import cache, controls, fragments, page
from pages.ui.components.figure import Event, figure
from tfcore.analysis.training import bump_fit as analysis
from tfcore.analysis.training.bump_fit import BumpFit, Fit
from tfcore.figures.training import bump_fit as figures

TRY: dict[str, dict[str, Any]] = {
    "two bumps far apart": {"distance": 5.0, "balance": 0.4, "width": 0.7},
    "so near that they are one": {"distance": 1.4, "balance": 0.5, "width": 0.8},
    "a small bump far off": {"distance": 7.0, "balance": 0.05, "width": 0.6},
    "mine on the left bump": {"distance": 5.0, "balance": 0.4, "width": 0.7, "mean": -2.5, "own": 0.7},
    "mine in the middle, wide": {"distance": 5.0, "balance": 0.4, "width": 0.7, "mean": -0.5, "own": 2.55},
}


@cache.data(max_entries=128)
def fitted(distance: float, balance: float, width: float) -> BumpFit:
    return analysis.fit_bumps(distance, balance, width)


def panel() -> None:
    """Sliders for the two bumps and for one's own, the curves, the maps and the numbers."""
    st.latex(
        r"q_{\text{cover}} = \arg\min_q \mathrm{KL}(P \,\|\, Q) = \arg\min_q \sum_x p \log_2 \tfrac{p}{q}, \qquad "
        r"q_{\text{pick}} = \arg\min_q \mathrm{KL}(Q \,\|\, P) = \arg\min_q \sum_x q \log_2 \tfrac{q}{p}"
    )
    page.try_this(TRY)
    _live()
    page.what_to_see(
        "P is a mixture of two bumps, Q a single one. **KL(P‖Q)** is weighted by P: wherever P is large, Q must not be "
        "near 0, so the best Q (blue) covers both bumps, with the mean and the standard deviation of P (mean-seeking). "
        "**KL(Q‖P)** is weighted by Q: wherever Q is large, P must not be near 0, so with bumps far apart the best Q "
        "(orange) picks one of them (mode-seeking). Below, pale means a small divergence; rings mark the minima. Click "
        "a map to put your own bump there."
    )
    page.source(analysis.divergences, analysis.fit_bumps, analysis.refined)
    st.caption(
        "Mean-seeking and mode-seeking fits: Bishop, Pattern Recognition and Machine Learning, section 10.1.2. "
        "Training on a text minimises KL(P‖Q), with P the text; a student that learns by KL(Q‖P) on what it writes "
        "itself: arXiv:2306.08543, section 2. The grid has 241 points from −12 to 12, and Q is a bump on that grid."
    )
    page.question(
        "A small model learns from texts of two kinds that it cannot tell apart well. What will it write?",
        "With the usual loss, KL(P‖Q), it must give some probability to all that occurs, so a model that is too small "
        "also spreads over what lies between, and generates texts of neither kind. With KL(Q‖P) it would keep to one "
        "kind and generate that well. Both fail, in different ways.",
    )


@fragments.fragment
def _live() -> None:
    left, right = st.columns([1, 2], gap="large")
    with left:
        distance = controls.slider("Distance of the two bumps", "distance", 0.0, 8.0, 5.0, 0.2, format="%.1f")
        balance = controls.slider("Share of the right bump", "balance", 0.05, 0.95, 0.4, 0.05, format="%.2f")
        width = controls.slider("Width of each bump", "width", 0.4, 1.5, 0.7, 0.1, format="%.1f")
        mean = controls.slider("Mean of your bump", "mean", -6.0, 6.0, 1.0, 0.1, format="%.1f")
        own_width = controls.slider("Width of your bump", "own", 0.25, 5.0, 1.5, 0.05, format="%.2f")
    result = fitted(distance, balance, width)
    own = analysis.cost(result.p, result.x, mean, own_width)
    cover, pick = result.covering, result.picking[0]
    finding = (
        f"P has mean {result.mean:.2f} and standard deviation {result.deviation:.2f}. Least KL(P‖Q): mean "
        f"{cover.mean:.2f}, width {cover.width:.2f}. Least KL(Q‖P): mean {pick.mean:.2f}, width {pick.width:.2f}."
    ).replace(" -", " −")
    with right:
        figure(
            figures.curves_figure(result, own, 330),
            key="bumps",
            height=330,
            table=lambda: pd.DataFrame({"x": result.x, "p": result.p}),
            alt=f"Two bumps, and one fitted to them by each KL. {finding}",
            caption=finding,
        )
    st.dataframe(_rows(result, own), hide_index=True)
    figure(
        figures.maps_figure(result, own, 340),
        key="maps",
        height=340,
        min_width=620,
        on_click=_take,
        table=lambda: _map_rows(result),
        alt=f"Maps of both divergences: KL(P‖Q) is least, {cover.forward:.3f} bits, at mean {cover.mean:.2f}; KL(Q‖P) "
        f"has {len(result.picking)} local minima, the lowest with {pick.reverse:.3f} bits at mean {pick.mean:.2f}.",
        caption=f"Maps of shape (width, mean) = {result.forward.shape}, in bits, up to {figures.WORST:g}. Rings: "
        f"{len(result.picking)} of KL(Q‖P), one of KL(P‖Q). Cross: yours.",
    )
    page.experiment(experiments.bumps, distance, balance, width, mean, own_width)


def _take(event: Event) -> None:
    """A click on a map sets one's own bump."""
    x, y = event["x"], event["y"]
    if isinstance(x, int | float) and isinstance(y, int | float):
        controls.set_values(mean=round(min(max(float(x), -6.0), 6.0), 1), own=_on_grid(float(y)))


def _on_grid(width: float) -> float:
    """The place of the slider nearest to a width."""
    return round(0.25 + 0.05 * round((min(max(width, 0.25), 5.0) - 0.25) / 0.05), 2)


def _rows(result: BumpFit, own: Fit) -> pd.DataFrame:
    others = [("another minimum of KL(Q‖P)", fit) for fit in result.picking[1:]]
    named = [
        ("covers: least KL(P‖Q)", result.covering),
        ("picks: least KL(Q‖P)", result.picking[0]),
        *others,
        ("yours", own),
    ]
    return pd.DataFrame(
        {
            "bump": [name for name, _ in named],
            "mean": [f"{fit.mean:.3f}" for _, fit in named],
            "width": [f"{fit.width:.3f}" for _, fit in named],
            "KL(P‖Q), bits": [f"{fit.forward:.3f}" for _, fit in named],
            "KL(Q‖P), bits": [f"{fit.reverse:.3f}" for _, fit in named],
        }
    )


def _map_rows(result: BumpFit) -> pd.DataFrame:
    rows = pd.DataFrame(result.forward, index=result.widths, columns=result.means).stack()
    reverse = pd.DataFrame(result.reverse, index=result.widths, columns=result.means).stack()
    named = pd.DataFrame({"KL(P||Q)": rows, "KL(Q||P)": reverse})
    return named.rename_axis(["width", "mean"]).reset_index()
