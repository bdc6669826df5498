"""Panels of the page on normalisation: LayerNorm and RMSNorm number by number, and over which axis."""

import math
import re
from typing import Any

import pandas as pd
import streamlit as st

from pages.block.normalisation import experiments
from pages.ui import cache, controls, fragments, notices, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from tfcore.analysis.block import normalisation
from tfcore.analysis.block.normalisation import (
    NORM_NAMES,
    AxisLeak,
    NormSteps,
    axis_changes,
    norm_divisors,
    normalisation_steps,
    normalise,
)
from tfcore.norms import layer_norm, rms_norm

steps = cache.data(max_entries=64)(normalisation_steps)
replace_token = cache.of_model(max_entries=256)(experiments.replace_token)

MOST = 32  # numbers
LARGEST = 1e6
CHARACTERS = 400
NUMBERS = "2, 4, 4, 5, 7, 8"
MODEL = "stories"
TEXTS = "The dog ran to the park\nShe saw a red ball there"
LETTERS = 20  # of what is no number, repeated
ROWS = 3  # texts of a batch
TOKENS = 6  # of each text


def read_numbers(pasted: str) -> tuple[float, ...]:
    """The numbers of a text, apart by commas, spaces or semicolons.

    Raises:
        ValueError: one sentence that says what is wrong and what would work.
    """
    words = [word for word in re.split(r"[\s,;]+", pasted.replace("−", "-")) if word]
    if not words:
        raise ValueError(f"There are no numbers yet: type some, such as {NUMBERS}.")
    if len(words) > MOST:
        raise ValueError(f"These are {len(words)} numbers, and the picture has room for {MOST}: leave some out.")
    numbers = []
    for word in words:
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or abs(number) > LARGEST or "_" in word:
            shown = text.escape(text.visible(text.shorten(word, LETTERS)))
            raise ValueError(f"“{shown}” is no number from −1,000,000 to 1,000,000: write them like {NUMBERS}.")
        numbers.append(number)
    return tuple(numbers)


def by_hand() -> None:
    """The panel of LayerNorm and RMSNorm on a few numbers."""
    page.try_this(
        {
            "add 100 to all": {"numbers": "102, 104, 104, 105, 107, 108"},
            "ten times": {"numbers": "20, 40, 40, 50, 70, 80"},
            "one outlier": {"numbers": "2, 4, 4, 5, 7, 80"},
            "all equal": {"numbers": "3, 3, 3, 3"},
            "initial γ and β": {"scale": 1.0, "shift": 0.0},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        pasted = controls.text_area("The features of one token", "numbers", NUMBERS, CHARACTERS, height=68)
        scale = controls.slider("Scale γ", "scale", -3.0, 3.0, 1.5, 0.1)
        shift = controls.slider("Shift β", "shift", -3.0, 3.0, 0.5, 0.1)
        power = controls.slider("ε: 10 to the power of", "eps10", -12, 1, -5)
    try:
        numbers = read_numbers(pasted)
    except ValueError as problem:
        right.info(str(problem))
        fragments.stop()
    layer, rms = (steps(numbers, kind, scale, shift, 10.0**power) for kind in NORM_NAMES)
    with right:
        shown = experiments.by_hand(numbers, scale, shift, 10.0**power)
        figure(
            shown.figure,
            key="steps",
            height=430,
            min_width=620,
            table=lambda: table(layer, rms),
            alt=shown.alt,
            caption=f"{shown.caption} “Size” is the root mean square.",
        )
    right.caption(norm_divisors(layer, rms).against_torch)
    every = table(layer, rms)
    digits = {column: st.column_config.NumberColumn(format="%.6f") for column in every}
    st.dataframe(every, hide_index=True, height=min(38 + 35 * len(numbers), 290), column_config=digits)
    page.what_to_see(
        "Multiply all numbers by ten, or add a hundred to each: LayerNorm gives the same result but for ε, since it "
        "subtracts the mean and divides by the standard deviation. RMSNorm only divides: the same for ten times the "
        "numbers, but not with a hundred added: numbers small beside that come out nearly alike. It needs no mean and "
        "has one parameter per feature, LayerNorm two. One outlier takes nearly all the size: before scale and shift, "
        "RMSNorm leaves the others near 0, LayerNorm near each other. If all are equal, only ε keeps LayerNorm from "
        "0 / 0."
    )
    page.question(
        "With ε = 0 and no scale or shift, what is the size (root mean square) of every vector after LayerNorm?",
        "Exactly 1, unless all its numbers are equal: the mean square of what is left after taking the mean away is "
        "the variance, and that is divided away. Its length is then √d, for every token, whatever its size was "
        "before. Move ε up and the size falls below 1.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.by_hand, numbers, scale, shift, 10.0**power),
        formula=(
            r"\mathrm{LayerNorm}(x) = \gamma\,\frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta \qquad "
            r"\mathrm{RMSNorm}(x) = \gamma\,\frac{x}{\sqrt{\tfrac1d \sum_i x_i^2 + \varepsilon}}"
        ),
        code=(normalise, layer_norm, rms_norm),
        papers="LayerNorm: arXiv:1607.06450, equations 3 and 4. RMSNorm: arXiv:1910.07467, equation 4.",
    )


def table(layer: NormSteps, rms: NormSteps) -> pd.DataFrame:
    """Every step of every number, and torch's result beside ours."""
    return pd.DataFrame(
        {
            "x": layer.stages[0],
            "x − mean": layer.stages[1],
            "÷ √(variance + ε)": layer.stages[2],
            "LayerNorm": layer.stages[3],
            "torch.nn.LayerNorm": layer.torch,
            "RMSNorm": rms.stages[3],
            "torch.nn.RMSNorm": rms.torch,
        }
    )


def lines_of(pasted: str) -> list[str]:
    """The first texts, a line each."""
    return [line.strip() for line in pasted.splitlines() if line.strip()][:ROWS]


def which_axis() -> None:
    """The panel of the right axis and three wrong ones."""
    st.markdown(
        "A batch has three axes, (sequence, token, feature). **LayerNorm and RMSNorm normalise over the features of "
        "one token.** Over another axis the code runs without an error, but tokens or sequences affect each other."
    )
    page.try_this(
        {
            "the last token": {"texts": TEXTS, "row": 0, "position": TOKENS - 1},
            "the other text": {"texts": TEXTS, "row": 1, "position": 0},
            "one text alone": {"texts": TEXTS.splitlines()[0], "row": 0, "position": 2},
            "RMSNorm": {"kind": "rmsnorm"},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        box = controls.text_row()
        kind = controls.segmented("Norm", "kind", list(NORM_NAMES), "layernorm", NORM_NAMES)
        model_name = models.choose(default=MODEL)
        pasted = text_box(
            model_name,
            "Sequences of one batch, one per line",
            "texts",
            TEXTS,
            CHARACTERS,
            height=100,
            kind="lines",
            row=box,
        )
        lines = lines_of(pasted)
        rows = experiments.batch_of(cache.model(model_name)[1], lines, TOKENS)
        if not rows:
            with right:
                say_nothing_read(model_name, pasted, "texts", "There is no text yet: type one to three lines.")
            fragments.stop()
        longest = max(first_tokens(model_name, line, TOKENS).total for line in lines)
        notices.tokens(longest, len(rows[0]), "longest sequence")
        row = controls.place("Text of the token to replace", "row", len(rows))
        position = controls.place("Its position", "position", len(rows[row]), 3)
    replaced = leak, tokens, other = replace_token(model_name, lines, TOKENS, row, position, kind)
    shown = experiments.which_axis(replaced, row, position)
    with right:
        old, new = (text.escape(text.visible(piece)) for piece in (tokens[row][position], other))
        st.markdown(
            f"In text {row}, token {position}, **{old}**, becomes **{new}**. How much does each token's normalised "
            "vector change?"
        )
        figure(
            shown.figure,
            key="axis",
            height=400,
            min_width=660,
            table=lambda: changes(leak, tokens),
            alt=shown.alt,
            caption=f"Embeddings ({len(rows)}, {len(rows[row])}, {models.config(model_name).d_model}) of "
            f"{model_name}; framed: the replaced token. {shown.caption}",
        )
    page.what_to_see(
        "Over the features, exactly one vector changes: zero everywhere else, to the last bit. Over the tokens, "
        "replacing the last one changes the first: **later tokens leak past the causal mask**. Over the texts, one "
        f"sequence of the batch changes another's result. {axis_changes(leak, row, position).sizes}"
    )
    offered = made(experiments.replace_token, model_name, lines, TOKENS, row, position, kind)
    page.question(
        "BatchNorm averages over the texts of a batch and works well for images. Why not here?",
        "Its averages depend on the other sequences of the batch and on their lengths; in generation, token by token "
        "and for one user, there is no such batch. Give only one text: over the texts, each feature has just one "
        "number, and LayerNorm there gives 0 for all of them.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.which_axis, offered, row, position),
        code=(normalise, normalisation.axis_leak),
        papers="Over the features: arXiv:1607.06450. Over the texts: batch normalisation, arXiv:1502.03167",
    )


def changes(result: AxisLeak, tokens: list[list[str]]) -> pd.DataFrame:
    """Every token's change, a column for each axis."""
    places: list[dict[str, Any]] = [
        {"text": r, "position": p, "token": piece} for r, line in enumerate(tokens) for p, piece in enumerate(line)
    ]
    return pd.DataFrame(places).assign(**{axis: change.ravel() for axis, change in result.change.items()})
