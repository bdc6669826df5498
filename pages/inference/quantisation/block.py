"""Panel of the page on quantisation: a block of a GGUF file, opened."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.quantisation import experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from tfcore.analysis.inference.quantisation import gguf_block, weights
from tfcore.measures.quantisation.matrices import KINDS

TRY: dict[str, dict[str, Any]] = {
    "the first block": {"layer": 0, "kind": "down", "row": 0, "block": 0},
    "in the middle of W_q": {"layer": 15, "kind": "q", "row": 70, "block": 3},
    "the last layer": {"layer": 29, "kind": "down", "row": 12, "block": 20},
}

opened = cache.of_model(max_entries=256)(gguf_block.open_block)
made_of = cache.of_model(max_entries=256)(gguf_block.block_of_weights)
shape_of = cache.of_model(max_entries=64)(weights.shape_of)


def panel() -> None:
    """The section."""
    page.try_this(TRY)
    there = gguf_block.file_of_smollm2() is not None and models.REAL in models.fitting()
    name = models.REAL if there else models.DEFAULT
    config = cache.model(name)[0].config
    if not there:
        st.caption(
            "The file of smollm2 is not on this server; this block is made of weights of stories, as a file has it."
        )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width=130):
            kind = controls.select("Matrix", "kind", list(KINDS), "down", {one: f"W_{one}" for one in KINDS})
        places = [st.container(width=260), st.container(width=260)]
        with page.more_settings():
            layer = controls.place("Layer", "layer", config.n_layers)
        rows, columns = shape_of(name, layer, kind)
        with places[0]:
            row = controls.place("Row", "row", rows)
        with places[1]:
            place = controls.place("Block in the row", "block", columns // gguf_block.BLOCK)
    function, given = (
        (gguf_block.open_block, (name, layer, kind, row, place))
        if there
        else (gguf_block.block_of_weights, (name, name, layer, kind, row, place))
    )
    found = opened(*given) if there else made_of(*given)
    shown = experiments.block(found)
    figure(
        shown.figure,
        key="block",
        height=360,
        min_width=640,
        table=lambda: pd.DataFrame({"integer": found.codes, "in the file": found.values, "in the model": found.used}),
        alt=shown.alt,
        caption=shown.caption,
    )
    st.caption(
        "The bytes in hexadecimal: scale | minimum | 16 bytes of two integers each (value i low, value i + 16 high)"
    )
    st.code(found.hexadecimal, language=None, wrap_lines=True)
    words(page.experiment(experiments.block, made(function, *given)), there)


def words(experiment: page.Experiment, there: bool) -> None:
    """What to see and to ask, and how it is computed."""
    exact = (
        "The model computes with exactly these, as the rings show."
        if there
        else "The rings are the weights as they were before, between the levels."
    )
    page.what_to_see(
        f"A block in Q4_1 is 20 bytes for 32 weights: a scale and a minimum in float16, and 16 bytes with two integers "
        f"each. The weight is scale × integer + minimum. {exact} The largest and the "
        "smallest weight of a block are at the ends of its grid, 15 and 0. Each block has a grid of its own: move to "
        "the next one, and scale and minimum change. Rows of W_q and W_k lie in another order in the file, which the "
        "loader undoes."
    )
    page.question(
        "Q4_0 has no minimum: its blocks are 18 bytes. How many bits per weight do both take, and what does the "
        "minimum buy?",
        "18 × 8 / 32 = 4.5 bits against 20 × 8 / 32 = 5. With a minimum the 16 values lie between the smallest and the "
        "largest weight of the block; without it they lie around 0, and where a block is lopsided some are never used.",
    )
    page.how_it_is_computed(
        experiment,
        formula=r"\hat w_i = d \cdot q_i + m, \qquad q_i \in \{0, \dots, 15\}",
        code=(gguf_block.decode_block, gguf_block.open_block, gguf_block.file_row),
        papers=(
            "The format: [gguf.md](https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). The file is "
            "SmolLM2-135M-Instruct in Q4_1, its embeddings in Q8_0; the loaded model is read by the `gguf` package, "
            "this block byte by byte by the code shown here."
        ),
        terms=("quantisation",),
    )
