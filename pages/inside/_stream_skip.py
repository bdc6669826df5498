"""Section of the page on the residual stream: a sublayer or a block is skipped."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.experiments import stream as experiments
from pages.inside import _reading
from pages.inside._effects import prediction
from pages.inside._stream_choice import TOKENS, Choice
from pages.ui import cache, controls, page
from pages.ui.figure import Event, figure
from tfcore.analysis import edit_effects, skipping
from tfcore.analysis.edit_effects import Effect
from tfcore.analysis.skipping import Skips
from tfcore.figures import edit_effects as figures

LIMIT = 5.0  # nats


@cache.data(max_entries=12)
def every_skip(model: str, pasted: str) -> Skips:
    return skipping.skip_each(cache.model(model)[0], _reading.read(model, pasted, TOKENS).ids)


@cache.data(max_entries=256)
def one_skip(model: str, pasted: str, position: int, names: tuple[str, ...]) -> Effect:
    ids = _reading.read(model, pasted, TOKENS).ids
    return edit_effects.effect(cache.model(model)[0], ids, skipping.left_out(names), position)


def title(names: tuple[str, ...]) -> str:
    """block 2, attention 2, feed-forward 2."""
    return f"block {names[0].split('.')[1]}" if len(names) > 1 else _reading.part_name(names[0])


def skip(choice: Choice) -> None:
    """The section."""
    reading, position = choice.reading, choice.position
    skips = skipping.skips(cache.model(reading.model)[0].config)
    titles = [title(names) for names in skips]
    chosen = controls.select("Skipped", "skip", titles, titles[-1])
    row = titles.index(chosen)
    found = one_skip(*choice.key, skips[row])
    prediction(reading, position, found, ("whole model", f"without {chosen}"), choice.token)
    if len(reading.ids) > 1:
        every_token(choice, every_skip(reading.model, reading.pasted), titles, row)
    else:
        st.info("One token has nothing that follows it: give at least two to see the loss of each.")
    page.what_to_see(
        "The residual stream runs past what is skipped, so the model still predicts, and often the same token. Red "
        "cells are tokens with a higher loss without the part, blue ones with a lower loss. A row that is red "
        "throughout is a part that later layers depend on everywhere; a few red cells, one that only some tokens need."
    )
    st.latex(r"x_{\ell+1} = x_\ell \quad\text{instead of}\quad x_{\ell+1} = x_\ell + f_\ell(x_\ell)")
    page.source(skipping.skip_each, skipping.left_out, edit_effects.effect)
    page.experiment(experiments.skipped, *choice.key[:2], TOKENS, skips[row], position, choice.token)
    st.caption("Skipping single layers of residual networks: arXiv:1605.06431, section 4.1. All sets of them: the "
               "page on residual connections.")  # fmt: skip
    page.question(
        "The share of a layer in a logit (direct effect) and the loss increase when it is skipped (total effect): why "
        "do they differ?",
        "The share is what the layer itself wrote for that token. Skipping it also removes what later layers made of "
        "it, and they may write something else instead. In the example, attention 3 of stories has the largest share "
        "in “ball”, and without it “ball” still has 57 %; attention 0 has a third of that share, and without it “ball” "
        "is down to 3 %.",
    )


def every_token(choice: Choice, found: Skips, titles: list[str], row: int) -> None:
    """The loss increase of each token by each skip."""
    labels = choice.reading.labels[1:]
    means = found.harm.mean(1)
    worst = int(means.argmax())

    def choose_cell(event: Event) -> None:
        at = event["point"]
        if isinstance(at, list) and at[0] < len(titles) and at[1] < len(labels):
            controls.set_values(skip=titles[at[0]], position=at[1])

    column = choice.position if choice.position < len(labels) else -1
    height = 90 + 26 * len(titles)
    st.subheader("Loss increase of every token, with each part skipped", anchor=False)
    figure(
        figures.part_by_token(found.harm, titles, labels, LIMIT, (row, column),
                              "without %{y}: loss of %{x} %{z:+.2f} nats", "token to predict", height),
        key="increase", height=height, min_width=620, on_click=choose_cell,
        table=lambda: pd.DataFrame(found.harm.T, columns=titles).assign(token=choice.reading.tokens[1:]),
        alt="Mean loss increase in nats without "
        + ", ".join(f"{title} {mean:+.2f}" for title, mean in zip(titles, means, strict=True)) + ".",
        caption=f"Loss increase of each token, (skipped, token) = {found.harm.shape}; colours end at ±{LIMIT:g} nats. "
        f"Largest mean on this text: {titles[worst]}, {means[worst]:+.2f} nats per token; {titles[row]}: "
        f"{means[row]:+.2f}; tokens whose loss rises by more than 1 nat with it: "
        f"{int(np.sum(found.harm[row] > 1))} of {len(labels)}. Click a cell to look closer.",
    )  # fmt: skip
