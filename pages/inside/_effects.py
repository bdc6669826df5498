"""What both pages on the inside show of an edit: the next token's probabilities before and after."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.inside import _reading
from pages.inside._reading import Reading
from pages.ui import text
from pages.ui.figure import figure
from tfcore.analysis.edit_effects import Effect
from tfcore.figures import edit_effects as figures

SHOWN = 6  # tokens most probable before, and as many after


def prediction(reading: Reading, position: int, found: Effect, words: str, token: int | None = None) -> None:
    """Bars before and after, and numbers.

    Args:
        words: what was done, as in "without block 2".
        token: the one the numbers are about; None means the model's own best guess.
    """
    best, now = int(found.before.argmax()), int(found.after.argmax())
    token = best if token is None else token
    chosen = dict.fromkeys([token, *np.argsort(-found.before)[:SHOWN], *np.argsort(-found.after)[:SHOWN]])
    ids = sorted((int(i) for i in chosen), key=lambda i: -max(found.before[i], found.after[i]))
    pieces = [_reading.piece(reading.model, i) for i in ids]
    before, after = found.before[ids], found.after[ids]
    own = _reading.piece(reading.model, token)
    chances = f"{found.before[token]:.1%} to {found.after[token]:.1%}"
    turn = "keeps its best guess" if best == now else f"now says '{text.visible(_reading.piece(reading.model, now))}'"
    read = text.visible(reading.tokens[position])
    height = 80 + 34 * len(ids)
    bars, beside = st.columns([3, 1], gap="large")
    with bars:
        figure(
            figures.before_after(text.tick_labels(pieces), before.tolist(), after.tolist(), ("whole model", words),
                                 height),
            key="prediction", height=height,
            table=lambda: pd.DataFrame({"token": pieces, "whole model": before, words: after}),
            alt=f"After '{read}', {words}: '{text.visible(own)}' goes from {chances}; the model {turn}; the prediction "
            f"moves by {found.bits:.2f} bits.",
            caption=f"The next token after '{read}' ({position}). {words.capitalize()}, '{text.visible(own)}' goes "
            f"from {chances}; the model {turn}.",
        )  # fmt: skip
    with beside:
        lift = float(np.log(max(found.after[token], 1e-30)) - np.log(max(found.before[token], 1e-30)))
        st.metric(f"Probability of {_reading.shown(own)}", f"{found.after[token]:.1%}",
                  f"{lift:+.2f} nats", delta_color="off", delta_arrow="off",
                  help=f"{found.before[token]:.1%} in the whole model")  # fmt: skip
        st.metric("Moved by", f"{found.bits:.2f} bits", help="KL divergence of the new prediction from the old one")
        if len(found.losses_before):
            was, is_now = float(found.losses_before.mean()), float(found.losses_after.mean())
            st.metric("Loss on the text", f"{is_now:.2f}", f"{is_now - was:+.2f}", delta_color="inverse",
                      help="nats per token, mean over the text")  # fmt: skip
