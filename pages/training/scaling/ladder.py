"""Panel of the page on scaling: our own models, the law fitted to the small ones, and its predictions."""

import json
from typing import Any

import pandas as pd
import streamlit as st

from pages.training.scaling import experiments as experiments
from pages.training.scaling.words import metrics
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from tfcore.analysis.quantities import round_count
from tfcore.analysis.training import scaling_laws
from tfcore.analysis.training.scaling_laws import FEWEST, LAWS, LadderFit, Law
from tfcore.figures.training import ladder as figures
from tfcore.training import ladder
from tfcore.training.recipes.ladder_scaling import rungs, scaling

WRITTEN = 0  # the law as it was written down before the last size was trained


def rows() -> list[dict[str, Any]]:
    """The rungs of the ladder that ships, as its recipe wrote them down."""
    return ladder.read_table(ladder.SHIPPED / "scaling.csv")


def written() -> dict[str, Any]:
    """The law and its predictions, from before the last size was trained."""
    content: dict[str, Any] = json.loads((ladder.SHIPPED / "scaling.json").read_text("utf-8"))
    return content


@cache.data(max_entries=16)
def fit(sizes: int) -> LadderFit:
    """The law fitted to so many sizes, or as it was written down."""
    content = written()
    law = Law(**content["law"])
    if sizes == WRITTEN:
        return scaling_laws.as_written(rows(), law, content["predicted"])
    return scaling_laws.refitted(rows(), sizes, law)


def panel() -> None:
    """The section."""
    first = fit(WRITTEN)
    count = len(first.sizes)
    options = [WRITTEN, *range(FEWEST, count)]
    left, right = st.columns([1, 3], gap="medium")
    with left:
        names = {WRITTEN: "as written down", **{k: f"the smallest {k}" for k in options[1:]}}
        sizes = controls.select("Law fitted to", "sizes", options, WRITTEN, names)
        with st.spinner("Fitting the law again"):
            found = fit(sizes)
        largest = max(range(len(found.n)), key=lambda i: (found.n[i], found.d[i]))
        st.caption(
            f"{len(found.n)} models, {count} sizes; fitted to {int((~found.foretold).sum())}, predicted "
            f"{int(found.foretold.sum())}. Exponents of the refit on web text: {LAWS['refit'].alpha:.2f}, "
            f"{LAWS['refit'].beta:.2f}."
        )
    off = abs(found.residual)
    worst = float(off[found.foretold].max())
    words = (
        f"the largest, {round_count(found.n[largest])} parameters on {round_count(found.d[largest])} tokens, was "
        f"predicted at {found.said[largest]:.4f} nats and came out at {found.loss[largest]:.4f}"
    )
    with right:
        st.latex(_law(found.law))
        figure(
            figures.ladder_figure(found, 430),
            key="rungs",
            height=430,
            min_width=360,
            table=lambda: _table(found),
            alt=f"Held-out loss of {len(found.n)} models of our own against their size, on the fitted law: {words}.",
            caption=f"Curves: the law, one for each number of tokens. Dots were fitted, stars predicted: {words}.",
        )
        metrics(
            ("Predicted", f"{found.said[largest]:.4f}", "nats, the largest rung"),
            ("Then measured", f"{found.loss[largest]:.4f}", f"{100 * found.residual[largest]:+.2f} %"),
            ("Predicted within", f"{worst:.2%}", f"{int(found.foretold.sum())} of {len(found.n)} models"),
        )
        figure(
            figures.residuals_figure(found, 240),
            key="residuals",
            height=240,
            min_width=360,
            table=lambda: _table(found),
            alt=f"Measured over predicted loss of each rung: fitted within {off[~found.foretold].max():.2%}, predicted "
            f"within {worst:.2%}.",
            caption=f"Residuals: fitted rungs lie within {off[~found.foretold].max():.2%} of the law, predicted ones "
            f"within {worst:.2%}.",
        )
    count_column = st.column_config.NumberColumn(format="localized")
    st.dataframe(
        _table(found), hide_index=True, height=240, column_config={"parameters": count_column, "tokens": count_column}
    )
    page.try_this(
        {
            "as it was written down": {"sizes": WRITTEN},
            "from the smallest few": {"sizes": options[1] if len(options) > 1 else WRITTEN},
            "from all but the last": {"sizes": options[-1]},
        }
    )
    page.what_to_see(
        "All rungs have one architecture, one text and one tokenizer; only size and number of tokens differ. The "
        "recipe fits the law to all sizes but the last, writes down its prediction for that one, and only then trains "
        f"it: the stars are predictions, not fits. The exponents, {found.law.alpha:.2f} for N and {found.law.beta:.2f} "
        "for D, are not those of web text. Fit to fewer sizes and see how well a few small models extrapolate. N is "
        "without embeddings, D counts every token seen."
    )
    page.source(scaling_laws.fit_law, scaling_laws.Law, scaling_laws.as_written, rungs, scaling)
    page.experiment(experiments.ladder, None if sizes == WRITTEN else sizes)
    st.caption(
        "The form of the law and the fit by a Huber error of log L: arXiv:2203.15556, equations 2 and 3, section D.2"
    )
    page.question(
        "The floor E of these models is not that of the published laws. Why?",
        "E estimates the entropy per token of the text as its tokenizer cuts it. Children's stories in 2,048 tokens "
        "are another text than the web in tens of thousands, so E, A and B are their own. With so few models, E is "
        "also the least certain of the five: fit to fewer sizes and watch it move.",
    )


def _law(law: Law) -> str:
    return (
        rf"L(N, D) = {law.floor:.2f} + \frac{{{_number(law.a)}}}{{N^{{{law.alpha:.2f}}}}} + "
        rf"\frac{{{_number(law.b)}}}{{D^{{{law.beta:.2f}}}}}"
    )


def _number(value: float) -> str:
    """12.3, 9,951 or 1.23 · 10⁷, as LaTeX."""
    if 1e-2 <= value < 1e5:
        return f"{value:,.0f}".replace(",", "{,}") if value >= 100 else f"{value:.3g}"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"


def _table(found: LadderFit) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "parameters": found.n.astype(int),
            "tokens": found.d.astype(int),
            "the law says": found.said.round(4),
            "measured": found.loss.round(4),
            "off by, %": (100 * found.residual).round(2),
            "predicted": ["yes" if foretold else "" for foretold in found.foretold],
        }
    )
