"""Panel of the page on quantisation: held-out loss against bits, and what a model writes with fewer."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.quantisation import experiments, settings
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from tfcore.analysis.inference.quantisation import losses, written
from tfcore.analysis.inference.quantisation.losses import HOW, PARTS, LossTable
from tfcore.figures.inference.quantised_losses import CLEAR
from tfcore.measures.quantisation import matrices
from tfcore.measures.quantisation.formats import Format

PROMPT = "Once upon a time there was a little dog named Max. One day"
NEW_TOKENS = 24
SOURCES = {  # of what the models read
    "stories": "held-out stories of TinyStories (arXiv:2305.07759)",
    "wikipedia": "English Wikipedia, from WikiText-2 (arXiv:1609.07843); the model may have read it in training",
}
TYPES: tuple[Format, ...] = ("int8", "int6", "int5", "int4", "int3", "int2")
TRY: dict[str, dict[str, Any]] = {
    "three bits": {"part": "weights", "type": "int3"},
    "a story in two bits": {"measured": "stories", "part": "weights", "type": "int2"},
    "outliers in int8": {"measured": "smollm2", "part": "activations", "type": "int8"},
    "activations in four bits": {"measured": "smollm2", "part": "activations", "type": "int4"},
    "both in int8": {"measured": "smollm2", "part": "both", "type": "int8"},
    "a cache of two bits": {"measured": "smollm2", "part": "cache", "type": "int2"},
}

written_of = cache.of_model(max_entries=32)(written.written)
continued = cache.of_model(max_entries=4)(written.continued)


def panel() -> None:
    """The section."""
    page.try_this(TRY)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = controls.segmented("Model", "measured", settings.MEASURED, settings.MEASURED[0])
        part = controls.segmented("Rounded", "part", list(PARTS), "weights", {**PARTS, "both": "both"})
        data_type = controls.segmented("Data type", "type", TYPES, "int4")
    table = settings.table_of(name, part)
    if data_type not in losses.types_of(table):
        st.caption(f"{PARTS[part].capitalize()} were measured in {', '.join(losses.types_of(table))}; shown is int8.")
        data_type = "int8"
    shown = experiments.losses(table, data_type)
    figure(
        shown.figure,
        key="losses",
        height=400,
        table=lambda: pd.DataFrame(table.points),
        alt=shown.alt,
        caption=f"{shown.caption} Dashed: the model as it is. Losses above {CLEAR:g} are drawn at {CLEAR:g}.",
    )
    programs = [page.experiment_of("The losses", experiments.losses, made(experiments.measured, name, part), data_type)]
    if part == "weights":
        continuations(data_type)
    words(table, programs)


def continuations(data_type: Format) -> None:
    """What stories writes with each way to share a scale."""
    st.markdown(f"**What stories writes with its weights in {data_type}**, greedily, after “{PROMPT}”")
    plain = continued(models.DEFAULT, PROMPT, NEW_TOKENS)
    found = written_of(models.DEFAULT, PROMPT, data_type, NEW_TOKENS, plain)
    tokenizer = cache.model(models.DEFAULT)[1]
    rows = {"as it is": found.plain, **{HOW[how]: ids for how, ids in found.ways.items()}}
    lines = [f"| {name} | {text.escape(tokenizer.decode(list(ids)))} |" for name, ids in rows.items()]
    st.markdown("\n".join(["| weights | text |", "|---|---|", *lines]))
    st.caption(str(found))


def words(table: LossTable, programs: list[page.Experiment]) -> None:
    """What to see and to ask, and how it is computed."""
    before = {
        "smollm2": "The weights of smollm2 lie on the grid of its file: int4 with a minimum per 32 weights, which is "
        "that grid, costs nothing, while int5 costs more than int4: its finer grid does not contain the old one. ",
        "stories": "",
    }
    told = {
        "weights": f"{before[table.model]}Fewer bits cost little at first, then very much: one bit is the difference "
        "between a model and noise. Where the fall begins depends on what shares a scale: small groups move it to the "
        "left, and pay with half a bit or one bit for their scales.",
        "activations": "Here the weights are as they are. With one scale per text, a single large activation costs all "
        "others their bits; keeping the outlier channels apart, or a scale for each token, helps: in int8 it brings "
        "smollm2 back to within one percent of its loss; in int4 it is not enough.",
        "both": "Weights have one scale per row here, activations as the legend says: so the whole product can be one "
        "of integers (in eight bits: W8A8). The activations decide. In int8, with a scale for each token or with the "
        "outlier channels apart, smollm2 loses about one percent.",
        "cache": "Rounded are keys (after their rotation) and values, in groups of 32, with a minimum. In smollm2 some "
        "channels of the keys are large at every token: a scale by channel keeps them from setting the grid of all.",
    }
    page.what_to_see(told[table.part])
    page.question(
        "smollm2 needs more bits than stories, although it is many times larger. Why might that be?",
        "It has outliers: single weights and channels of activations that are many times larger than the rest (see "
        "“One row” and “Outliers”). The grid has to reach them, and the rest gets few of its values. It has "
        "also been rounded once before, and two roundings add up. Size alone does not decide.",
    )
    page.how_it_is_computed(
        *programs,
        formula=r"L = -\frac1N \sum_{t=1}^{N} \ln p_{\hat\theta}(x_t \mid x_{<t})",
        code=(matrices.quantised_copy, losses.fewest_bits, written.written),
        papers=(
            f"Measured once, on {table.tokens:,} tokens of {SOURCES[table.text]}. `python -m tfcore.training "
            "quantisation --corpus PATH --out DIR` measures them again. Rounded are the matrices of the blocks; "
            "embeddings, norms and biases are not. LLM.int8(): arXiv:2208.07339. KIVI: arXiv:2402.02750."
        ),
        terms=("quantisation", "cross-entropy"),
    )
