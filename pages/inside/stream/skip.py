"""Section of the page on the residual stream: a sublayer or a block is skipped."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.effects import prediction
from pages.inside.reading import Reading
from pages.inside.stream import experiments
from pages.inside.stream.choice import TOKENS, Choice, choose
from pages.ui import cache, controls, page
from pages.ui.components.figure import Event, figure
from pages.ui.program import made
from pages.ui.work import live
from pages.ui.work.filling import fill
from tfcore.analysis.inside import residual_stream as skipping
from tfcore.analysis.inside.residual_stream import SkipsOfLayer
from tfcore.measures import interventions, knock_outs, one_text
from tfcore.measures.interventions import EditedRun, Effect
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

ROWS = 30  # of the picture; of a model with more parts, those of one kind


@cache.of_model(max_entries=12)
def every_layer(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, bos: bool | None
) -> list[SkipsOfLayer]:
    """The skips of all layers."""
    return list(experiments.by_layer(model, tokenizer, text, limit, bos))


@cache.shared(max_entries=32)
def run(model: str, pasted: str, bos: bool | None, names: tuple[str, ...]) -> EditedRun:
    """The text without some parts, for every position: 0.3 MB of 128 tokens of smollm2."""
    plain = _reading.plain(model, pasted, TOKENS, bos)
    return interventions.run_edited(cache.model(model)[0], plain, skipping.skip_edits(names))


@cache.data(max_entries=256)
def one_skip(model: str, pasted: str, bos: bool | None, position: int, names: tuple[str, ...]) -> Effect:
    whole, skipped = run(model, pasted, bos, ()), run(model, pasted, bos, names)
    return interventions.effect_between(cache.model(model)[0], whole, skipped, position)


def skip(reading: Reading, more: Any) -> None:
    """The section."""
    picture = st.container()
    skips = skipping.skips(cache.model(reading.model)[0].config)
    titles = [skipping.skip_name(names) for names in skips]
    line = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    with line, st.container(width=220):
        chosen = controls.select("Skipped", "skip", titles, titles[-1])
    row, choice = titles.index(chosen), choose(reading, more, tokens=more, row=line)
    found = one_skip(*choice.key, skips[row])
    with picture:
        prediction(reading, choice.position, found, ("whole model", f"without {chosen}"), choice.token, choice.other)
    programs = []
    if len(reading.ids) > 1:
        programs.append(every_token(choice, titles, row))
    else:
        st.info("One token has nothing that follows it: give at least two to see the loss of each.")
    page.what_to_see(
        "The residual stream runs past what is skipped, so the model still predicts. Red "
        "cells are tokens with a higher loss without the part, blue ones with a lower loss. A row that is red "
        "throughout is a part that later layers depend on everywhere; a few red cells, one that only some tokens need."
    )
    page.question(
        "The share of a layer in a logit (direct effect) and the loss increase when it is skipped (total effect): why "
        "do they differ?",
        "The share is what the layer itself wrote for that token. Skipping it also removes what later layers made of "
        "it, and they may write something else instead. In the example, attention 3 of stories has the largest share "
        "in “ball”, and without it “ball” still has 57 %; attention 0 has a third of that share, and without it “ball” "
        "is down to 3 %.",
    )
    page.how_it_is_computed(
        *programs,
        formula=r"x_{\ell+1} = x_\ell \quad\text{instead of}\quad x_{\ell+1} = x_\ell + f_\ell(x_\ell)",
        code=(skipping.skip_each, skipping.skip_edits, interventions.effect),
        papers=(
            "Skipping single layers of residual networks: arXiv:1605.06431, section 4.1. All sets of them: the "
            "page on residual connections."
        ),
    )


def every_token(choice: Choice, titles: list[str], row: int) -> page.Experiment:
    """The loss increase of each token by each skip."""
    tokens = choice.reading.tokens
    text = choice.reading.model, choice.reading.pasted, TOKENS, choice.reading.bos
    network, tokenizer = cache.model(choice.reading.model)
    config = network.config
    column = choice.position if choice.position < len(tokens) - 1 else -1
    st.subheader("Loss increase of every token, with each part skipped", anchor=False)
    rows = list(range(len(titles)))
    if len(rows) > ROWS:  # those of the kind that is skipped
        kind = titles[row].rpartition(" ")[0]
        rows = [i for i in rows if titles[i].rpartition(" ")[0] == kind]
    named = [titles[i] for i in rows]

    def draw(found: Sequence[SkipsOfLayer]) -> None:
        if not found:
            st.info("Nothing is measured yet: it begins as soon as there is room.")
            return
        skips = skipping.all_skips(config, found)
        shown = experiments.skipped(skips, choice.reading.first, row, column, rows)
        figure(
            shown.figure,
            key="increase",
            height=shown.figure.layout.height,
            min_width=620,
            on_click=partial(choose_cell, named, len(tokens) - 1),
            table=lambda: pd.DataFrame(skips.loss_increase[rows].T, columns=named).assign(token=tokens[1:]),
            alt=shown.alt,
            caption=f"Loss increase of each token, (skipped, token) = {(len(rows), len(tokens) - 1)}. {shown.caption} "
            "Click a cell to look closer.",
        )

    fill(
        ("skips", *text),
        knock_outs.operations(network, len(titles), len(tokens)),
        lambda: experiments.by_layer(network, tokenizer, *text[1:]),
        lambda: every_layer(*text),
        draw,
        config.decoder_layers,
        "layer",
    )
    skips, read = made(experiments.every_skip, *text), made(one_text.first_tokens, *text)
    return page.experiment(experiments.skipped, skips, read, row, column, rows)


def choose_cell(titles: list[str], columns: int, event: Event) -> None:
    """A click on a cell chooses the part that is skipped and the position."""
    at = event["point"]
    if isinstance(at, list) and at[0] < len(titles) and at[1] < columns:
        live.set_values(skip=titles[at[0]], position=at[1])
