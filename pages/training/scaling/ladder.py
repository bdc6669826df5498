"""Panel of the page on scaling: our own models, the law fitted to the small ones, and its predictions."""

import pandas as pd
import streamlit as st

from pages.training.scaling import experiments
from pages.training.scaling.words import metrics
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.training import ladder_fit
from tfcore.analysis.training.ladder_fit import FEWEST, LadderFit
from tfcore.measures import scaling_laws
from tfcore.training.recipes.ladder_scaling import rungs, scaling

WRITTEN = 0  # the law as it was written down before the last size was trained


fitted = cache.data(max_entries=16)(experiments.fitted)


def panel() -> None:
    """The section."""
    count = len(fitted(None).sizes)
    options = [WRITTEN, *range(FEWEST, count)]
    page.try_this(
        {
            "as it was written down": {"sizes": WRITTEN},
            "from the smallest few": {"sizes": options[1] if len(options) > 1 else WRITTEN},
            "from all but the last": {"sizes": options[-1]},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        names = {WRITTEN: "as written down", **{k: f"the smallest {k}" for k in options[1:]}}
        sizes = controls.select("Law fitted to", "sizes", options, WRITTEN, names)
        with st.spinner("Fitting the law again"):
            found = fitted(sizes or None)
        off, exponents = ladder_fit.ladder_errors(found), ladder_fit.ladder_exponents(found.law)
        st.caption(f"{off.counts} {exponents.web}")
    with right:
        shown = experiments.rungs(found)
        figure(
            shown.figure,
            key="rungs",
            height=430,
            min_width=350,
            table=lambda: _table(found),
            alt=f"Held-out loss of our own models against their size, on the fitted law. {shown.alt}",
            caption="Curves: the law, one for each number of tokens. Dots were fitted, stars predicted. "
            + shown.caption,
        )
        predicted, measured, error = ladder_fit.largest_rung(found).numbers
        metrics(
            ("Predicted", predicted, "nats, the largest rung"),
            ("Then measured", measured, error),
            ("Predicted within", *off.numbers),
        )
        distances = experiments.residuals(found)
        figure(
            distances.figure,
            key="residuals",
            height=240,
            min_width=350,
            table=lambda: _table(found),
            alt=f"Measured over predicted loss of each rung. {distances.alt}",
            caption=distances.caption,
        )
    count_column = st.column_config.NumberColumn(format="localized")
    st.dataframe(
        _table(found), hide_index=True, height=240, column_config={"parameters": count_column, "tokens": count_column}
    )
    page.what_to_see(
        "All rungs have one architecture, one text and one tokenizer; only size and number of tokens differ. The "
        "recipe fits the law to all sizes but the last, writes down its prediction for that one, and only then trains "
        f"it: the stars are predictions, not fits. {exponents} Fit to fewer sizes and see how well a few small models "
        "extrapolate. N is without embeddings, D counts every token seen."
    )
    page.question(
        "The floor E of these models is not that of the published laws. Why?",
        "E estimates the entropy per token of the text as its tokenizer cuts it. Children's stories in 2,048 tokens "
        "are another text than the web in tens of thousands, so E, A and B are their own. With so few models E is "
        "uncertain too, as are A and α: fit to fewer sizes and watch them move.",
    )
    page.how_it_is_computed(
        page.experiment_of("The ladder", experiments.rungs, made(experiments.fitted, sizes or None)),
        page.experiment_of("The residuals", experiments.residuals, made(experiments.fitted, sizes or None)),
        formula=found.law.latex,
        code=(scaling_laws.fit_law, scaling_laws.Law, ladder_fit.as_written, rungs, scaling),
        papers=(
            "The form of the law and the fit by a Huber error of log L: arXiv:2203.15556, equations 2 and 3, section "
            "D.2"
        ),
    )


def _table(found: LadderFit) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "parameters": found.n.astype(int),
            "tokens": found.d.astype(int),
            "the law says": found.law_loss.round(4),
            "measured": found.loss.round(4),
            "off by, %": (100 * found.residual).round(2),
            "predicted": ["yes" if predicted else "" for predicted in found.predicted],
        }
    )
