"""Panel of the page on quantisation: channels of activations with outliers, and what they do to integers."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.quantisation import experiments, settings
from pages.ui import cache, controls, notices, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from tfcore.analysis.inference.quantisation import activations
from tfcore.measures.quantisation import rounded_activations

TEXT = (
    "The Amazon rainforest is the largest tropical rainforest in the world. It covers an area of about five and a half "
    "million square kilometres, most of it in Brazil."
)
CHARACTERS = 1_000
TOKENS = 48
KINDS = list(rounded_activations.INPUTS)
NAMES = {kind: f"W_{kind}" for kind in KINDS}
TRY: dict[str, dict[str, Any]] = {
    "the last layer": {"layer": 29, "input": "down"},
    "without the first token": {"layer": 29, "input": "down", "first": False},
    "one channel of attention": {"layer": 12, "input": "qkv"},
    "four bits": {"abits": 4},
    "what W_out reads": {"layer": 20, "input": "out"},
}


@cache.shared(max_entries=2)
def inputs(model_name: str, pasted: str) -> dict[str, Any]:
    """Of all matrices, from one pass: 19 MB of 48 tokens of smollm2."""
    return activations.matrix_inputs(cache.model(model_name)[0], first_tokens(model_name, pasted, TOKENS).ids)


@cache.data(max_entries=64)
def scan_of(model_name: str, pasted: str, kind: str) -> activations.ActivationScan:
    return activations.scan_inputs(inputs(model_name, pasted)[kind], kind)


def panel() -> None:
    """The section."""
    row = controls.text_row()
    page.try_this(TRY)
    controls_beside, left, right = st.columns([3, 6, 6], gap="medium")  # above, they would push the figures down
    with controls_beside:
        places = [st.container() for _ in range(3)]
        with page.more_settings():
            model_name = models.choose("decoder", "encoder", key="of", default=models.first(), why_not=settings.unfit)
            first = controls.toggle("Count the first token", "first", True)
        config = cache.model(model_name)[0].config
        with places[0]:
            kind = controls.segmented("Input of", "input", KINDS, "down", NAMES)
        with places[1]:
            layer = controls.place("Layer", "layer", config.n_layers, config.n_layers - 1)
        with places[2]:
            bits = controls.segmented("Bits", "abits", list(activations.BITS), 8)
    pasted = text_box(model_name, "Text", "text", TEXT, CHARACTERS, height=68, named=False, row=row)
    read = first_tokens(model_name, pasted, TOKENS)
    notices.tokens(read.total, len(read.ids))
    if not read.ids:
        said = "There is no text yet: type or paste some above, or pick an example."
        say_nothing_read(model_name, pasted, "text", said)
        return
    scan = scan_of(model_name, pasted, kind)
    begun = made(activations.scan_activations, model_name, pasted, TOKENS, kind)
    with left:
        shown = experiments.channels(model_name, scan, layer, first)
        figure(
            shown.figure,
            key="channels",
            height=320,
            table=lambda: pd.DataFrame({"all": scan.largest[layer], "without the first": scan.without_first[layer]}),
            alt=shown.alt,
            caption=f"{shown.caption} Largest magnitude over {scan.tokens} tokens.",
        )
    with right:
        errors = experiments.activation_errors(scan, bits, layer)
        figure(
            errors.figure,
            key="activation errors",
            height=320,
            table=lambda: pd.DataFrame(scan.errors[bits]),
            alt=errors.alt,
            caption=f"{errors.caption} Relative error of a token's vector, mean over the tokens.",
        )
    settings.losses_beside(model_name, "activations", f"int{bits}")
    settings.losses_beside(model_name, "both", f"int{bits}")
    words(
        page.experiment_of("The channels", experiments.channels, model_name, begun, layer, first),
        page.experiment_of("The errors", experiments.activation_errors, begun, bits, layer),
    )


def words(*programs: page.Experiment) -> None:
    """What to see and to ask, and how it is computed."""
    page.what_to_see(
        "With one scale for the whole text, the largest number anywhere sets the grid for every token. In smollm2 "
        "that is often one channel at the first token: take the first token out of the left picture, and see how far "
        "everything else lies below it. All other tokens are then rounded on its grid, and may lose much of what "
        "they say (right, solid orange). Either remedy helps: a scale for each token, or the outlier channels kept "
        "apart in full precision."
    )
    page.question(
        "Keeping a few channels in float16 costs little memory. Why is LLM.int8() not simply faster than float16?",
        "The product falls apart into two: one in int8 for most channels, one in float16 for the outliers, and the "
        "columns have to be found and gathered for every input. For small matrices this takes longer than the "
        "product saves; the paper says so of models below 6.7 B parameters (arXiv:2208.07339).",
    )
    page.how_it_is_computed(
        *programs,
        formula=(
            r"XW \approx \sum_{h \in O} X_{\cdot h} W_{h \cdot} + s_X\, s_W \sum_{h \notin O} Q(X)_{\cdot h}\,"
            r" Q(W)_{h \cdot} \qquad O = \{h : \max_t |X_{th}| \ge 6\}"
        ),
        code=(rounded_activations.rounded_activations, rounded_activations.outlier_channels, activations.scan_inputs),
        papers=(
            "LLM.int8(), outlier features and mixed-precision decomposition: arXiv:2208.07339, section 3.2 and "
            "equation 8. The pictures round activations alone, the last numbers below them weights too (W8A8)."
        ),
        terms=("quantisation", "outlier channel"),
    )
