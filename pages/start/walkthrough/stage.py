"""One stage of the walk as the page shows it: before, after, what it cost, and the code that did it."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.start.walkthrough.words import Words
from pages.ui import text
from pages.ui.components.figure import figure
from pages.ui.streamlit_internals import WRAPPER
from tfcore.analysis.model.flop_count import flops
from tfcore.analysis.model.parameter_count import parameters
from tfcore.analysis.start.walk_costs import stage_cost
from tfcore.analysis.start.walk_findings import finding
from tfcore.analysis.start.walk_steps import Piece, step
from tfcore.analysis.start.walkthrough import Walk
from tfcore.figures.guesses import guesses_figure
from tfcore.figures.model.parameters import short
from tfcore.figures.start import walkthrough as figures

TOP = 5
# Before and after stand side by side in boxes of one height; where they are stacked, each is as high as it must be.
STACKED = f"""<style>@media (max-width: 640px) {{
  [class*=st-key-walk-], {WRAPPER}:has(> [class*=st-key-walk-]) {{
    height: auto !important; flex: 0 0 auto !important; }}
}}</style>"""
OF_TEXT = ("characters", "tokens", "ids")


def height_of(n: int) -> int:
    """Of the pictures of a text of n tokens, the same at every stage."""
    return min(max(190 + 16 * n, 330), 600)


def side_by_side(said: Words, height: int) -> tuple[Any, Any]:
    """Places for before and after, with an arrow between them that says what happens."""
    left, between, right = st.columns([8, 3, 8])
    with between, st.container(height=height, border=False, vertical_alignment="center", key="walk-arrow"):
        st.latex(r"\rule{0pt}{1.8em}\xrightarrow{\;" + said.arrow + r"\;}")
    return left, right


def text_stage(
    walk: Walk, stage: str, tokens: Sequence[str], candidates: Sequence[str], said: Words, height: int
) -> None:
    """A stage of text alone, as chips. The first one shows what comes out at the other end as well."""
    hues = [i % 3 for i in range(len(tokens))]
    letters = [(letter, hue) for token, hue in zip(tokens, hues, strict=True) for letter in token]
    characters, n = [letter for letter, _ in letters], len(letters)
    codes = [str(ord(letter)) for letter in characters]
    row: dict[str, dict[str, Any]] = {
        "characters": {"tokens": characters, "notes": codes, "label": "characters"},
        "letters": {"tokens": characters, "hues": [hue for _, hue in letters], "label": "characters"},
        "tokens": {"tokens": tokens, "hues": hues, "label": "tokens"},
        "ids": {"tokens": [str(i) for i in walk.ids], "hues": hues, "label": "ids"},
    }
    first, second, found = {
        "characters": ("characters", "", f"{n} characters go in; under each is its number in Unicode"),
        "tokens": (
            "letters",
            "tokens",
            f"{n} characters became {len(tokens)} tokens, {n / len(tokens):.1f} characters each on average",
        ),
        "ids": (
            "tokens",
            "ids",
            f"{len(tokens)} tokens, {len(set(walk.ids))} different ids of {walk.config.vocab_size:,}",
        ),
    }[stage]
    left, right = side_by_side(said, height)
    with left, st.container(height=height, border=False, vertical_alignment="center", key="walk-before"):
        text.chips(**row[first], key="chips before")
    with right, st.container(height=height, border=False, vertical_alignment="center", key="walk-after"):
        if second:
            text.chips(**row[second], key="chips after")
        elif candidates:
            prediction(walk, candidates, height - 60, "next")
    note(found)


def last_stage(walk: Walk, tokens: Sequence[str], candidates: Sequence[str], said: Words, height: int) -> None:
    """The most likely tokens, and the text with the first of them in its place."""
    fills = walk.config.architecture == "encoder"
    written = (
        [*tokens[: walk.position], candidates[0], *tokens[walk.position + 1 :]] if fills else [*tokens, candidates[0]]
    )
    new = walk.position if fills else len(tokens)
    left, right = side_by_side(said, height)
    with left:
        prediction(walk, candidates, height, "next")
    with right, st.container(height=height, border=False, vertical_alignment="center", key="walk-after"):
        text.chips(written, hues=[4 if i == new else 3 for i in range(len(written))], key="chips after", label="text")
    shown, likely = text.visible(candidates[0]), walk.probabilities[walk.position, 0]
    note(f"With the likeliest token, '{shown}' ({likely:.1%}), the text goes on")


def note(found: str) -> None:
    """What happened, in a sentence with its numbers."""
    st.markdown(f"**{text.escape(found)}.**")


def number_stage(
    walk: Walk, stage: str, head: int, tokens: Sequence[str], candidates: Sequence[str], said: Words, height: int
) -> None:
    """A stage of numbers: the tensors before and after."""
    made, labels = step(walk, stage, head), text.tick_labels(tokens)
    found = finding(walk, made, stage, [text.visible(token) for token in tokens])
    limits = [figures.limit_of(pieces) for pieces in (made.before, made.after)]
    if made.compared:
        limits = [max(limits)] * 2
    left, right = side_by_side(said, height)
    for place, name, pieces, limit in zip(
        (left, right), ("before", "after"), (made.before, made.after), limits, strict=True
    ):
        shapes = ", ".join(f"{piece.title} {shape_of(piece)}" for piece in pieces)
        with place:
            figure(
                figures.pieces_figure(
                    pieces, labels, limit=limit, height=height, sign=made.sign, candidates=text.tick_labels(candidates)
                ),
                key=name,
                height=height,
                min_width=300,
                alt=f"{name.capitalize()} stage {stage}: {shapes}. {found}.",
                caption=f"{name.capitalize()}: {shapes}. {scale_of(pieces, limit)}",
                table=lambda p=pieces: table_of(p, tokens, candidates),
                cursor=pieces[0].columns in ("key", "candidate"),
            )
    note(found)


def shape_of(piece: Piece) -> str:
    return f"({', '.join(piece.axes)}) = ({', '.join(f'{side:,}' for side in piece.shape)})"


def scale_of(pieces: Sequence[Piece], limit: float) -> str:
    """How to read the colours."""
    parts = []
    if any(not piece.weights and piece.columns != "id" for piece in pieces):
        parts.append(f"Red above 0, blue below, full colour from ±{limit:g}.")
    if any(piece.weights for piece in pieces):
        parts.append("Violet: a weight from 0 to 1.")
    return " ".join(parts)


def table_of(pieces: Sequence[Piece], tokens: Sequence[str], candidates: Sequence[str]) -> pd.DataFrame:
    """The numbers of a picture, a row a token."""
    columns: dict[str, Any] = {"token": list(tokens)}
    for piece in pieces:
        for i in range(piece.values.shape[1]):
            name = candidates[i] if piece.columns == "candidate" else piece.first + i
            columns[f"{piece.title} {i if piece.columns == 'candidate' else ''}{name}"] = piece.values[:, i]
    return pd.DataFrame(columns)


def costs(walk: Walk, stage: str) -> None:
    """Parameters and operations of the stage, beside those of the whole model."""
    n, config = len(walk.ids), walk.config
    cost, total = stage_cost(config, stage, n), parameters(config).total
    every = flops(config, n).sequence
    tied = stage == "logits" and config.tie_embeddings
    left, right = st.columns(2)
    share = "the embedding table again" if tied else f"{part_of(cost.parameters, total)} of all parameters"
    left.metric(
        "Parameters used",
        f"{cost.parameters:,}",
        share if cost.parameters else "nothing learned here",
        delta_color="off",
        delta_arrow="off",
    )
    kind = f"{part_of(cost.flops, every)} of one pass" if cost.product else "no matrix product"
    right.metric(
        "Operations (FLOPs)",
        short(cost.flops),
        kind if cost.flops else "no arithmetic",
        delta_color="off",
        delta_arrow="off",
    )


def part_of(count: int, whole: int) -> str:
    share = count / whole
    return f"{share:.1%}" if share >= 0.001 else "below 0.1%"


def prediction(walk: Walk, candidates: Sequence[str], height: int, key: str) -> None:
    """The most likely tokens."""
    likely, names = walk.probabilities[walk.position, :TOP], candidates[:TOP]
    shown = ", ".join(f"'{text.visible(name)}' {p:.1%}" for name, p in zip(names, likely, strict=True))
    figure(
        guesses_figure(likely, text.tick_labels(names), height),
        key=key,
        height=height,
        alt=f"The {len(names)} most likely tokens: {shown}.",
        caption=f"The prediction: the {len(names)} most likely of {walk.config.vocab_size:,} tokens.",
        table=lambda: pd.DataFrame({"token": list(names), "probability": likely}),
    )
