"""Train a model here and now: a task, a model, an optimiser; its curves, its attention and its answers as it learns."""

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.training.lab import run as _lab_run
from pages.training.lab import watch as _lab_watch
from pages.training.lab.choices import changes
from pages.training.lab.facts import FACTS
from pages.training.lab.runs import compare, keep
from pages.training.lab.settings import choose, values
from pages.ui import controls, page
from tfcore.training.lab.recipes import recipe
from tfcore.training.lab.spec import LabSpec


def asked(spec: LabSpec) -> dict[str, Any]:
    """What a button to try sets: every control, and that the training begins."""
    return {**values(spec), "show": "train", _lab_run.BEGIN: True}


TRY = {
    "induction": asked(recipe("induction")),
    "one layer: cannot": asked(replace(recipe("induction"), n_layers=1)),
    "copy": asked(recipe("copy")),
    "reverse": asked(recipe("reverse")),
    "sort": asked(recipe("sort")),
    "a text": asked(recipe("characters")),
    "with dropout": asked(replace(recipe("characters"), dropout=0.2)),
    "grokking (a minute)": asked(recipe("addition")),
    "too high a learning rate": asked(replace(recipe("copy"), lr=0.1)),
}

page.begin(FACTS)
page.try_this(TRY)
top = st.container(horizontal=True, horizontal_alignment="distribute")
with top:
    section = controls.sections(FACTS.sections)
left, right = st.columns([1, 2], gap="large")
with left:
    now = choose()
seen = _lab_run.present(now)
with right:
    if _lab_run.is_closed():
        st.info("Nothing is trained on this server: whoever runs it has closed the lab (TFCORE_RUNS=0).")
    if section == "changes":
        changes(now, seen, _lab_run.mine())
    elif section == "compare":
        compare(seen, _lab_run.mine())
    else:
        with top:
            _lab_run.bar(seen, now)
        _lab_watch.watch(seen, now)
        if seen is not None:
            keep(seen)
if section == "train":
    _lab_watch.words(seen.spec if seen is not None else now)
