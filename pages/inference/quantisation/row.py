"""Panel of the page on quantisation: one row of a weight matrix on its grid."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.quantisation import experiments, settings
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from tfcore.analysis.inference.quantisation import weights
from tfcore.figures.inference.quantised_weights import SHOWN
from tfcore.measures.quantisation import formats
from tfcore.measures.quantisation.matrices import kinds_of

KIND = "down"
LAYER = 3  # whose matrix has the largest outlier of minilm's rows
TRY: dict[str, dict[str, Any]] = {
    "one scale per matrix": {"format": "int4", "per": "matrix"},
    "one scale per row": {"format": "int4", "per": "row"},
    "groups of 16": {"format": "int4", "per": "16"},
    "two bits": {"format": "int2", "per": "32"},
    "fp8": {"format": "float8", "per": "row"},
    "int8 per row": {"format": "int8", "per": "row"},
}
TRY_REAL: dict[str, dict[str, Any]] = {
    "rounded before": {"model": "smollm2", "format": "int4", "per": "32", "minimum": True}
}

row_of = cache.of_model(max_entries=128)(weights.row_on_grid)
outlying = cache.of_model(max_entries=256)(weights.outlying)
shape_of = cache.of_model(max_entries=64)(weights.shape_of)


def panel() -> None:
    """The section."""
    page.try_this(TRY if settings.first_model() == models.DEFAULT else TRY | TRY_REAL)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        places = [st.container(width=width) for width in (150, 330, 130)]
        with page.more_settings():
            model_name = settings.choose_model()
            config = cache.model(model_name)[0].config
            layer = controls.place("Layer", "layer", config.n_layers, LAYER)
            rest = st.container()
        with places[2]:
            kinds = kinds_of(config)
            kind = controls.select("Matrix", "kind", list(kinds), KIND, {one: f"W_{one}" for one in kinds})
        rows, columns = shape_of(model_name, layer, kind)
        with places[0]:
            data_type = settings.choose_format()
        with places[1]:
            per = settings.choose_per("per", columns, "32")
        with rest:
            row, first = choose_row(model_name, layer, kind, rows, columns)
            minimum = settings.choose_minimum(data_type)
    scheme = settings.scheme(data_type, per, minimum)
    given = model_name, model_name, layer, kind, row, scheme
    found = row_of(*given)
    shown = experiments.row(found, first)
    figure(
        shown.figure,
        key="row",
        height=340,
        min_width=640,
        table=lambda: pd.DataFrame({"weight": found.values, "stored": found.rounded}),
        alt=shown.alt,
        caption=f"{shown.caption} Columns {first} to {min(first + SHOWN, columns) - 1} are in sight.",
    )
    words(page.experiment(experiments.row, made(weights.row_on_grid, *given), first), model_name)


def choose_row(model_name: str, layer: int, kind: str, rows: int, columns: int) -> tuple[int, int]:
    """The row, at first one with an outlier, and the first of its columns in sight."""
    row, column = outlying(model_name, layer, kind)
    chosen = controls.place("Row", "row", rows, row)
    last = (columns - 1) // SHOWN
    window = controls.slider(f"Columns, {SHOWN} at a time", "window", 0, last, column // SHOWN)
    return chosen, window * SHOWN


def words(experiment: page.Experiment, model_name: str) -> None:
    """What to see and to ask, and how it is computed."""
    before = (
        "Its file is quantised already: in every block of 32 there are at most 16 different values, so int4 with a "
        "minimum and one scale per 32 weights changes almost nothing. "
        if model_name == "smollm2"
        else ""
    )
    page.what_to_see(
        f"{before}Each dot is a weight, each grey line a value that can be stored, and the vertical lines are the "
        "rounding errors. The largest weight of a group sets the scale for all of its neighbours: where one is far "
        "larger, the grid is coarse and small weights become 0. Take one scale per row or per matrix, and the outlier "
        "does that to everybody; take smaller groups, and it reaches fewer, for half a bit or one bit more per weight. "
        "The grid of fp8 is dense around 0 and coarse at its ends."
    )
    page.question(
        "int4 in groups of 32 takes 4.5 bits per weight and not 4. Where does the half bit come from, and what would "
        "groups of 16 with a minimum take?",
        "A scale in float16 for every 32 weights: 16 / 32 = 0.5. Groups of 16 with a minimum store two such numbers "
        "for 16 weights: 4 + 32 / 16 = 6 bits.",
    )
    page.how_it_is_computed(
        experiment,
        formula=(
            r"\begin{gathered} s = \frac{\max |w|}{2^{b-1} - 1}, \qquad q = \mathrm{round}(w / s), \qquad \hat w = s\,q"
            r" \\ \text{with a minimum: } s = \frac{\max w - \min w}{2^b - 1}, \quad \hat w = s\,q + \min w"
            r" \qquad \text{bits per weight: } b + \frac{16}{g} \end{gathered}"
        ),
        code=(formats.quantise_absmax, formats.quantise_minmax, formats.quantise_float8, formats.bits_per_value),
        papers=(
            "Absmax and zero-point quantisation: arXiv:2208.07339, section 2. FP8 (e4m3): arXiv:2209.05433, table 1; "
            "here with a scale, so that the largest weight of a block is the largest number of fp8. Scales and "
            "minimums are stored in float16."
        ),
        terms=("quantisation",),
    )
