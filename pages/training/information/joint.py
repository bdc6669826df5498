"""Panel of the page on information: a joint table to drag, and its mutual information three ways."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.training.information import experiments
from pages.ui import cache, controls, fragments, page, text
from pages.ui.components import bars
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.training import mutual_information as analysis
from tfcore.analysis.training.mutual_information import KINDS
from tfcore.figures.shown import Shown

CHARACTERS = 2_000
TEXT = (
    "Once upon a time, there was a little girl named Lily. She loved to play in the garden with her dog. One day the "
    "dog ran away, and Lily looked for him behind the house, under the trees and near the pond. There he was, wet and "
    "happy, with a big red ball. Lily laughed and gave him a hug."
)
SOURCES = {"hand": "By hand", "letters": "Letters of a text"}
MOST = 4  # values of each variable
HEIGHTS = {2: 110, 3: 84, 4: 70}  # of a cell, by the number of rows
METRICS = {
    "I(X; Y)": "mutual information, bits",
    "H(X)": "bits of X alone",
    "H(Y)": "bits of Y alone",
    "H(X, Y)": "bits of both together",
    "H(X | Y)": "bits of X that are left when Y is known",
}

counted = cache.data(max_entries=128)(analysis.neighbours)


def hand(*rows: Sequence[int]) -> dict[str, Any]:
    """What a "try this" button sets."""
    down, across = len(rows), len(rows[0])
    weights = bars.written(tuple(cell for row in rows for cell in row))
    return {"cells": "hand", "down": down, "across": across, f"j{down}{across}": weights}


TRY: dict[str, dict[str, Any]] = {
    "independent": hand((42, 18), (28, 12)),
    "one decides the other": hand((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "a noisy copy": hand((45, 5), (5, 45)),
    "uncorrelated, but dependent": hand((0, 1), (1, 0), (0, 1)),
    "four of four": hand((4, 1, 1, 1), (1, 4, 1, 1), (1, 1, 4, 1), (1, 1, 1, 4)),
    "letters that follow each other": {"cells": "letters", "apart": 1, "text": TEXT},
}


def first(down: int, across: int) -> tuple[int, ...]:
    """A table to begin with: most of it on the diagonal."""
    return tuple(6 if i == j else 1 + (i + j) % 2 for i in range(down) for j in range(across))


def panel() -> None:
    """A joint table and its mutual information."""
    page.try_this(TRY)
    which, rest = st.columns([2, 5], vertical_alignment="bottom")
    with which:
        source = controls.segmented("Table", "cells", list(SOURCES), "hand", SOURCES, named=False)
    latest = page.Latest()
    if source == "hand":
        _by_hand(latest)
    else:
        _of_letters(rest, latest)
    page.what_to_see(
        "Each cell is the probability that X takes its row and Y its column. The bars overlap by the mutual "
        "information: knowing Y reduces the entropy of X by I(X; Y), and knowing X that of Y by as much. Red cells are "
        "more probable than if X and Y were independent, blue ones less; their sum is never below 0. A table whose "
        "rows are all proportional has none: X and Y are independent."
    )
    page.question(
        "X is −1, 0 or 1, each a third of the time, and Y = X². Their correlation is 0. What is I(X; Y)?",
        "0.918 bits, all that Y has: X decides Y. Correlation only measures linear dependence; mutual information any "
        "dependence. Try the fourth button.",
    )
    page.how_it_is_computed(
        latest,
        formula=(
            r"I(X; Y) = H(X) + H(Y) - H(X, Y) = H(X) - H(X \mid Y) = "
            r"\sum_{x, y} p(x, y) \log_2 \frac{p(x, y)}{p(x)\,p(y)}"
        ),
        code=(analysis.joint_information, analysis.conditional_entropy),
        papers=(
            "Cover and Thomas, Elements of Information Theory, chapter 2. What a model's layers keep of their input "
            "has been studied by it, with care needed in measuring: arXiv:1703.00810. Counts of a short text "
            "overestimate it a little."
        ),
    )


@fragments.fragment
def _by_hand(latest: page.Latest) -> None:
    left, right = st.columns([2, 3], gap="large")
    with left:
        down = controls.slider("Values of X (rows)", "down", 2, MOST, 3)
        across = controls.slider("Values of Y (columns)", "across", 2, MOST, 3)
        key = f"j{down}{across}"
        cells = bars.read(key, first(down, across))
        rows, columns = [f"x{i + 1}" for i in range(down)], [f"y{i + 1}" for i in range(across)]
        _board(key, cells, rows, columns, fixed=False)
    shares = bars.shares(cells)
    table = [list(shares[i * across : (i + 1) * across]) for i in range(down)]
    with right:
        _numbers(experiments.joint(table), np.array(table), rows, columns)
    latest.offer(experiments.joint, table)


def _of_letters(above: DeltaGenerator, latest: page.Latest) -> None:
    with above:
        pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=68, named=False)
    left, right = st.columns([2, 3], gap="large")
    with left:
        apart = controls.slider("Y comes how many characters after X", "apart", 1, 20, 1)
    counts = counted(pasted, apart)
    if not counts.any():
        st.info(f"The text is too short: it takes more than {apart} characters to have a pair that far apart.")
        return
    with left:
        st.caption(str(analysis.pair_count(counts, apart)))
        _board("letters", tuple(counts.ravel().tolist()), KINDS, KINDS, fixed=True)
    with right:
        _numbers(experiments.letters(counts, apart), counts / counts.sum(), KINDS, KINDS)
    latest.offer(experiments.letters, made(analysis.neighbours, pasted, apart), apart)


def _board(key: str, cells: tuple[int, ...], rows: Sequence[str], columns: Sequence[str], *, fixed: bool) -> None:
    names = [f"{row} and {column}" for row in rows for column in columns]
    bars.show(
        key,
        cells,
        names,
        label="joint distribution",
        hue=2,
        height=HEIGHTS[len(rows)],
        rows=rows,
        columns=columns,
        top=1.2 / min(len(rows), len(columns)),
        fixed=fixed,
    )


def _numbers(shown: Shown, table: np.ndarray, rows: Sequence[str], columns: Sequence[str]) -> None:
    """The three ways, and the pictures."""
    result = analysis.joint_information(table)

    def numbers() -> pd.DataFrame:
        return pd.DataFrame(
            [
                {
                    "X": row,
                    "Y": column,
                    "p": result.table[i, j],
                    "p(x) p(y)": result.product[i, j],
                    "adds": result.terms[i, j],
                }
                for i, row in enumerate(rows)
                for j, column in enumerate(columns)
            ]
        )

    figure(shown.figure, key="overlap", height=220, table=numbers, alt=shown.alt, caption=shown.alt)
    metrics = analysis.shared_information(result).metrics
    with st.container(horizontal=True, gap="small"):
        for name, words in METRICS.items():
            st.metric(name, metrics[name], help=words, width=94)
    st.markdown(f"**Checked now, three ways**: {text.escape(analysis.three_ways(result))}")
    cells = experiments.cells(table, rows, columns)
    figure(
        cells.figure,
        key="cells",
        height=260,
        table=numbers,
        alt=f"What each cell adds to the mutual information. {cells.alt}",
        caption=f"p(x, y) log₂ p(x, y) / p(x) p(y) of each cell, shape (X, Y) = {table.shape}. {cells.caption}",
    )
