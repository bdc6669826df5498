"""Panels of the page on normalisation: LayerNorm and RMSNorm number by number, and over which axis."""

import math
import re
from typing import Any

import pandas as pd
import streamlit as st

from pages.block.normalisation import experiments as experiments
from pages.ui import cache, controls, fragments, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models
from tfcore.analysis.block import normalising
from tfcore.analysis.block.normalising import AxisLeak, normalisation_steps, normalise
from tfcore.analysis.foundations import masks
from tfcore.config import Norm
from tfcore.figures.block import normalising as figures
from tfcore.norms import layer_norm, rms_norm

steps = cache.data(max_entries=64)(normalisation_steps)

MOST, LARGEST, CHARACTERS = 32, 1e6, 400
NUMBERS = "2, 4, 4, 5, 7, 8"
MODEL, TEXTS, ROWS, TOKENS = "stories", "The dog ran to the park\nShe saw a red ball there", 3, 6
KINDS: dict[Norm, str] = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}
AXES: dict[normalising.Axis, str] = {
    "features": "over the features: right",
    "tokens": "over the tokens: wrong",
    "texts": "over the texts: wrong",
    "everything": "over everything: wrong",
}


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
            shown = text.escape(text.visible(text.shorten(word, 20)))
            raise ValueError(f"“{shown}” is no number from −1,000,000 to 1,000,000: write them like {NUMBERS}.")
        numbers.append(number)
    return tuple(numbers)


def by_hand() -> None:
    """The panel of LayerNorm and RMSNorm on a few numbers."""
    st.latex(
        r"\mathrm{LayerNorm}(x) = \gamma\,\frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta \qquad "
        r"\mathrm{RMSNorm}(x) = \gamma\,\frac{x}{\sqrt{\tfrac1d \sum_i x_i^2 + \varepsilon}}"
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
    layer, rms = (steps(numbers, kind, scale, shift, 10.0**power) for kind in KINDS)
    n = len(numbers)
    finding = (
        f"mean {layer.mean:.4g}, variance {layer.variance:.4g}: LayerNorm divides by {layer.divisor:.4g}, "
        f"RMSNorm by {rms.divisor:.4g}"
    )
    with right:
        figure(
            figures.steps_figure(layer, rms),
            key="steps",
            height=430,
            min_width=620,
            table=lambda: table(layer, rms),
            alt=f"{n} numbers through LayerNorm and RMSNorm, step by step; {finding}.",
            caption=f"{n} features of one token; {finding}. “Size” is the root mean square.",
        )
    right.caption(
        f"Against torch.nn.LayerNorm and torch.nn.RMSNorm on the same numbers in float64: the last step differs by "
        f"{max(layer.difference, rms.difference):.1e} at most."
    )
    page.try_this(
        {
            "add 100 to all": {"numbers": "102, 104, 104, 105, 107, 108"},
            "ten times": {"numbers": "20, 40, 40, 50, 70, 80"},
            "one outlier": {"numbers": "2, 4, 4, 5, 7, 80"},
            "all equal": {"numbers": "3, 3, 3, 3"},
            "initial γ and β": {"scale": 1.0, "shift": 0.0},
        }
    )
    every = table(layer, rms)
    digits = {column: st.column_config.NumberColumn(format="%.6f") for column in every}
    st.dataframe(every, hide_index=True, height=min(38 + 35 * n, 290), column_config=digits)
    page.what_to_see(
        "Multiply all numbers by ten, or add a hundred to each: LayerNorm gives the same result but for ε, since it "
        "subtracts the mean and divides by the standard deviation. RMSNorm only divides: the same for ten times the "
        "numbers, but with a hundred added all come out alike. It needs no mean and has one parameter per feature, "
        "LayerNorm two. One outlier makes all the others small, in both. If all are equal, only ε keeps LayerNorm from "
        "0 / 0."
    )
    page.source(normalise, layer_norm, rms_norm)
    page.experiment(experiments.by_hand, numbers, scale, shift, 10.0**power)
    st.caption("LayerNorm: arXiv:1607.06450, equations 3 and 4. RMSNorm: arXiv:1910.07467, equation 4.")
    page.question(
        "With ε = 0 and no scale or shift, what is the size (root mean square) of every vector after LayerNorm?",
        "Exactly 1: the mean square of what is left after taking the mean away is the variance, and that is divided "
        "away. Its length is then √d, for every token, whatever its size was before. Move ε up and the size falls "
        "below 1.",
    )


def table(layer: normalising.Steps, rms: normalising.Steps) -> pd.DataFrame:
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


@cache.data(max_entries=64)
def rows_of(model_name: str, pasted: str) -> tuple[list[list[int]], list[list[str]]]:
    """Up to three texts, a line each, cut to the length of the shortest: ids and pieces."""
    tokenizer = cache.model(model_name)[1]
    found = [tokenizer.encode(line.strip()) for line in pasted.splitlines() if line.strip()][:ROWS]
    n = min([TOKENS, *(len(ids) for ids in found)])
    rows = [ids[:n] for ids in found] if n else []
    return rows, [tokenizer.tokens(ids) for ids in rows]


@cache.data(max_entries=256)
def leak(model_name: str, pasted: str, row: int, position: int, kind: Norm) -> tuple[AxisLeak, str]:
    """Who changes when a token does, and which token was put there."""
    model, tokenizer = cache.model(model_name)
    rows = rows_of(model_name, pasted)[0]
    other = masks.replacement_for(tokenizer.encode, rows[row][position])
    return normalising.axis_leak(model, rows, row, position, other, kind), tokenizer.tokens([other])[0]


def which_axis() -> None:
    """The panel of the right axis and three wrong ones."""
    st.markdown(
        "A batch has three axes, (sequence, token, feature). **LayerNorm and RMSNorm normalise over the features of "
        "one token.** Over another axis the code runs without an error, but tokens or sequences affect each other."
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        pasted = controls.text_area("Sequences of one batch, one per line", "texts", TEXTS, CHARACTERS, height=100)
        kind = controls.segmented("Norm", "kind", list(KINDS), "layernorm", KINDS)
        model_name = models.choose(default=MODEL)
        rows, tokens = rows_of(model_name, pasted)
        if not rows:
            right.info("There is no text yet: type one to three lines.")
            fragments.stop()
        row = controls.slider("Text of the token to replace", "row", 0, len(rows) - 1, 0)
        position = controls.slider("Its position", "position", 0, len(rows[0]) - 1, min(3, len(rows[0]) - 1))
    result, other = leak(model_name, pasted, row, position, kind)
    total = len(rows) * len(rows[0]) - 1
    labels = [text.tick_labels(line, 9) for line in tokens]
    found = {axis: result.others(axis, row, position) for axis in AXES}
    with right:
        old, new = (text.escape(text.visible(piece)) for piece in (tokens[row][position], other))
        st.markdown(
            f"In text {row}, token {position}, **{old}**, becomes **{new}**. How much does each token's normalised "
            "vector change?"
        )
        words = "; ".join(
            f"{AXES[axis].partition(':')[0]} {count} of {total} other tokens change"
            + (f", by up to {most:.2g}" if count else "")
            for axis, (count, most) in found.items()
        )
        figure(
            figures.axis_figure(result, labels, (row, position), AXES, 400),
            key="axis",
            height=400,
            min_width=660,
            table=lambda: changes(result, tokens),
            alt=f"Replacing token {position} of text {row}: {words}.",
            caption=f"Embeddings ({len(rows)}, {len(rows[0])}, {models.config(model_name).d_model}) of "
            f"{model_name}; framed: the replaced token. {words[0].upper()}{words[1:]}.",
        )
    page.try_this(
        {
            "the last token": {"texts": TEXTS, "row": 0, "position": TOKENS - 1},
            "the other text": {"texts": TEXTS, "row": 1, "position": 0},
            "one text alone": {"texts": TEXTS.splitlines()[0], "row": 0, "position": 2},
            "RMSNorm": {"kind": "rmsnorm"},
        }
    )
    worst = result.spread
    page.what_to_see(
        "Over the features, exactly one vector changes: zero everywhere else, to the last bit. Over the tokens, "
        "replacing the last one changes the first: **later tokens leak past the causal mask**. Over the texts, one "
        "sequence of the batch changes another's result. Nor "
        f"is the size kept: over the features each vector ends within {worst['features']:.0e} of 1, over the "
        f"tokens one is off by {worst['tokens']:.2f}."
    )
    page.source(normalise, normalising.axis_leak)
    lines = [line.strip() for line in pasted.splitlines() if line.strip()][:ROWS]
    page.experiment(experiments.which_axis, model_name, lines, TOKENS, row, position, kind)
    st.caption("Over the features: arXiv:1607.06450. Over the texts: batch normalisation, arXiv:1502.03167")
    page.question(
        "BatchNorm averages over the texts of a batch and works well for images. Why not here?",
        "Its averages depend on the other sequences of the batch and on their lengths; in generation, token by token "
        "and for one user, there is no such batch. Give only one text: over the texts, each feature has just one "
        "number, and LayerNorm there gives 0 for all of them.",
    )


def changes(result: AxisLeak, tokens: list[list[str]]) -> pd.DataFrame:
    """Every token's change, a column for each axis."""
    places: list[dict[str, Any]] = [
        {"text": r, "position": p, "token": piece} for r, line in enumerate(tokens) for p, piece in enumerate(line)
    ]
    return pd.DataFrame(places).assign(**{axis: change.ravel() for axis, change in result.change.items()})
