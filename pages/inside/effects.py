"""What both pages on the inside show of an edit: the next token's probabilities before and after."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.reading import Reading
from pages.ui import text
from pages.ui.components.figure import figure
from tfcore.analysis.inside.edit_effects import Effect
from tfcore.figures.inside import edit_effects as figures

SHOWN = 6  # tokens most probable before, and as many after


def prediction(
    reading: Reading, position: int, found: Effect, names: tuple[str, str], token: int | None = None
) -> None:
    """Bars before and after, and numbers.

    Args:
        names: of the two runs, as in ("whole model", "without block 2").
        token: the one the numbers are about; None means the model's own top prediction.
    """
    best, now = int(found.before.argmax()), int(found.after.argmax())
    token = best if token is None else token
    chosen = dict.fromkeys([token, *np.argsort(-found.before)[:SHOWN], *np.argsort(-found.after)[:SHOWN]])
    ids = sorted((int(i) for i in chosen), key=lambda i: -max(found.before[i], found.after[i]))
    pieces = [_reading.piece(reading.model, i) for i in ids]
    before, after = found.before[ids], found.after[ids]
    own = _reading.piece(reading.model, token)
    chances = f"{found.before[token]:.1%} to {found.after[token]:.1%}"
    turn = (
        "keeps its top prediction"
        if best == now
        else f"now predicts '{text.visible(_reading.piece(reading.model, now))}'"
    )
    read = text.visible(reading.tokens[position])
    height = 96 + 34 * len(ids)
    numbers(reading, found, token)
    figure(
        figures.before_after(text.tick_labels(pieces), before.tolist(), after.tolist(), (names[0], names[1]), height),
        key="prediction",
        height=height,
        table=lambda: pd.DataFrame({"token": pieces, names[0]: before, names[1]: after}),
        alt=f"After '{read}', {names[1]}: '{text.visible(own)}' goes from {chances}; the model {turn}; KL "
        f"divergence {found.bits:.2f} bits.",
        caption=f"The next token after '{read}' ({position}). {names[1].capitalize()}, '{text.visible(own)}' goes "
        f"from {chances}; the model {turn}.",
    )


def numbers(reading: Reading, found: Effect, token: int) -> None:
    """The change of the prediction, as numbers in a row."""
    own = _reading.piece(reading.model, token)
    lift = float(np.log(max(found.after[token], 1e-30)) - np.log(max(found.before[token], 1e-30)))
    was, now = (losses.mean() if len(losses) else 0.0 for losses in (found.losses_before, found.losses_after))
    plain: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off", "width": "content"}
    with st.container(horizontal=True, gap="large"):
        st.metric(
            f"Probability of {_reading.shown(own)}",
            f"{found.after[token]:.1%}",
            f"{lift:+.2f} nats",
            help=f"before: {found.before[token]:.1%}",
            **plain,
        )
        st.metric(
            "KL divergence",
            f"{found.bits:.2f} bits",
            "of the next token",
            help="KL(before || after) of the distribution over the next token",
            **plain,
        )
        if len(found.losses_before):
            st.metric(
                "Loss on the text",
                f"{now:.2f}",
                f"{now - was:+.2f}",
                delta_color="inverse",
                width="content",
                help="nats per token, mean over the text",
            )
