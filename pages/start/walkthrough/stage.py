"""One stage of the walk as the page shows it: before, after, what it cost, and the code that did it."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.start.walkthrough import experiments
from pages.start.walkthrough.words import Words
from pages.ui import fragments, keys, page, text
from pages.ui.components.figure import figure
from pages.ui.streamlit_internals import WRAPPER
from tfcore.analysis.finding import Finding
from tfcore.analysis.start.walk_costs import stage_share
from tfcore.analysis.start.walk_findings import stage_finding
from tfcore.analysis.start.walk_prediction import likeliest_token, text_counts, with_next_token
from tfcore.analysis.start.walk_tensors import ShownTensor, stage_tensors
from tfcore.analysis.start.walkthrough import Walk, WalkedText
from tfcore.measures.quantities import short

TOP = 5
# Before and after stand side by side in boxes of one height; where they are stacked, each is as high as it must be.
STACKED = f"""<style>@media (max-width: 640px) {{
  [class*=st-key-walk-], {WRAPPER}:has(> [class*=st-key-walk-]) {{
    height: auto !important; flex: 0 0 auto !important; }}
}}</style>"""
OF_TEXT = ("characters", "tokens", "ids")


def side_by_side(words: Words, height: int) -> tuple[Any, Any]:
    """Places for before and after, with an arrow between them that says what happens."""
    left, between, right = st.columns([8, 3, 8])
    with between, st.container(height=height, border=False, vertical_alignment="center", key="walk-arrow"):
        st.latex(r"\rule{0pt}{1.8em}\xrightarrow{\;" + words.arrow + r"\;}")
    return left, right


def text_stage(walked: WalkedText, stage: str, words: Words, height: int) -> None:
    """A stage of text alone, as chips. The first one shows what comes out at the other end as well."""
    tokens = walked.tokens
    hues = [i % 3 for i in range(len(tokens))]
    letters = [(letter, hue) for token, hue in zip(tokens, hues, strict=True) for letter in token]
    characters = [letter for letter, _ in letters]
    codes = [str(ord(letter)) for letter in characters]
    row: dict[str, dict[str, Any]] = {
        "characters": {"tokens": characters, "notes": codes, "label": "characters"},
        "letters": {"tokens": characters, "hues": [hue for _, hue in letters], "label": "characters"},
        "tokens": {"tokens": tokens, "hues": hues, "label": "tokens"},
        "ids": {"tokens": [str(i) for i in walked.walk.ids], "hues": hues, "label": "ids"},
    }
    first, second = {"characters": ("characters", ""), "tokens": ("letters", "tokens"), "ids": ("tokens", "ids")}[stage]
    left, right = side_by_side(words, height)
    with left, st.container(height=height, border=False, vertical_alignment="center", key="walk-before"):
        text.chips(**row[first], key="chips before")
    with right, st.container(height=height, border=False, vertical_alignment="center", key="walk-after"):
        if second:
            text.chips(**row[second], key="chips after")
        elif walked.candidates:
            prediction(walked, height - 60)
    note(text_counts(walked, stage))


def last_stage(walked: WalkedText, words: Words, height: int) -> None:
    """The most likely tokens, and the text with the first of them in its place."""
    written, new = with_next_token(walked)
    left, right = side_by_side(words, height)
    with left:
        prediction(walked, height)
    with right, st.container(height=height, border=False, vertical_alignment="center", key="walk-after"):
        text.chips(written, hues=[4 if i == new else 3 for i in range(len(written))], key="chips after", label="text")
    note(likeliest_token(walked))


def note(found: Finding) -> None:
    """What happened, in a sentence with its numbers."""
    st.markdown(f"**{text.escape(found)}**")


def number_stage(walked: WalkedText, stage: str, head: int, words: Words, height: int) -> None:
    """A stage of numbers: the tensors before and after, and what happened to them."""
    tensors = stage_tensors(walked.walk, stage, head)
    left, right = side_by_side(words, height)
    for place, when, pieces in ((left, "before", tensors.before), (right, "after", tensors.after)):
        shown = experiments.stage(walked, stage, head, when)
        with place:
            figure(
                shown.figure,
                key=when,
                height=height,
                min_width=300,
                alt=shown.caption,
                caption=str(shown.findings[0]),
                table=lambda p=pieces: table_of(p, walked.tokens, walked.candidates),
                cursor=pieces[0].columns in ("key", "candidate"),
            )
    happened(walked, stage, head)


def happened(walked: WalkedText, stage: str, head: int) -> None:
    """What a stage of numbers did, in a sentence."""
    note(stage_finding(walked.walk, stage_tensors(walked.walk, stage, head), stage, walked.tokens))


@fragments.fragment
def as_numbers(walked: WalkedText, stage: str, head: int, words: Words, height: int) -> None:
    """The tensors before and after as figures, once they are asked for."""
    drawer = st.expander(
        "Before and after, as numbers", page.OPEN, key=keys.own("expander", "before and after"), on_change="rerun"
    )
    if drawer.open:
        with drawer:
            number_stage(walked, stage, head, words, height)


def table_of(pieces: Sequence[ShownTensor], tokens: Sequence[str], candidates: Sequence[str]) -> pd.DataFrame:
    """The numbers of a picture, a row a token."""
    columns: dict[str, Any] = {"token": list(tokens)}
    for piece in pieces:
        for i in range(piece.values.shape[1]):
            name = candidates[i] if piece.columns == "candidate" else piece.first + i
            columns[f"{piece.title} {i if piece.columns == 'candidate' else ''}{name}"] = piece.values[:, i]
    return pd.DataFrame(columns)


def costs(walk: Walk, stage: str) -> None:
    """Parameters and operations of the stage, beside those of the whole model."""
    found = stage_share(walk.config, stage, len(walk.ids))
    left, right = st.columns(2)
    unsigned: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off"}
    left.metric("Parameters used", found.parameter_count, found.parameter_share, **unsigned)
    right.metric("Operations (FLOPs)", short(found.cost.flops), found.flop_share, **unsigned)


def prediction(walked: WalkedText, height: int) -> None:
    """The most likely tokens."""
    shown = experiments.answer(walked, TOP)
    likely = walked.walk.probabilities[walked.walk.position, :TOP]
    figure(
        shown.figure,
        key="next",
        height=height,
        alt=shown.alt,
        caption=f"The prediction. {shown.caption}",
        table=lambda: pd.DataFrame({"token": walked.candidates[:TOP], "probability": likely}),
    )
