"""Section of the page on interventions: activation patching, from the run on another text."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from pages.inside import effects, metric
from pages.inside import reading as _reading
from pages.inside.continuations import when_asked
from pages.inside.reading import ReadText
from pages.ui import cache, controls, in_your_text, text
from pages.ui.components.figure import Event
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.reading import text_box
from pages.ui.work import live
from pages.ui.work.filling import fill
from tfcore.config import ModelConfig
from tfcore.measures import effect_metric, knock_outs
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.one_text import pieces_of
from tfcore.views import sources
from tfcore.views.inside import interventions as views
from tfcore.views.inside.interventions import patches, switches
from tfcore.views.inside.interventions.measure import patching
from tfcore.views.inside.interventions.measure.patching import Kind, PatchedColumns, PromptPair, StackName
from tfcore.views.inside.interventions.patches import TOKENS, Answers
from tfcore.views.inside.interventions.say import patched_words

CHARACTERS = 1_000  # of a text
OTHER = "There was a little girl. One day, Sam said that"
MIXED = "attention or mixer"  # of hybrids, where some layers have a state or a convolution in the place of attention
SEEN = (
    "Follow the difference through the layers. In the residual stream before block 0 it is at the tokens that differ; "
    "only attention can move it to later positions. Choose “attention” to see which layers do."
)
SEEN_OF_HYBRIDS = (
    "Follow the difference through the layers. In the residual stream before block 0 it is at the tokens that differ; "
    "only attention, or the mixer that a layer has in its place, can move it to later positions. Choose “attention or "
    "mixer” to see which layers do."
)
SEEN_OF_BOTH_STACKS = (
    "Follow the difference through the encoder: before its block 0 it is at the tokens that differ, and attention "
    "moves it to others. Only cross-attention brings it from there to the decoder, which reads the same text one place "
    "further on, and at whose last position the class is read. Choose the decoder, and “cross-attention”, to see which "
    "layers do."
)
KINDS: dict[Kind, str] = {
    "residual": "residual stream",
    "attention": "attention",
    "cross-attention": "cross-attention",
    "feed-forward": "feed-forward",
}
STACKS: tuple[StackName, ...] = "encoder", "decoder"
FOUND = "found"
ANSWERS = {FOUND: "both predictions", "difference": "two tokens", "prediction": "the next token"}
SAME = 3  # hues of chips
DIFFERENT = 4


def patch(reading: ReadText, more: Any) -> None:
    """Show the section; what is measured is chosen below the map, which begins higher for it."""
    with panel(None) as p, p.picture:
        drawn = st.container()
        row = st.container(horizontal=True, gap="medium", vertical_alignment="bottom")
        first = _reading.other_text(reading.model, reading.pasted, OTHER, TOKENS)
        label = "Source text, whose activations are patched in"
        other = text_box(reading.model, label, "other", first, CHARACTERS, height=68, kind="other")
        source = _reading.checked(reading.model, other, TOKENS, "other text", reading.bos, "other")
        side_by_side(reading, source)
        with row:
            answers = choose_answers(reading, more)
        read = reading.whole
        try:
            both = patches.compared(read, other, answers)
        except ValueError as problem:
            st.info(f"{str(problem).capitalize()}.")
            return
        with drawn:
            picture(p, read, other, both, answers, more)
        if answers is not None:
            against, token = answers
            quantity = Quantity("prediction", token) if token == against else Quantity("difference", token, against)
            in_your_text.reserve()
            metric.elsewhere("activation patching", reading, quantity)
        config = models.config(reading.model)
        seen = SEEN_OF_BOTH_STACKS if config.reads_twice else SEEN
        p.what_to_see(seen if config.mixer is None else SEEN_OF_HYBRIDS)
        p.question(
            "In the example of Sam, patching the position of “boy” before the last block restores almost nothing. Is "
            "the information gone from there?",
            "No, it is still in the residual stream there. But the last layer does not read it from there: attention "
            "in earlier layers has already moved to the last position what the prediction needs. Patching shows where "
            "information is used, not where it is.",
        )


def choose_answers(reading: ReadText, more: Any) -> Answers:
    """Choose what is measured: at first what tells both texts apart."""
    kind = metric.choose_kind(ANSWERS, FOUND, "patch", metric.n_classes(reading.model))
    if kind == FOUND:
        return None
    of: effect_metric.Kind = "prediction" if kind == "prediction" else "difference"
    with more:
        quantity = metric.choose_tokens(of, metric.candidates(reading, TOKENS))
    if quantity.kind == "prediction":
        return quantity.token, quantity.token
    return quantity.against, quantity.token  # 0 is what this text predicts


def side_by_side(target: ReadText, source: ReadText) -> None:
    """Both texts, what differs marked."""
    texts = (("This text", target, source), ("Source text", source, target))
    for place, (title, mine, theirs) in zip(st.columns(2, gap="medium"), texts, strict=True):
        new = [i >= len(theirs.ids) or token != theirs.ids[i] for i, token in enumerate(mine.ids)]
        with place:
            st.caption(f"{title}, {len(mine.ids)} tokens")
            text.chips(mine.tokens, key=f"chips {title}", hues=[DIFFERENT if one else SAME for one in new], label=title)


def picture(p: Panel, read: sources.Reading, source: str, both: PromptPair, answers: Answers, more: Any) -> None:
    """The map over layers and positions, the prediction with the chosen patch, and how the texts continue."""
    model = str(read.model)
    network, tokenizer = cache.model(model)
    n = len(both.target)
    above = st.container()
    controlling = st.container(horizontal=True, gap="medium", vertical_alignment="bottom")
    with controlling:
        stack = choose_stack(network.config)
    kinds = [kind for kind in KINDS if patching.patched_names(network.config, kind, stack)]
    labels = KINDS if network.config.mixer is None else {**KINDS, "attention": MIXED}
    with controlling:
        kind = controls.segmented("What is patched", "kind", kinds, "residual", labels)
    names = patching.patched_names(network.config, kind, stack)
    last_layer = network.config.n_layers - 1  # what is patched before it at the last position, the prediction reads
    first = last_layer if _reading.begins_with_strongest(network.config) else 3
    at = network.config.read_at % n
    if stack == "encoder":  # what nothing in it reads the prediction from: where the texts differ
        first, at = 0, both.differing[0]
    with more:
        row = controls.place("Row", "row", len(names), first)
        position = controls.place("Position", "position", n, at, of=(stack, both.target))
    click = partial(choose_cell, len(names), n)

    def draw(so_far: Sequence[PatchedColumns]) -> None:
        shown = views.patched(read, source, kind, row, position, answers, stack, so_far=so_far)
        p.show(shown, click, "Click a cell to see its prediction.")

    with above:
        fill(
            ("patches", read, source, answers, kind, stack),
            knock_outs.operations(network, len(names) * (n - both.differing[0]), n - both.differing[0]),
            lambda: patching.patch_each(network, both, kind, stack),
            lambda: patches.exact_patches(read, source, answers, kind, stack),
            draw,
            patching.groups(network.config, both),
            "group",
            wait=0.0,  # the estimates are there
        )
    prediction = views.patched_next(read, source, kind, row, position, answers, stack)
    p.show(prediction)
    effects.numbers(prediction)
    if not network.config.scores_tokens:
        return  # it writes nothing
    words = patched_words(network.config, names[row], kind, pieces_of(tokenizer, both.target)[position], position)
    when_asked(
        model,
        n,
        {
            "This text continues": lambda: switches.continued(read, None),
            f"With {words}": lambda: patches.continued_with(read, source, answers, names[row], position),
            "The source text continues": lambda: switches.continued(replace(read, text=source), None),
        },
    )


def choose_stack(config: ModelConfig) -> StackName | None:
    """The stack in which is patched, where a model has two."""
    if config.architecture != "encoder-decoder":
        return None
    return controls.segmented("Stack", "stack", list(STACKS), "encoder")


def choose_cell(rows: int, columns: int, event: Event) -> None:
    """A click on a cell chooses the row and the position that are patched."""
    at = event["point"]
    if isinstance(at, list) and at[0] < rows and at[1] < columns:
        live.set_values(row=at[0], position=at[1])
