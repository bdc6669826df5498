"""The parts of a model, from its text to its prediction."""

from collections.abc import Sequence
from dataclasses import asdict

from tfcore.config import ModelConfig
from tfcore.measures.parameter_count import parameters
from tfcore.views.finding import Statement, state
from tfcore.views.model.parts.measure import DrawnStack, marked, stacks
from tfcore.views.sources import Source, opened
from tfcore.views.view import Scene, View, view

ROW = 62  # pixels


@view
def parts(model: Source) -> View:
    """A model drawn as boxes, from its text to its prediction."""
    config = opened(model)[0].config
    name = model if isinstance(model, str) else "This model"
    return View(
        key="map",
        title=f"The parts of {name}",
        result=stacks(config),
        chart=boxes(stacks(config), f"{name}, part by part"),
        findings=(size(config, name),),
    )


@view
def change(config: ModelConfig, before: ModelConfig | None, name: str, side: str) -> View:
    """The block of a model, with what is not in the one before standing out.

    Args:
        before: the model that it is compared with; None marks nothing.
        name: of the model.
        side: whether it is drawn as the one "before" or "after" a change.
    """
    (whole,) = stacks(config)
    if before is not None:
        whole = marked(whole, *stacks(before))
    return View(
        key=f"block {side}",
        title=f"The model {side} this switch",
        result=[whole],
        chart=boxes([whole], f"The model {side} this switch"),
        findings=(size(config, name),),
    )


def size(config: ModelConfig, name: str) -> Statement:
    """The size of a model, its kind, and how long a text it reads."""
    return state(
        "size",
        "{name}: {architecture}, {parameters:,} parameters, width {width}, context {context:,} tokens.",
        name=name,
        architecture=config.architecture,
        parameters=parameters(config).total,
        width=config.d_model,
        context=config.max_seq_len,
    )


def boxes(drawn: Sequence[DrawnStack], label: str) -> Scene:
    """Stacks side by side."""
    rows = max(sum(len(group.rows) for group in stack.groups) for stack in drawn)
    return Scene(module="parts_map", data={"stacks": [asdict(one) for one in drawn], "label": label}, height=ROW * rows)


def about(drawn: Sequence[DrawnStack]) -> list[str]:
    """Which page is about each part, in reading order."""
    return [part.about for stack in drawn for group in stack.groups for row in group.rows for part in row]
