"""One text through one real model, stage by stage: what goes in, what each step makes of it, what comes out."""

from typing import Any

import streamlit as st

from pages.start.walkthrough import attention, experiments
from pages.start.walkthrough import stage as panel
from pages.start.walkthrough.code import functions
from pages.start.walkthrough.facts import FACTS
from pages.start.walkthrough.words import SAID, words
from pages.ui import cache, controls, fragments, head_links, links, notices, page, text
from pages.ui.components.line_map import Area, Stop, line_map
from pages.ui.components.player import player
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.program import made
from pages.ui.reading import last_tokens, say_nothing_read, text_box
from tfcore import shipped
from tfcore.analysis.start.walk_tensors import OF_A_HEAD
from tfcore.analysis.start.walkthrough import WalkStage, first_head, walk_stages, walk_text
from tfcore.config import ModelConfig
from tfcore.figures.start.walkthrough import stage_height
from tfcore.measures.masked_tokens import mask_of

CHARACTERS = 2_000
TOKENS = 32
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
PARTS = {"read": "reading", "attention": "attention", "feed-forward": "feed-forward", "predict": "predicting"}
ROLES = {"read": "embedding", "attention": "attention", "feed-forward": "feedforward", "predict": "accent"}


PAPERS = (
    "The whole: arXiv:1706.03762 (Vaswani et al., 2017), figure 1. Parts that came later: RMSNorm arXiv:1910.07467, "
    "RoPE arXiv:2104.09864, SwiGLU arXiv:2002.05202, norms before each sublayer arXiv:2002.04745."
)
walked_text = cache.of_model(max_entries=24)(walk_text)
strongest = cache.of_model(max_entries=64)(first_head)


def fills_blanks(model_name: str) -> bool:
    """Whether the model guesses hidden tokens: there is then an id that stands for one."""
    model, tokenizer = cache.model(model_name)
    return model.config.head == "mlm" and mask_of(tokenizer, model.config.vocab_size) is not None


def areas(layer: int, path: tuple[WalkStage, ...]) -> list[Area]:
    """The parts of the map, each with its words."""
    found = []
    for part, title in PARTS.items():
        places = [i for i, stage in enumerate(path) if stage.part == part]
        if places:
            name = f"layer {layer}: {title}" if part in ("attention", "feed-forward") else title
            found.append(Area(first=places[0], last=places[-1], title=name, role=ROLES[part]))
    return found


def stop(config: ModelConfig, stage: WalkStage, after: WalkStage | None, layer: int, answer: str) -> Stop:
    """A stage as a stop of the map; its label goes under the line where a branch would cross it."""
    explained = words(config, stage.name, layer, answer)
    crossed = not stage.beside and (after is None or after.beside or stage.name.startswith("add-"))
    return Stop(
        label=explained.label,
        title=f"{explained.title} ({PARTS[stage.part]})",
        role=explained.role,
        beside=stage.beside,
        branch=ROLES[stage.part],
        under=crossed,
        carried=stage.name not in ("characters", "tokens", "ids", "final-norm", "mlm-head", "logits", "probabilities"),
    )


def overview(config: ModelConfig, path: tuple[WalkStage, ...], at: int, layer: int, answer: str) -> None:
    """The map on top."""
    line_map(
        "map",
        [stop(config, stage, after, layer, answer) for stage, after in zip(path, [*path[1:], None], strict=True)],
        areas(layer, path),
        at,
        label="The stages of a text through the model. Arrow keys step, a click goes there.",
        on_go=lambda to: controls.set_values(stage=path[to].name),
    )


def where(config: ModelConfig, stage: WalkStage, layer: int, head: int) -> str:
    """Part, block and head in words."""
    parts = [PARTS[stage.part]]
    if stage.part in ("attention", "feed-forward"):
        parts.append(f"layer {layer}, one of {config.n_layers}")
    if stage.name in OF_A_HEAD:
        parts.append(f"head {head}, one of {config.n_heads}")
    return " · ".join(parts)


@fragments.fragment
def stroll(model_name: str, pasted: str, hidden: int | None) -> None:
    """The map, its controls, and the stage where we are."""
    config: ModelConfig = cache.model(model_name)[0].config
    overview_place = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        buttons, slider = st.container(width=250), st.container(width="stretch")
        block, heads = st.container(width=140), st.container(width=140)
    begin = config.n_layers - 1, 0
    if model_name not in shipped() and not links.is_old():
        begin = strongest(model_name, pasted, TOKENS)
    with block:
        layer = controls.place("Layer", "layer", config.n_layers, begin[0])
    with heads:
        head = controls.place("Head", "head", config.n_heads, begin[1])
    path = walk_stages(config, layer)
    names = [stage.name for stage in path]
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
    walked = walked_text(model_name, pasted, TOKENS, layer, hidden)
    answer = f"'{text.visible(walked.candidates[0])}'" if walked.candidates else ""
    with overview_place:
        overview(config, path, at, layer, answer)

    explained, height = words(config, name, layer, answer), stage_height(len(walked.tokens))
    sentence, beside = st.columns(2, gap="large")
    with sentence, st.container(gap="xsmall"):
        st.caption(f"{at + 1} of {len(path)} · {where(config, path[at], layer, head)}")
        st.subheader(explained.title, anchor=False)
        st.markdown(explained.sentence)
    with beside:
        page.what_to_see(explained.see)
    if name == "top-5":
        panel.last_stage(walked, explained, height)
    elif name in panel.OF_TEXT:
        panel.text_stage(walked, name, explained, height)
    elif name in attention.STEPS:
        labels = {stage.name: words(config, stage.name, layer, answer).label for stage in path}
        there = head_links.of_ids(model_name, walked.walk.ids, layer, head, pasted)
        attention.show(walked, name, head, labels, there)
        panel.happened(walked, name, head)
        panel.as_numbers(walked, name, head, explained, height)
    else:
        panel.number_stage(walked, name, head, explained, height)
    facts, outcome = st.columns([3, 2], gap="large")
    with facts:
        panel.costs(walked.walk, name)
    with outcome:
        if walked.candidates and name not in ("characters", "top-5"):
            panel.prediction(walked, 190)
    walk = made(walk_text, model_name, pasted, TOKENS, layer, hidden)
    if name == "top-5" or name in panel.OF_TEXT:
        experiment = page.experiment(experiments.answer, walk, panel.TOP)
    else:
        experiment = page.experiment(experiments.stage, walk, name, head, "after")
    page.question(
        "At which stages can one token get any information about another?",
        "In attention only, from the scores to the weighted sum of values: a row of scores compares its query with the "
        "keys of other rows, and the weights then sum their values. Everything else, from the embedding to the last "
        "softmax, treats each row by itself.",
    )
    page.how_it_is_computed(
        experiment,
        formula=explained.equation,
        code=functions(walked.walk, name, cache.model(model_name)[1]),
        papers=PAPERS,
        terms=("Transformer", "residual stream", "logit"),
    )


page.begin(FACTS)
st.html(panel.STACKED)
box, choice = st.columns([3, 2])
with choice:
    model_name = models.choose("decoder", "encoder", why_not=models.silent)
with box:
    pasted = text_box(model_name, "Text", "text", TEXT, CHARACTERS, height=68, named=False)
offer_real(model_name, pasted)
followed = last_tokens(model_name, pasted, TOKENS)
if not pasted or not followed.ids:
    say_nothing_read(
        model_name, pasted, "text", "There is no text yet: type or paste some, or press Ctrl+Z in the box."
    )
    fragments.stop()
notices.tokens(followed.total, len(followed.ids), which="last")
hidden: int | None = None
if fills_blanks(model_name):
    last = len(followed.ids) - 1
    with choice, page.more_settings():
        hidden = controls.slider("Masked token", "hidden", 0, last, last)
page.try_this(TRY)
stroll(model_name, pasted, hidden)
