"""Paste a text, see the attention of every head of a trained model."""

from typing import Any

import streamlit as st

from pages.foundations.heads.compare import side_by_side
from pages.foundations.heads.cuts import cuts
from pages.foundations.heads.every_head import every_head
from pages.foundations.heads.facts import FACTS
from pages.foundations.heads.reading import (
    CHARACTERS,
    DEFAULT_MODEL,
    PARTS,
    TEXT,
    TIRED,
    Choice,
    about_ids,
    model_parts,
    read,
    tell_dropped,
)
from pages.foundations.heads.why import why
from pages.ui import controls, fragments, page
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import choose_bos, say_nothing_read, text_box

NONSENSE = "zab mip tol wex run fod zab mip tol wex run fod"
WIDE = "The animal didn't cross the street because it was too wide."
_IT = {"rank": "pair", "sort": "score"}
TRY: dict[str, dict[str, Any]] = {
    "induction": {"model": "stories", "text": TEXT, "layer": 3, "head": 0, "token": 25},
    "previous token": {"model": "stories", "text": TEXT, "layer": 1, "head": 1, "token": 25},
    "too tired": {
        "model": "minilm", "text": TIRED, "layer": 3, "head": 1, "token": 10, "from": 10, "to": 2, **_IT
    },
    "too wide": {
        "model": "minilm", "text": WIDE, "layer": 3, "head": 1, "token": 10, "from": 10, "to": 2, **_IT
    },
    "“it” → “animal”": {
        "model": "smollm2", "text": TIRED, "layer": 13, "head": 8, "token": 8, "from": 8, "to": 1, **_IT
    },
    "attention alone": {"model": "induction", "text": NONSENSE, "layer": 1, "head": 3, "token": 32},
    "an encoder": {"model": "fill", "text": TEXT, "layer": 1, "head": 1, "token": 25},
}  # fmt: skip
SINK = (
    "The first token takes much of the weight in many models, whatever it is (an attention sink). Without it, and "
    "without the tokens that a tokenizer puts around a text, such as [CLS] and [SEP], the other weights of each row "
    "are divided by their sum."
)
SHOW = {"heads": every_head, "why": why, "compare": side_by_side, "cuts": cuts}

page.begin(FACTS)
box, choice = st.columns([4, 1], vertical_alignment="bottom")
with choice:
    name = models.choose(default=DEFAULT_MODEL)
with box:
    pasted = text_box(name, "Text", "text", TEXT, CHARACTERS, height=68, named=False)
offer_real(name, pasted)
usual = {
    "show": "heads",
    "of": "head",
    "rank": "kind",
    "sort": "place",
    "kind": "all",
    "hide": False,
    "bos": "as usual",
}
there = models.names()
tries = st.container()
parts = model_parts(name)
hide_sink, log, bos, more = False, False, None, None
with st.container(horizontal=True, vertical_alignment="bottom"):
    section = controls.sections(FACTS.sections)
    *_, part = parts
    if "cross" in parts:
        part = controls.segmented("Attention of", "part", parts, part, PARTS, named=False)
    if section != "cuts":
        more = page.more_settings()
        with more:
            bos = choose_bos(name)
        if section != "why":
            with more:
                hide_sink = controls.toggle("Hide first token", "hide", help=SINK)
                log = controls.toggle(
                    "Log scale",
                    "log",
                    help="Colours by the logarithm of the weight: weights from 0.001 on can be told apart.",
                )
if section == "heads":
    with tries:
        page.try_this({label: {**usual, **values} for label, values in TRY.items() if values["model"] in there})
if not pasted:
    st.info("There is no text yet: type or paste some above, or pick an example.")
    fragments.stop()
reading = read(name, pasted, part, bos, hide_sink)
if reading is None:
    say_nothing_read(
        name, pasted, "text", "The tokenizer of this model makes no token of this text: type something else."
    )
    fragments.stop()
if said := about_ids(name, pasted):
    st.caption(said)
tell_dropped(reading)
SHOW[section](Choice(reading, name, pasted, part, bos, hide_sink, log, tries, more))
