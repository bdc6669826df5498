"""The loss of models with fewer bits: a table that was measured once.

The table is `tfcore/ladders/quantisation.csv`; `python -m tfcore.training quantisation --corpus PATH --out DIR`
measures it again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Part = Literal["weights", "activations", "both", "cache"]
PARTS: dict[Part, str] = {
    "weights": "weights",
    "activations": "activations",
    "both": "weights and activations",
    "cache": "KV cache",
}
TEXTS: dict[str, str] = {  # what a model read, as the table has it -> in words
    "stories": "held-out stories",
    "wikipedia": "English Wikipedia",
}
HOW: dict[str, str] = {  # how values share a scale, as the table has it -> in words
    "none": "no scale",
    "matrix": "one scale per matrix",
    "row": "one scale per row",
    "group of 32": "groups of 32",
    "group of 32, minimum": "groups of 32, with minimum",
    "tensor": "one scale per text",
    "tensor, outliers apart": "per text, outliers apart",
    "token": "one scale per token",
    "token, outliers apart": "per token, outliers apart",
    "channel, token": "keys by channel, values by token",
    "channel, channel": "keys and values by channel",
    "token, token": "keys and values by token",
    "token, channel": "keys by token, values by channel",
}
SMALL = 0.01  # of the loss: a rise that is called small
SMALL_TEXT = f"{SMALL:.0%}"


@dataclass(frozen=True, slots=True)
class LossPoint:
    """One measurement.

    Args:
        format, how: data type, and what shares a scale (a key of HOW).
        bits: of a value, the scales of weights included.
        loss: mean over held-out tokens, in nats per token.
    """

    format: str
    how: str
    bits: float
    loss: float


@dataclass(frozen=True, slots=True)
class LossTable:
    """Losses measured with one part of one model rounded.

    Args:
        unrounded: loss of the model as it is.
        text: that was read, a key of TEXTS.
        tokens: that were predicted.
    """

    model: str
    part: Part
    unrounded: float
    text: str
    tokens: int
    points: tuple[LossPoint, ...]

    @property
    def ways(self) -> list[str]:
        """The different `how`, in the order of the table."""
        return list(dict.fromkeys(point.how for point in self.points))


def loss_table(rows: Sequence[Mapping[str, Any]], model: str, part: Part) -> LossTable:
    """The rows of a model and a part.

    Raises:
        ValueError: nothing was measured of them.
    """
    own = [row for row in rows if (row["model"], row["part"]) == (model, part)]
    if not own:
        raise ValueError(f"nothing was measured of the {part} of model={model!r}")
    plain = next(row for row in rows if (row["model"], row["format"]) == (model, "float32"))
    points = tuple(
        LossPoint(row["format"], row["how"], float(row["bits"] or row["format"].removeprefix("int")), row["loss"])
        for row in own
        if row["format"] != "float32"
    )
    return LossTable(model, part, plain["loss"], plain["text"], plain["tokens"], points)


def fewest_bits(table: LossTable) -> dict[str, tuple[str, float] | None]:
    """For each way to share a scale, the fewest bits of an integer type at which the loss is nearly that of the model:
    data type and loss, None where no data type comes near enough."""
    fewest: dict[str, tuple[str, float] | None] = {}
    for how in table.ways:
        own = [point for point in table.points if point.how == how and point.format.startswith("int")]
        near = [point for point in own if point.loss <= table.unrounded * (1 + SMALL)]
        if own:
            best = min(near, key=lambda point: point.bits, default=None)
            fewest[how] = None if best is None else (best.format, best.loss)
    return fewest


def same_type(table: LossTable, data_type: str) -> dict[str, float]:
    """The losses with a data type, by the way to share a scale."""
    return {HOW[point.how]: point.loss for point in table.points if point.format == data_type}


def types_of(table: LossTable) -> list[str]:
    """The integer types of a table, most bits first."""
    return list(dict.fromkeys(point.format for point in table.points if point.format.startswith("int")))
