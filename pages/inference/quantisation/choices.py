"""The choices of the page on quantisation: its models, data types, what shares a scale."""

from typing import Any

import streamlit as st

from pages.ui import controls
from pages.ui.loading import models
from tfcore import available
from tfcore.config import ModelConfig
from tfcore.measures.quantisation.formats import BITS, Format, Per
from tfcore.measures.quantisation.matrices import no_matrices
from tfcore.views.inference import quantisation as views
from tfcore.views.inference.quantisation.measure.losses import Part

UNROUNDED = "minilm"  # a real model whose file has float32 weights: those of smollm2 were rounded before
FORMATS: tuple[Format, ...] = tuple(BITS)
PER: dict[Per, str] = {"matrix": "matrix", "row": "row", "64": "64 weights", "32": "32 weights", "16": "16 weights"}
MEASURED = ("smollm2", "stories")
TEXT = (
    "The Amazon rainforest is the largest tropical rainforest in the world. It covers an area of about five and a half "
    "million square kilometres, most of it in Brazil."
)
CHARACTERS = 1_000  # of a text
NO_TEXT = "There is no text yet: type or paste some above, or pick an example."


def first_model() -> str:
    """The model that weights are shown of at first: a real one, where it is there."""
    return UNROUNDED if UNROUNDED in available() else models.DEFAULT


def choose_model() -> str:
    """A model whose weights are shown."""
    return models.choose("decoder", "encoder", default=first_model(), why_not=unfit)


def unfit(config: ModelConfig, _: Any) -> str | None:
    """Why a model's matrices cannot be shown, or None: for `models.choose`."""
    return no_matrices(config)


def choose_format() -> Format:
    return controls.select("Data type", "format", list(FORMATS), "int4")


def choose_per(key: str, columns: int, default: Per) -> Per:
    """Choose how many weights share one scale, among the sizes that divide rows of so many weights."""
    fitting = [per for per in PER if per in ("matrix", "row") or columns % int(per) == 0]
    return controls.stops("One scale per", key, fitting, default if default in fitting else "row", PER)


def choose_minimum(of: Format) -> bool:
    """Whether a minimum is stored beside the scale; only integers have one."""
    if not of.startswith("int"):
        return False
    return controls.toggle("With a minimum (asymmetric)", "minimum", False)


def losses_beside(name: str, part: Part, data_type: str) -> None:
    """Say what rounding does to the loss of the whole model, where that was measured."""
    if name in MEASURED and (said := views.loss_of_all(name, part, data_type)):
        st.caption(str(said))
