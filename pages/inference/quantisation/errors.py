"""Panel of the page on quantisation: the error by layer and kind of matrix."""

import pandas as pd
import streamlit as st

from pages.inference.quantisation import experiments, settings
from pages.ui import cache, controls, page
from pages.ui.components.figure import Event, figure
from pages.ui.program import made
from tfcore.analysis.inference.quantisation import weights
from tfcore.measures.quantisation import formats
from tfcore.measures.quantisation.matrices import matrices

TRY = {
    "int4 per matrix": {"format": "int4", "share": "matrix"},
    "int4 per row": {"format": "int4", "share": "row"},
    "int4 in groups of 16": {"format": "int4", "share": "16"},
    "int8 per matrix": {"format": "int8", "share": "matrix"},
    "fp8": {"format": "float8", "share": "row"},
    "bf16": {"format": "bfloat16"},
}

memory_of = cache.of_model(max_entries=64)(weights.matrix_memory)
errors_of = cache.of_model(max_entries=64)(weights.matrix_errors)
shared_width = cache.of_model(max_entries=64)(weights.shared_width)


def panel() -> None:
    """The section."""
    page.try_this(TRY)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        places = [st.container(width=width) for width in (150, 150, 330)]
        with places[0]:
            model_name = settings.choose_model()
        with places[1]:
            data_type = settings.choose_format()
        with places[2]:
            per = settings.choose_per("share", shared_width(model_name), "matrix")
        with page.more_settings():
            minimum = settings.choose_minimum(data_type)
            if not data_type.startswith("int"):
                st.caption("Nothing more to set: only integers have a minimum.")
    scheme = settings.scheme(data_type, per, minimum)
    given = model_name, model_name, scheme
    found = errors_of(*given)
    shown = experiments.by_layer(found, memory_of(*given))
    figure(
        shown.figure,
        key="errors",
        height=shown.figure.layout.height,
        min_width=18 * len(found.errors) + 120,
        on_click=click,
        table=lambda: pd.DataFrame(found.errors, columns=list(found.kinds)),
        alt=shown.alt,
        caption=f"{shown.caption} At most {weights.SAMPLED} rows of each matrix are measured. Click a cell to see a "
        "row of that matrix.",
    )
    begun = made(weights.matrix_errors, *given), made(weights.matrix_memory, *given)
    words(page.experiment(experiments.by_layer, *begun), model_name)


def click(event: Event) -> None:
    """A click on a cell opens the matrix in the other section."""
    layer, _, kind = str(event["customdata"]).partition(".")
    if layer.isdecimal():
        controls.set_values(look="row", layer=int(layer), kind=kind)


def words(experiment: page.Experiment, model_name: str) -> None:
    """What to see and to ask, and how it is computed."""
    before = (
        "The matrices of smollm2 come from a file in Q4_1 (4 bits in blocks of 32, with a minimum), so their errors "
        "are those of rounding a second time. "
        if model_name == "smollm2"
        else ""
    )
    page.what_to_see(
        f"{before}With one scale per matrix, a few matrices stand out: those with the largest outliers, whose scale "
        "is set by one weight (in minilm W_down). With one scale per row the difference shrinks, with small groups "
        "it nearly goes: then the error is that of the number of bits. Each bit more halves the error of an integer "
        "type. For float types the error hardly depends on the scale, since their grid is relative."
    )
    page.question(
        "Two matrices have the same error of 10 %. Does the model suffer as much from either?",
        "No. The error here is measured on the weights; what counts is the error of the output, and that depends on "
        "which columns meet large activations. A column that is multiplied with an outlier channel carries its "
        "rounding error further. Methods like GPTQ (arXiv:2210.17323) and AWQ (arXiv:2306.00978) use the activations "
        "of some texts for that.",
    )
    page.how_it_is_computed(
        experiment,
        formula=r"\mathrm{error} = \sqrt{\frac{\sum_{ij} (\hat W_{ij} - W_{ij})^2}{\sum_{ij} W_{ij}^2}}",
        code=(weights.matrix_errors, weights.relative_error, matrices, formats.quantise_matrix),
        papers="arXiv:2208.07339, section 2; GPTQ: arXiv:2210.17323; AWQ: arXiv:2306.00978.",
        terms=("quantisation",),
    )
