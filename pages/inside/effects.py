"""What the pages of this chapter show of an edit: the next token's probabilities before and after."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.reading import Reading
from pages.ui import cache, text
from pages.ui.components.figure import figure
from tfcore.analysis.inside import interventions
from tfcore.analysis.inside.interventions import DifferenceChange, PredictionChange
from tfcore.charts.before_after import before_after
from tfcore.measures.interventions import Effect, compared_tokens

SHOWN = 6  # tokens most probable before, and as many after


def prediction(
    reading: Reading, position: int, found: Effect, names: tuple[str, str], token: int, against: int | None = None
) -> None:
    """Bars before and after, and numbers.

    Args:
        names: of the two runs, as in ("whole model", "without block 2").
        token: the one the numbers are about.
        against: one whose logit is compared with that of `token`.
    """
    tokenizer = cache.model(reading.model)[1]
    change = interventions.prediction_change(found, reading.tokens[position], position, names[1], token, tokenizer)
    ids = compared_tokens(found, token, SHOWN)
    ids += [against] if against is not None and against not in ids else []
    pieces, before, after = tokenizer.tokens(ids), found.before[ids], found.after[ids]
    height = 96 + 34 * len(ids)
    lead = None if against is None else interventions.difference_change(found, token, against, tokenizer)
    figure(
        before_after(text.tick_labels(pieces), before.tolist(), after.tolist(), names, height),
        key="prediction",
        height=height,
        table=lambda: pd.DataFrame({"token": pieces, names[0]: before, names[1]: after}),
        alt=str(change),
        caption=str(change) if lead is None else f"{change} {lead}",
    )
    numbers(change, lead)


def numbers(change: PredictionChange, lead: DifferenceChange | None) -> None:
    """The change of the prediction, as numbers in a row."""
    plain: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off", "width": "content"}
    with st.container(horizontal=True, gap="medium"):
        st.metric(
            f"Probability of {_reading.shown(change.token)}",
            change.after_text,
            change.change_text,
            help=f"before: {change.before_text}",
            **plain,
        )
        if lead is not None:
            st.metric("Logit difference", *lead.metric, help=f"before: {lead.before:.2f}", **plain)
        st.metric(
            "KL divergence",
            change.bits_text,
            "of the next token",
            help="KL(before || after) of the distribution over the next token",
            **plain,
        )
        if change.loss_texts is not None:
            st.metric(
                "Loss on the text",
                *change.loss_texts,
                delta_color="inverse",
                width="content",
                help="nats per token, mean over the text",
            )
