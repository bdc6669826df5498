"""Section of the page on interventions: activation patching, from the run on another text."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.continuations import NEW_TOKENS, continuations
from pages.inside.effects import prediction
from pages.inside.interventions import experiments as experiments
from pages.inside.reading import Reading
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.work import progress
from tfcore.analysis.inside import edit_effects, interventions, patching
from tfcore.analysis.inside.edit_effects import Effect
from tfcore.analysis.inside.patching import Kind, Pair
from tfcore.figures.inside import edit_effects as figures

CHARACTERS, TOKENS = 1_000, 32
OTHER = "There was a little girl. One day, Sam said that"
KINDS: dict[Kind, str] = {"residual": "residual stream", "attention": "attention", "feed-forward": "feed-forward"}
SAME, LOUD = 3, 4  # hues of chips
Texts = tuple[str, str, str]  # model, the text that gives, the text that takes


@cache.data(max_entries=32)
def compared(model: str, giving: str, taking: str) -> Pair:
    giver, taker = (_reading.read(model, pasted, TOKENS).ids for pasted in (giving, taking))
    return patching.pair(cache.model(model)[0], giver, taker)


@cache.data(max_entries=256)
def row_of(model: str, giving: str, taking: str, name: str) -> Any:
    return patching.patch_row(cache.model(model)[0], compared(model, giving, taking), name)


@st.cache_resource(max_entries=32, show_spinner=False)
def giver_values(model: str, giving: str, taking: str, name: str) -> Any:
    """What is put in, at every position: small, and read only."""
    return patching.giver_values(cache.model(model)[0], compared(model, giving, taking), name)


@cache.data(max_entries=128)
def effect_of(model: str, giving: str, taking: str, name: str, position: int) -> Effect:
    """What one patch does to the prediction at the end."""
    network, ids = cache.model(model)[0], _reading.read(model, taking, TOKENS).ids
    edit = patching.patch(giver_values(model, giving, taking, name), name, position)
    return edit_effects.effect(network, ids, [edit], len(ids) - 1)


@cache.data(max_entries=128)
def continued(model: str, giving: str, taking: str, name: str, position: int) -> list[int]:
    """How the text goes on with one patch."""
    edit = patching.patch(giver_values(model, giving, taking, name), name, position)
    return interventions.goes_on(cache.model(model)[0], _reading.read(model, taking, TOKENS).ids, [edit], NEW_TOKENS)


@cache.data(max_entries=64)
def plain(model: str, pasted: str) -> list[int]:
    return interventions.goes_on(cache.model(model)[0], _reading.read(model, pasted, TOKENS).ids, [], NEW_TOKENS)


def patch(reading: Reading) -> None:
    """The section."""
    other = controls.text_area("Source text, whose activations are patched in", "other", OTHER, CHARACTERS, height=68)
    giver = _reading.checked(reading.model, other, TOKENS, "other text")
    texts: Texts = (reading.model, other, reading.pasted)
    found = ""
    try:
        both = compared(*texts)
    except ValueError as problem:
        side_by_side(reading, giver)
        st.info(f"{str(problem).capitalize()}.")
        both = None
    if both is not None:
        side_by_side(reading, giver)
        found = picture(reading, giver, both, texts)
    words(reading, found)


def side_by_side(taker: Reading, giver: Reading) -> None:
    """Both texts, what differs marked."""
    texts = (("This text", taker, giver), ("Source text", giver, taker))
    for place, (title, mine, theirs) in zip(st.columns(2, gap="medium"), texts, strict=True):
        new = [i >= len(theirs.ids) or token != theirs.ids[i] for i, token in enumerate(mine.ids)]
        with place:
            st.caption(f"{title}, {len(mine.ids)} tokens")
            text.chips(mine.tokens, key=f"chips {title}", hues=[LOUD if one else SAME for one in new], label=title)


def row_title(name: str, kind: Kind) -> str:
    if kind != "residual":
        return _reading.part_name(name)
    return f"{'after' if name.endswith('post') else 'before'} block {name.split('.')[1]}"


def picture(taker: Reading, giver: Reading, both: Pair, texts: Texts) -> str:
    """The map over layers and positions, and the prediction with the chosen patch."""
    config, n = cache.model(taker.model)[0].config, len(both.taker)
    kinds = [kind for kind in KINDS if patching.patched_names(config, kind)]
    with st.container(horizontal=True, gap="medium"):
        kind = controls.segmented("What is patched", "kind", kinds, "residual", KINDS)
        names = patching.patched_names(config, kind)
        titles = [row_title(name, kind) for name in names]
        row = controls.slider("Row", "row", 0, len(names) - 1, min(3, len(names) - 1))
        position = controls.slider("Position", "position", 0, n - 1, n - 1)
    shares = np.stack(
        progress.in_turn(
            lambda name: row_of(*texts, name), names, lambda name: f"{row_title(name, kind)}, position by position"
        )
    )
    mine, theirs = (text.visible(_reading.piece(taker.model, token)) for token in both.answers)
    labels = [
        f"{new}→{old}" if i in both.differing else old
        for i, (old, new) in enumerate(zip(taker.labels, giver.labels, strict=True))
    ]

    def choose_cell(event: Event) -> None:
        at = event["point"]
        if isinstance(at, list) and at[0] < len(names) and at[1] < n:
            controls.set_values(row=at[0], position=at[1])

    peaks = [
        f"{titles[i]}: {share:.2f} at '{text.visible(taker.tokens[at])}' ({at})"
        for i, (at, share) in enumerate(zip(shares.argmax(1).tolist(), shares.max(1).tolist(), strict=True))
    ]
    height = 120 + 34 * len(names)
    figure(
        figures.part_by_token(
            shares,
            titles,
            labels,
            1.0,
            (row, position),
            "%{y}, %{x}: %{z:.2f} of the logit difference",
            "patched position",
            height,
        ),
        key="patch",
        height=height,
        min_width=640,
        on_click=choose_cell,
        table=lambda: pd.DataFrame(shares.T, columns=titles).assign(this=taker.tokens, other=giver.tokens),
        alt=f"Share of the logit difference from '{theirs}' to '{mine}' that one patched activation restores; the most "
        "in "
        "each row: " + "; ".join(peaks) + ".",
        caption=f"0: this text's own prediction ('{theirs}'), 1: the source text's ('{mine}'), measured by their logit "
        f"difference, which goes from {both.difference[1]:.2f} to {both.difference[0]:.2f}. Largest in each row: "
        + "; ".join(peaks)
        + ". Click a cell to see its prediction.",
    )
    at = (*texts, names[row], position)
    what = f"the residual stream {titles[row]}" if kind == "residual" else titles[row]
    patched = f"{what} patched at '{text.visible(taker.tokens[position])}' ({position})"
    prediction(taker, n - 1, effect_of(*at), ("this text", patched), both.answers[0])
    page.experiment(experiments.patched, taker.model, taker.pasted, giver.pasted, TOKENS, kind, row, position)
    continuations(
        taker.model,
        {
            "This text continues": plain(taker.model, taker.pasted),
            f"With {patched}": continued(*at),
            "The source text continues": plain(giver.model, giver.pasted),
        },
    )
    return moved(taker, kind, titles, shares)


def moved(taker: Reading, kind: Kind, titles: list[str], shares: np.ndarray) -> str:
    """Where the difference is, row by row, in a sentence."""
    if kind != "residual":
        at = np.unravel_index(shares.argmax(), shares.shape)
        return (
            f"The largest share is that of {titles[at[0]]} at '{text.visible(taker.tokens[at[1]])}' ({at[1]}): "
            f"{shares[at]:.2f}."
        )
    row = patching.arrived(shares)
    return (
        f"At the last position, where the prediction is read, it brings most from the row “{titles[row]}” on."
        if row is not None
        else "At the last position, where the prediction is read, it never brings most."
    )


def words(taker: Reading, found: str) -> None:
    """What to see, the equation, the code, a question."""
    example = (
        (
            " In this example attention 0 writes “boy” into its own position, and attention 2 moves it to the "
            "last one: "
            "choose “attention” to see it."
        )
        if (taker.model, taker.pasted) == ("stories", _reading.BOY)
        else ""
    )
    page.what_to_see(
        "Follow the difference through the layers. In the residual stream before block 0 it is at the tokens that "
        f"differ; only attention can move it to later positions. {text.escape(found, 300)}{example}"
    )
    st.latex(
        r"\begin{gathered}\text{share} = "
        r"\frac{d(\text{patched}) - d(\text{this})}{d(\text{source}) - d(\text{this})} \\ "
        r"d = \mathrm{logit}_{\text{source's prediction}} - \mathrm{logit}_{\text{this one's}}\end{gathered}"
    )
    page.source(patching.patch_row, patching.giver_values, patching.patch, patching.pair)
    st.caption(
        "Activation patching, also called causal tracing: arXiv:2202.05262, section 2; the measure: arXiv:2309.16042, "
        "section 2. The two predictions are the tokens whose probability differs most between the texts."
    )
    page.question(
        "In the example of Sam, patching the position of “boy” before block 3 restores almost nothing. Is the "
        "information gone from there?",
        "No, it is still in the residual stream there. But no later layer reads it from there: attention 2 has already "
        "moved to the last position what the prediction needs. Patching shows where information is used, not where "
        "it is.",
    )
