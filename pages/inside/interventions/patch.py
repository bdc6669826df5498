"""Section of the page on interventions: activation patching, from the run on another text."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.continuations import NEW_TOKENS, continuations
from pages.inside.effects import prediction
from pages.inside.interventions import experiments
from pages.inside.reading import Reading
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.program import made
from pages.ui.work import progress
from tfcore.analysis.inside import activation_patching as patching
from tfcore.analysis.inside import interventions
from tfcore.analysis.inside.activation_patching import Kind, Pair
from tfcore.analysis.inside.interventions import Effect

CHARACTERS = 1_000  # of a text
TOKENS = 32  # of a text
OTHER = "There was a little girl. One day, Sam said that"
KINDS: dict[Kind, str] = {"residual": "residual stream", "attention": "attention", "feed-forward": "feed-forward"}
SAME = 3  # hues of chips
DIFFERENT = 4
Texts = tuple[str, str, str]  # model, the source text, this text

compared = cache.of_model(max_entries=32)(experiments.compared)


@cache.data(max_entries=256)
def row_of(model: str, source: str, pasted: str, name: str) -> Any:
    return patching.patch_row(cache.model(model)[0], compared(model, source, pasted, TOKENS), name)


@st.cache_resource(max_entries=32, show_spinner=False)
def source_values(model: str, source: str, pasted: str, name: str) -> Any:
    """What is put in, at every position: small, and read only."""
    return patching.source_values(cache.model(model)[0], compared(model, source, pasted, TOKENS), name)


@cache.data(max_entries=128)
def effect_of(model: str, source: str, pasted: str, name: str, position: int) -> Effect:
    """What one patch does to the prediction at the end."""
    both, values = compared(model, source, pasted, TOKENS), source_values(model, source, pasted, name)
    return experiments.patched_effect(cache.model(model)[0], both, values, name, position)


@cache.data(max_entries=128)
def continued(model: str, source: str, pasted: str, name: str, position: int) -> list[int]:
    """How the text continues with one patch."""
    edit = patching.patch(source_values(model, source, pasted, name), name, position)
    ids = _reading.read(model, pasted, TOKENS).ids
    return interventions.continue_text(cache.model(model)[0], ids, [edit], NEW_TOKENS)


@cache.data(max_entries=64)
def plain(model: str, pasted: str) -> list[int]:
    ids = _reading.read(model, pasted, TOKENS).ids
    return interventions.continue_text(cache.model(model)[0], ids, [], NEW_TOKENS)


def patch(reading: Reading) -> None:
    """The section."""
    other = controls.text_area("Source text, whose activations are patched in", "other", OTHER, CHARACTERS, height=68)
    source = _reading.checked(reading.model, other, TOKENS, "other text")
    texts: Texts = (reading.model, other, reading.pasted)
    found = ""
    try:
        both = compared(*texts, TOKENS)
    except ValueError as problem:
        side_by_side(reading, source)
        st.info(f"{str(problem).capitalize()}.")
        both = None
    if both is not None:
        side_by_side(reading, source)
        found = picture(reading, source, both, texts)
    words(reading, found)


def side_by_side(target: Reading, source: Reading) -> None:
    """Both texts, what differs marked."""
    texts = (("This text", target, source), ("Source text", source, target))
    for place, (title, mine, theirs) in zip(st.columns(2, gap="medium"), texts, strict=True):
        new = [i >= len(theirs.ids) or token != theirs.ids[i] for i, token in enumerate(mine.ids)]
        with place:
            st.caption(f"{title}, {len(mine.ids)} tokens")
            text.chips(mine.tokens, key=f"chips {title}", hues=[DIFFERENT if one else SAME for one in new], label=title)


def picture(target: Reading, source: Reading, both: Pair, texts: Texts) -> str:
    """The map over layers and positions, and the prediction with the chosen patch. Returns where the difference is."""
    network, tokenizer = cache.model(target.model)
    n = len(both.target)
    kinds = [kind for kind in KINDS if patching.patched_names(network.config, kind)]
    with st.container(horizontal=True, gap="medium"):
        kind = controls.segmented("What is patched", "kind", kinds, "residual", KINDS)
        names = patching.patched_names(network.config, kind)
        titles = [patching.patched_title(name, kind) for name in names]
        row = controls.slider("Row", "row", 0, len(names) - 1, min(3, len(names) - 1))
        position = controls.slider("Position", "position", 0, n - 1, n - 1)
    rows = progress.in_turn(
        lambda name: row_of(*texts, name),
        names,
        lambda name: f"{patching.patched_title(name, kind)}, position by position",
    )
    at = (*texts, names[row], position)
    found = effect_of(*at)
    shown = experiments.patched(network, tokenizer, both, rows, found, kind, row, position)
    shares = np.stack(rows)
    figure(
        shown.figure,
        key="patch",
        height=shown.figure.layout.height,
        min_width=640,
        on_click=partial(choose_cell, len(names), n),
        table=lambda: pd.DataFrame(shares.T, columns=titles).assign(this=target.tokens, other=source.tokens),
        alt=f"Share of the logit difference that one patched activation restores. {shown.alt}",
        caption=f"{shown.findings[0]} Click a cell to see its prediction.",
    )
    patched = experiments.patched_words(names[row], kind, target.tokens[position], position)
    prediction(target, n - 1, found, ("this text", patched), both.answers[0])
    model = target.model
    both_made = made(experiments.compared, *texts, TOKENS)
    values = made(patching.source_values, model, both_made, names[row])
    page.experiment(
        experiments.patched,
        model,
        both_made,
        made(experiments.every_row, model, both_made, kind),
        made(experiments.patched_effect, model, both_made, values, names[row], position),
        kind,
        row,
        position,
    )
    continuations(
        model,
        {
            "This text continues": plain(model, target.pasted),
            f"With {patched}": continued(*at),
            "The source text continues": plain(model, source.pasted),
        },
    )
    return str(patching.where_it_is(shares, kind, titles, target.tokens))


def choose_cell(rows: int, columns: int, event: Event) -> None:
    """A click on a cell chooses the row and the position that are patched."""
    at = event["point"]
    if isinstance(at, list) and at[0] < rows and at[1] < columns:
        controls.set_values(row=at[0], position=at[1])


def words(target: Reading, found: str) -> None:
    """What to see, the equation, the code, a question."""
    example = (
        (
            " In this example attention 0 writes “boy” into its own position, and attention 2 moves it to the "
            "last one: "
            "choose “attention” to see it."
        )
        if (target.model, target.pasted) == ("stories", _reading.BOY)
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
    page.source(patching.patch_row, patching.source_values, patching.patch, patching.pair)
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
