"""Ablation, scaling and activation patching inside a trained model, and what it then predicts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.interventions import inputs as attributing
from pages.inside.interventions import patch as patching
from pages.inside.interventions import sets as prompts
from pages.inside.interventions import switch as switching
from pages.inside.interventions.defaults import said_always
from pages.inside.interventions.facts import FACTS
from pages.inside.reading import ReadText
from pages.ui import controls, in_your_text, links, notices, page
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import text_box
from tfcore.config import ModelConfig
from tfcore.views.inside.interventions import patches, switches
from tfcore.views.inside.interventions.inputs import LONGEST

CHARACTERS = 1_000
REAL = "smollm2"  # a model that knows more than children's stories
TEXT = _reading.BOY
BALL = "Once upon a time there was a little girl named Lily. Lily had a red ball. One day Lily lost the red"
MAX, HAT = "Max had a red ball. One day Max lost the red", "Max had a red hat. One day Max lost the red"
# what draws each section of one text, and how many tokens it reads; that of a set of prompts reads many texts
SECTIONS: dict[str, tuple[Callable[[ReadText, Any], None], int]] = {
    "switch": (switching.switch, switches.TOKENS),
    "patch": (patching.patch, patches.TOKENS),
    "inputs": (attributing.inputs, LONGEST),
}
SETS = FACTS.sections.names["sets"]
USUAL = {"bos": "as usual"}
HERE = {"show": "switch", "where": switching.EVERYWHERE, "edit": "own", "by": "prediction", "word": 0}
PATCHED = {"show": "patch", "by": patching.FOUND}
HE_SHE = metric.two_tokens(" he", " she")
TRY: dict[str, dict[str, Any]] = {
    "a boy becomes a girl": {**HERE, "text": TEXT, "parts": "2.5", "action": "scale", "factor": -2.0},
    "zero-ablate head 2.5": {**HERE, "text": TEXT, "parts": "2.5", "action": "zero"},
    "“he” against “she”": {**HERE, "edit": "strongest", "text": TEXT, **HE_SHE, "action": "zero"},
    "heads 3.0, 3.1 and 3.2": {**HERE, "text": BALL, "parts": "3.0 3.1 3.2", "action": "zero"},
    "attention 2 moves it": {
        **PATCHED,
        "text": TEXT,
        "other": patching.OTHER,
        "kind": "attention",
        "row": 2,
        "position": 11,
    },
    "which word makes it “he”?": {
        "show": "inputs",
        "text": TEXT,
        "baseline": "text",
        "counter": attributing.OTHER,
        **HE_SHE,
    },
    "ball or hat": {**PATCHED, "text": MAX, "other": HAT, "kind": "residual", "row": 4, "position": 12},
}
NAMES = "When Mary and John went to the store, {} gave a drink to"
JOHN, MARY = NAMES.format("John"), NAMES.format("Mary")
AGAINST = metric.two_tokens(" Mary", " John")  # arXiv:2211.00593, section 2
TRY_REAL: dict[str, dict[str, Any]] = {
    "Mary or John? (smollm2)": {"show": "switch", "text": JOHN, "edit": "strongest", **AGAINST},
    "Mary or John, patched (smollm2)": {**PATCHED, "text": JOHN, "other": MARY, "kind": "residual"},
    "Mary or John, which words? (smollm2)": {
        "show": "inputs",
        "text": JOHN,
        "baseline": "text",
        "counter": attributing.LETTER,
        **AGAINST,
    },
}

TRY_SETS: dict[str, dict[str, Any]] = {
    "boys and girls": {"model": "stories", "set": "genders", "board": "ablation"},
    "which toy was lost?": {"model": "stories", "set": "copies", "board": "ablation"},
}
TRY_SETS_REAL: dict[str, dict[str, Any]] = {
    "twelve pairs of names (smollm2)": {"model": REAL, "set": "names (IOI)", "board": "ablation"},
    "capitals, patched (smollm2)": {"model": REAL, "set": "capitals", "board": "patching"},
}


def without_answers(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why a model does not say what comes next, or None."""
    return models.no_decoder(config) or models.silent(config, tokenizer)


def answerless(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why a model says neither what comes next nor what class a text has, or None."""
    if config.classes is None:
        return without_answers(config, tokenizer)
    if config.classes.meaning == "one" and config.classes.place == "each":
        return "it gives each token a class, and what is measured here is one answer to a whole text."
    return models.other_scores(config)


to_sets = controls.last("show") == "sets" or (links.asked("show") or "").casefold() in ("sets", SETS.casefold())

page.begin(FACTS, always=models.always() if to_sets else said_always())
box, beside = st.columns([4, 1], vertical_alignment="bottom")
above = st.container()
row = st.container(horizontal=True, gap="medium", vertical_alignment="bottom")
with row:
    section = controls.sections(FACTS.sections)
has_real = REAL in models.fitting("decoder", why_not=models.silent)
with beside:
    first = models.first() if section == "sets" else models.DEFAULT
    why_not = without_answers if section == "sets" else answerless
    model = models.choose(default=first, why_not=why_not, reads="the stream")
with row:
    more, bos = _reading.more_settings(model)
if section == "sets":
    with above:
        real_sets = {name: {**USUAL, **values} for name, values in TRY_SETS_REAL.items()} if has_real else {}
        page.try_this({**real_sets, **{name: {**USUAL, **values} for name, values in TRY_SETS.items()}})
    prompts.sets(model, bos, box)
else:
    with box:
        pasted = text_box(model, "Text", "text", TEXT, CHARACTERS, height=68, named=False)
    with above:
        offer_real(model, pasted)
        examples = {name: {"model": "stories", **USUAL, **values} for name, values in TRY.items()}
        if has_real:
            examples |= {name: {"model": REAL, **USUAL, **values} for name, values in TRY_REAL.items()}
        page.try_this(examples)
    show, limit = SECTIONS[section]
    notices.drop("tokens of other text")  # unless it is still on the page
    reading = _reading.checked(model, pasted, limit, bos=bos)
    with above:
        in_your_text.above(pasted)
    show(reading, more)
    read_at = models.config(model).read_at % len(reading.ids)
    in_your_text.fill(reading.whole, limit, partial(switching.shows, read_at))
