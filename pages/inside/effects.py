"""Numbers of an edit that the pages of this chapter show beside the next token's probabilities before and after."""

from typing import Any

import streamlit as st

from pages.inside import reading as _reading
from tfcore.views.inside.changes import DifferenceChange, PredictionChange
from tfcore.views.view import View


def numbers(prediction: View) -> None:
    """The change of the next token, as numbers in a row.

    Args:
        prediction: of tfcore.views.inside.effects.
    """
    change = next(one for one in prediction.findings if isinstance(one, PredictionChange))
    lead = next((one for one in prediction.findings if isinstance(one, DifferenceChange)), None)
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
            "of the classes" if change.of_text else "of the next token",
            help=f"KL(before || after) of the distribution over the {'classes' if change.of_text else 'next token'}",
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
