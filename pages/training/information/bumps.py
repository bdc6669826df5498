"""Panel of the page on information: one bump fitted to two by either KL, which is where the two differ most."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.training.information import experiments
from pages.ui import cache, controls, fragments, page
from pages.ui.components.figure import Event, figure
from pages.ui.program import made
from tfcore.analysis.training import kl_fit as analysis
from tfcore.analysis.training.kl_fit import KLFit
from tfcore.figures.training.kl_fit import WORST

TRY: dict[str, dict[str, Any]] = {
    "two bumps far apart": {"distance": 5.0, "balance": 0.4, "width": 0.7},
    "so near that they are one": {"distance": 1.4, "balance": 0.5, "width": 0.8},
    "a small bump far off": {"distance": 7.0, "balance": 0.05, "width": 0.6},
    "mine on the left bump": {"distance": 5.0, "balance": 0.4, "width": 0.7, "mean": -2.5, "own": 0.7},
    "mine in the middle, wide": {"distance": 5.0, "balance": 0.4, "width": 0.7, "mean": -0.5, "own": 2.55},
}


MEANS = (-6.0, 6.0, 0.1)  # ends and step of the sliders of one's own bump
WIDTHS = (0.25, 5.0, 0.05)

fitted = cache.data(max_entries=128)(analysis.fit_bumps)


def panel() -> None:
    """Sliders for the two bumps and for one's own, the curves, the maps and the numbers."""
    page.try_this(TRY)
    latest = page.Latest()
    _live(latest)
    page.what_to_see(
        "P is a mixture of two bumps, Q a single one. **KL(P‖Q)** is weighted by P: wherever P is large, Q must not be "
        "near 0, so the best Q (blue) covers both bumps, with the mean and the standard deviation of P (mean-seeking). "
        "**KL(Q‖P)** is weighted by Q: wherever Q is large, P must not be near 0, so with bumps far apart the best Q "
        "(orange) picks one of them (mode-seeking). Below, pale means a small divergence; rings mark the minima. Click "
        "a map to put your own bump there."
    )
    page.question(
        "A small model learns from texts of two kinds that it cannot tell apart well. What will it write?",
        "With the usual loss, KL(P‖Q), it must give some probability to all that occurs, so a model that is too small "
        "also spreads over what lies between, and generates texts of neither kind. With KL(Q‖P) it would keep to one "
        "kind and generate that well. Both fail, in different ways.",
    )
    page.how_it_is_computed(
        latest,
        formula=(
            r"q_{\text{cover}} = \arg\min_q \mathrm{KL}(P \,\|\, Q) = \arg\min_q \sum_x p \log_2 \tfrac{p}{q}, \qquad "
            r"q_{\text{pick}} = \arg\min_q \mathrm{KL}(Q \,\|\, P) = \arg\min_q \sum_x q \log_2 \tfrac{q}{p}"
        ),
        code=(analysis.divergences, analysis.fit_bumps, analysis.refined),
        papers=(
            "Mean-seeking and mode-seeking fits: Bishop, Pattern Recognition and Machine Learning, section 10.1.2. "
            "Training on a text minimises KL(P‖Q), with P the text; a student that learns by KL(Q‖P) on what it writes "
            "itself: arXiv:2306.08543, section 2. The grid has 241 points from −12 to 12, and Q is a bump on that grid."
        ),
    )


@fragments.fragment
def _live(latest: page.Latest) -> None:
    left, right = st.columns([1, 2], gap="large")
    with left:
        distance = controls.slider("Distance of the two bumps", "distance", 0.0, 8.0, 5.0, 0.2, format="%.1f")
        balance = controls.slider("Share of the right bump", "balance", 0.05, 0.95, 0.4, 0.05, format="%.2f")
        mean = controls.slider("Mean of your bump", "mean", *MEANS[:2], 1.0, MEANS[2], format="%.1f")
        with page.more_settings():
            width = controls.slider("Width of each bump", "width", 0.4, 1.5, 0.7, 0.1, format="%.1f")
            own_width = controls.slider("Width of your bump", "own", *WIDTHS[:2], 1.5, WIDTHS[2], format="%.2f")
    given = distance, balance, width
    result = fitted(*given)
    curves = experiments.bumps(result, mean, own_width)
    with right:
        figure(
            curves.figure,
            key="bumps",
            height=330,
            table=lambda: pd.DataFrame({"x": result.x, "p": result.p}),
            alt=f"Two bumps, and one fitted to them by each KL. {curves.alt}",
            caption=curves.alt,
        )
    own = analysis.fit_of(result.p, result.x, mean, own_width)
    st.dataframe(pd.DataFrame(analysis.fit_table(result, own)), hide_index=True)
    maps = experiments.maps(result, mean, own_width)
    figure(
        maps.figure,
        key="maps",
        height=340,
        min_width=620,
        on_click=_take,
        table=lambda: _map_rows(result),
        alt=f"Maps of both divergences: {maps.alt}",
        caption=f"Maps of shape (width, mean) = {result.forward.shape}, in bits, up to {WORST}. Rings: the minima. "
        f"Cross: yours. {maps.caption}",
    )
    latest.offer(experiments.bumps, made(analysis.fit_bumps, *given), mean, own_width)


def _take(event: Event) -> None:
    """A click on a map sets one's own bump."""
    x, y = event["x"], event["y"]
    if isinstance(x, int | float) and isinstance(y, int | float):
        controls.set_values(mean=on_slider(float(x), *MEANS), own=on_slider(float(y), *WIDTHS))


def on_slider(value: float, low: float, high: float, step: float) -> float:
    """The value of a slider nearest to a number."""
    return round(low + step * round((min(max(value, low), high) - low) / step), 2)


def _map_rows(result: KLFit) -> pd.DataFrame:
    rows = pd.DataFrame(result.forward, index=result.widths, columns=result.means).stack()
    reverse = pd.DataFrame(result.reverse, index=result.widths, columns=result.means).stack()
    named = pd.DataFrame({"KL(P||Q)": rows, "KL(Q||P)": reverse})
    return named.rename_axis(["width", "mean"]).reset_index()
