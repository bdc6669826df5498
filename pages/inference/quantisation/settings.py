"""Controls that sections of the page on quantisation share: the model, the data type, what shares a scale."""

from typing import Any

import streamlit as st

from pages.inference.quantisation import experiments
from pages.ui import cache, controls
from pages.ui.loading import models
from tfcore import available
from tfcore.analysis.inference.quantisation.losses import PARTS, Part, same_type, types_of
from tfcore.config import ModelConfig
from tfcore.measures.quantisation.formats import BITS, Format, Per, Scheme
from tfcore.measures.quantisation.matrices import no_matrices

UNROUNDED = "minilm"  # a real model whose file has float32 weights: those of smollm2 were rounded before
FORMATS: tuple[Format, ...] = tuple(BITS)
PER: dict[Per, str] = {"matrix": "matrix", "row": "row", "64": "64 weights", "32": "32 weights", "16": "16 weights"}
MEASURED = ("smollm2", "stories")

table_of = cache.data(max_entries=8)(experiments.measured)


def first_model() -> str:
    """The model that weights are shown of at first: a real one, where it is there."""
    return UNROUNDED if UNROUNDED in available() else models.DEFAULT


def choose_model() -> str:
    return models.choose("decoder", "encoder", default=first_model(), why_not=unfit)


def unfit(config: ModelConfig, _: Any) -> str | None:
    """Why a model's matrices cannot be shown, or None: for `models.choose`."""
    return no_matrices(config)


def choose_format() -> Format:
    return controls.select("Data type", "format", list(FORMATS), "int4")


def choose_per(key: str, columns: int, default: Per) -> Per:
    """What shares one scale, of what divides rows of so many weights."""
    fitting = [per for per in PER if per in ("matrix", "row") or columns % int(per) == 0]
    return controls.stops("One scale per", key, fitting, default if default in fitting else "row", PER)


def choose_minimum(of: Format) -> bool:
    """Whether a minimum is stored beside the scale; only integers have one."""
    if not of.startswith("int"):
        return False
    return controls.toggle("With a minimum (asymmetric)", "minimum", False)


def losses_beside(name: str, part: Part, data_type: str) -> None:
    """What rounding does to the loss of the whole model, where that was measured."""
    if name not in MEASURED or data_type not in types_of(table := table_of(name, part)):
        return
    st.caption(
        f"Measured with all layers of {name} rounded ({PARTS[part]}), {table.unrounded:.2f} nats per token as it is. "
        f"{same_type(table, data_type)}"
    )


def scheme(of: Format, per: Per, minimum: bool) -> Scheme:
    return Scheme(format=of, per=per, minimum=minimum)
