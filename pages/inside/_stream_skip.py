"""Section of the page on the residual stream: leave a layer out."""

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
    chosen = controls.select("Left out", "skip", titles, titles[-1])
    row = titles.index(chosen)
    found = one_skip(*choice.key, skips[row])
    prediction(reading, position, found, ("whole model", f"without {chosen}"), choice.token)
    if len(reading.ids) > 1:
        every_token(choice, every_skip(reading.model, reading.pasted), titles, row)
    else:
        st.info("One token has nothing that follows it: give at least two to see the loss of each.")
    page.what_to_see(
        "The stream runs past what is left out, so the model still speaks, and often says the same. Red cells are "
        "tokens that are guessed less well. Layer 0 is needed nearly everywhere, because all others were trained on "
        "a stream it has written into; a late layer matters where its heads had something to find. Blue cells are "
        "tokens that are guessed better without the part."
    )
    st.latex(r"x_{\ell+1} = x_\ell \quad\text{instead of}\quad x_{\ell+1} = x_\ell + f_\ell(x_\ell)")
    page.source(skipping.skip_each, skipping.left_out, edit_effects.effect)
    page.experiment(experiments.skipped, *choice.key[:2], TOKENS, skips[row], position, choice.token)
    st.caption("Leaving out single layers of residual networks: arXiv:1605.06431, section 4.1. All sets of them: the "
               "page on residual connections.")  # fmt: skip
    page.question(
        "The share of a layer in a logit and the harm of leaving it out: why are they not the same number?",
        "The share is what the layer itself wrote for that token. Leaving it out also takes away what later layers "
        "made of it, and they may answer by writing something else. In the example attention 3 has by far the largest "
        "share in “ball”, and without it the model still says “ball” with 57%; attention 0 has a third of that share, "
        "and without it “ball” is down to 3%.",
    )


def every_token(choice: Choice, found: Skips, titles: list[str], row: int) -> None:
    """The harm that each skip does to each token."""
    labels = choice.reading.labels[1:]
    means = found.harm.mean(1)
    worst = int(means.argmax())

    def choose_cell(event: Event) -> None:
        at = event["point"]
        if isinstance(at, list) and at[0] < len(titles) and at[1] < len(labels):
            controls.set_values(skip=titles[at[0]], position=at[1])

    column = choice.position if choice.position < len(labels) else -1
    height = 90 + 26 * len(titles)
    st.subheader("Every token of the text, without each part", anchor=False)
    figure(
        figures.part_by_token(found.harm, titles, labels, LIMIT, (row, column),
                              "without %{y}: loss of %{x} %{z:+.2f} nats", "token to be guessed", height),
        key="harm", height=height, min_width=620, on_click=choose_cell,
        table=lambda: pd.DataFrame(found.harm.T, columns=titles).assign(token=choice.reading.tokens[1:]),
        alt="Mean rise of the loss in nats without "
        + ", ".join(f"{title} {mean:+.2f}" for title, mean in zip(titles, means, strict=True)) + ".",
        caption=f"By how much the loss of each token rises, (left out, token) = {found.harm.shape}; colours end at "
        f"±{LIMIT:g} nats. Most harm on this text: {titles[worst]}, {means[worst]:+.2f} nats a token; "
        f"{titles[row]}: {means[row]:+.2f}; tokens that lose more than 1 nat with it: "
        f"{int(np.sum(found.harm[row] > 1))} of {len(labels)}. Click a cell to look closer.",
    )  # fmt: skip
