"""One text through one real model, stage by stage: what goes in, what each step makes of it, what comes out."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.start.walkthrough import stage
from pages.start.walkthrough.facts import FACTS
from pages.start.walkthrough.stage import Here
from pages.ui import cache, controls, fragments, in_your_text, links, notices, page, text
from pages.ui.components.player import player
from pages.ui.components.scene import Told, scene
from pages.ui.frame import Panel, panel, show
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import last_tokens, say_nothing_read, text_box
from tfcore import shipped
from tfcore.config import ModelConfig
from tfcore.measures.heads.matrices_of_heads import why_no_head_matrices
from tfcore.views.highlights import Chip
from tfcore.views.sources import Reading
from tfcore.views.start import walkthrough as views
from tfcore.views.start.walkthrough import TOKENS
from tfcore.views.start.walkthrough.measure.heads import STEPS
from tfcore.views.start.walkthrough.measure.tensors import OF_A_HEAD
from tfcore.views.start.walkthrough.measure.walk import WalkStage, walk_stages
from tfcore.views.start.walkthrough.say.words import PARTS, SAID, words
from tfcore.views.view import Scene, View

CHARACTERS = 2_000
PERIOD = 2.5  # seconds a stage, when the walk plays
TEXT = "The little dog lost the red ball. The little"
TRY: dict[str, dict[str, Any]] = {
    "attention weights": {"stage": "softmax", "layer": 3, "head": 0},
    "causal mask": {"stage": "mask"},
    "activation function": {"stage": "activation", "layer": 3},
    "residual connection": {"stage": "add-1", "layer": 2},
    "the prediction": {"stage": "top-5", "text": TEXT},
    "another prediction": {"stage": "top-5", "text": "Tom had a red ball. He lost the red"},
}


def why_not(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why a model cannot be followed, or None."""
    return models.silent(config, tokenizer) or why_no_head_matrices(config)


def overview(view: View, names: Sequence[str]) -> None:
    """The map on top, where a click goes to a stage. Not `show`: what a preview of a link says is the picture below."""

    def go(told: Told) -> None:
        if told.name == "to" and isinstance(told.value, int) and 0 <= told.value < len(names):
            controls.set_values(stage=names[told.value])

    assert isinstance(view.chart, Scene)
    scene(view.chart, key=view.key, alt=view.alt, on_told=go)


def where(config: ModelConfig, at: WalkStage, layer: int, head: int) -> str:
    """Part, block and head in words."""
    parts = [PARTS[at.part]]
    if at.part in ("attention", "feed-forward"):
        parts.append(f"layer {layer}, one of {config.n_layers}")
    if at.name in OF_A_HEAD:
        parts.append(f"head {head}, one of {config.attention.n_heads}")
    return " · ".join(parts)


def in_walk(chip: Chip) -> dict[str, Any] | None:
    """The values that show a highlight here, see in_your_text: the weights of the head that looks."""
    if not chip.heads or chip.kind == "decision":
        return None
    layer, head = chip.heads[0]
    return {"stage": "softmax", "layer": layer, "head": head}


@fragments.fragment
def stroll(model_name: str, pasted: str, hidden: int | None) -> None:
    """The map, its controls, and the stage where we are."""
    config: ModelConfig = cache.model(model_name)[0].config
    in_your_text.forget()
    overview_place = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        buttons, slider = st.container(width=250), st.container(width="stretch")
        block, heads = st.container(width=140), st.container(width=140)
    begin = config.n_layers - 1, 0
    if model_name not in shipped() and not links.is_old():
        begin = views.first_head_of(model_name, pasted, TOKENS)
    with block:
        layer = controls.place("Layer", "layer", config.n_layers, begin[0])
    with heads:
        head = controls.place("Head", "head", config.attention.n_heads, begin[1])
    path = walk_stages(config, layer)
    names = [one.name for one in path]
    with slider:
        name = controls.stops("Stage", "stage", names, names[0], SAID)
    at = names.index(name)
    with buttons:
        player(
            "stage",
            0,
            len(names) - 1,
            at,
            label="Walk through the stages",
            period=PERIOD,
            places=names,
            everywhere=True,
            speeds=True,
        )
    walked = views.walked_of(model_name, pasted, TOKENS, layer, hidden)
    answer = f"'{text.visible(walked.candidates[0])}'" if walked.candidates else ""
    with overview_place:
        overview(views.overview(model_name, pasted, name, layer, hidden), names)
    here = Here(model_name, pasted, hidden, layer, head, name, walked, words(config, name, layer, answer))
    title = f"**{here.words.title}** · {at + 1} of {len(path)} · {where(config, path[at], layer, head)}"
    with panel(None) as p, p.picture:
        st.markdown(title)
        show_stage(p, here)
        p.question(
            "At which stages can one token get any information about another?",
            "In attention only, from the scores to the weighted sum of values: a row of scores compares its query with "
            "the keys of other rows, and the weights then sum their values. Everything else, from the embedding to the "
            "last softmax, treats each row by itself.",
        )
    if hidden is None:
        in_your_text.fill(Reading(model_name, pasted), TOKENS, in_walk, "link")


def show_stage(p: Panel, here: Here) -> None:
    """The stage and what it does, what it cost, and the prediction."""
    of_text = here.name in stage.OF_TEXT or here.name == "top-5"
    if here.name == "top-5":
        stage.last_stage(p, here)
    elif of_text:
        stage.text_stage(p, here)
    elif here.name in STEPS:
        stage.head_stage(p, here)
    else:
        stage.number_stage(p, here)
    if here.hidden is None:  # else the model reads another text
        in_your_text.reserve()
    sentence, beside = st.columns(2, gap="large")
    sentence.markdown(here.words.sentence)
    with beside:
        page.what_to_see(here.words.see)
    facts, outcome = st.columns([3, 2], gap="large")
    with facts:
        stage.costs(here)
    with outcome:
        if here.walked.candidates and here.name not in ("characters", "top-5"):
            (p.show if of_text else show)(here.prediction(190))
    if not p.views:  # it has no picture: the drawer has its program all the same
        folded = here.prediction(400)
        p.views[folded.key] = folded


page.begin(FACTS)
st.html(stage.STACKED)
box, choice = st.columns([3, 2])
with choice:
    model_name = models.choose("decoder", "encoder", why_not=why_not)
with box:
    pasted = text_box(model_name, "Text", "text", TEXT, CHARACTERS, height=68, named=False)
offer_real(model_name, pasted)
followed = last_tokens(model_name, pasted, TOKENS)
if not pasted or not followed.ids:
    say_nothing_read(
        model_name, pasted, "text", "There is no text yet: type or paste some, or press Ctrl+Z in the box."
    )
    fragments.stop()
notices.tokens(followed.total, len(followed.ids))
hidden: int | None = None
if views.fills_blanks(model_name):
    last = len(followed.ids) - 1
    with choice, page.more_settings():
        hidden = controls.slider("Masked token", "hidden", 0, last, last)
page.try_this(TRY)
stroll(model_name, pasted, hidden)
