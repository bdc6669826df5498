"""The residual stream, stage by stage: its states by name, their norm, and their cosine to the final state."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.analysis.one_text import one_text
from tfcore.analysis.token_text import visible
from tfcore.config import ModelConfig
from tfcore.inspection.capture import known_names
from tfcore.model import Transformer

Measure = Literal["norm", "cosine"]
AXES: dict[Measure, str] = {"norm": "norm of the stream", "cosine": "cosine to the final state"}
NAMED = 12  # parts that a sentence names


def stages(config: ModelConfig) -> tuple[str, ...]:
    """Names of the stream's states in the order of computation: before the first block, and after each sublayer."""
    ends = (".resid_mid", ".resid_post")
    return ("blocks.0.resid_pre", *(name for name in known_names(config) if name.endswith(ends)))


def stage_names(names: Sequence[str], short: bool = True) -> list[str]:
    """blocks.0.resid_pre -> "embed"; blocks.2.resid_mid -> "attn 2"; the resid_post after it -> "FF 2".

    Where a model has one state a block, each is named after its block. Not short: "embedding", "attention 2",
    "feed-forward 2".
    """
    halves = any(name.endswith("resid_mid") for name in names)
    found = []
    kind = ("attn", "FF") if short else ("attention", "feed-forward")
    for name in names:
        if name.endswith("resid_pre"):
            found.append("embed" if short else "embedding")
            continue
        layer = name.split(".")[1]
        found.append(f"{kind[name.endswith('resid_post')]} {layer}" if halves else f"block {layer}")
    return found


def part_name(name: str, short: bool = False) -> str:
    """blocks.2.attn_out -> "attention 2", short "attn 2"; blocks.2.mlp_out -> "feed-forward 2", short "FF 2"."""
    kind = ("attn", "FF") if short else ("attention", "feed-forward")
    return f"{kind['mlp' in name]} {name.split('.')[1]}"


@dataclass(frozen=True, slots=True)
class StreamShape:
    """Norms and cosines of the stream on one text.

    Args:
        stages: names of the states.
        norm: Euclidean norm of each state.
        cosine: between each state and the final one at the same position.
        parts: names of the sublayers' outputs.
        added: norm of each output.
        along: cosine between each output and the state it is added to: below 0 it removes a part of that.
    """

    stages: tuple[str, ...]
    norm: Float[ndarray, "stage seq"]
    cosine: Float[ndarray, "stage seq"]
    parts: tuple[str, ...]
    added: Float[ndarray, "part seq"]
    along: Float[ndarray, "part seq"]


def angles(
    states: Float[Tensor, "stage seq d_model"], last: Float[Tensor, "seq d_model"]
) -> Float[Tensor, "stage seq"]:
    """cos(x_l, x_L) = x_l . x_L / (|x_l| |x_L|): 1 where a state points where it will end, 0 where it is at a right
    angle to it."""
    return F.cosine_similarity(states, last.expand_as(states), dim=-1)


@torch.no_grad()
def stream_shape(model: Transformer, ids: Sequence[int]) -> StreamShape:
    """Norm and cosine of the stream at every stage and position; one stack of pre-norm, sandwich or parallel blocks.

    Raises:
        ValueError: a model whose stream is normalised on its way (post-norm), or with two stacks.
    """
    config = model.config
    if config.architecture == "encoder-decoder" or config.norm_placement == "post":
        raise ValueError(
            "the stream is measured where it is a plain sum: one stack, pre-norm; this model is "
            f"architecture={config.architecture!r}, norm_placement={config.norm_placement!r}"
        )
    names = stages(config)
    parts = tuple(name for name in known_names(config) if name.endswith(("attn_out", "mlp_out")))
    found = model(one_text(model, ids), capture=(*names, *parts)).activations
    states, written = (torch.stack([found[name][0].float() for name in which]) for which in (names, parts))
    start = states[:-1] if len(parts) == len(names) - 1 else states[:-1].repeat_interleave(2, dim=0)  # parallel: both
    numbers = states.norm(dim=-1), angles(states, states[-1]), written.norm(dim=-1)
    norm, cosine, added = (value.cpu().numpy() for value in numbers)
    return StreamShape(names, norm, cosine, parts, added, F.cosine_similarity(written, start, dim=-1).cpu().numpy())


# ---- findings ----


@dataclass(frozen=True, slots=True)
class StreamCurve(Finding):
    """One position's norm or cosine from the first stage to the last.

    Args:
        measure: "norm" or "cosine".
        token, position: that is looked at.
        first, middle, last: the measure at the first stage, in the middle, and at the last.
    """

    measure: Measure
    token: str
    position: int
    first: float
    middle: float
    last: float

    @property
    def sentence(self) -> str:
        course = (
            f"from {self.first:.1f} to {self.last:.1f}, {self.last / self.first:.1f} times as large"
            if self.measure == "norm"
            else f"from {self.first:.2f} to 1; half way through {self.middle:.2f}"
        )
        return f"{AXES[self.measure].capitalize()} of '{visible(self.token)}', position {self.position}: {course}."


def stream_curve(found: StreamShape, measure: Measure, token: str, position: int) -> StreamCurve:
    """The course of one position."""
    values = getattr(found, measure)[:, position].tolist()
    return StreamCurve(measure, token, position, values[0], values[len(values) // 2], values[-1])


@dataclass(frozen=True, slots=True)
class WrittenNorms(Finding):
    """The norm of what the parts add to the stream at one position.

    Args:
        norms: of the parts with the largest, in the order of computation.
        count: of all parts.
    """

    norms: dict[str, float]
    count: int

    @property
    def sentence(self) -> str:
        norms = ", ".join(f"{name} {norm:.1f}" for name, norm in self.norms.items())
        if len(self.norms) < self.count:
            return f"Norm of what each of {self.count} parts adds; the largest {len(self.norms)}: {norms}."
        return f"Norm of what each part adds: {norms}."


@dataclass(frozen=True, slots=True)
class WrittenExtremes(Finding):
    """The part that adds the largest norm, and the one whose output has the lowest cosine to the stream."""

    largest: str
    norm: float
    lowest: str
    cosine: float

    @property
    def sentence(self) -> str:
        return f"Largest norm: {self.largest}, {self.norm:.1f}. Lowest cosine: {self.lowest}, {self.cosine:+.2f}."


def written_norms(found: StreamShape, position: int) -> tuple[WrittenNorms, WrittenExtremes]:
    """Norms of all parts; the largest of them, and the lowest cosine."""
    names = [part_name(name, short=True) for name in found.parts]
    norms = dict(zip(names, found.added[:, position].tolist(), strict=True))
    cosines = dict(zip(names, found.along[:, position].tolist(), strict=True))
    largest = max(norms, key=lambda name: norms[name])
    lowest = min(cosines, key=lambda name: cosines[name])
    named = sorted(norms, key=lambda name: -norms[name])[:NAMED]
    few = {name: norm for name, norm in norms.items() if name in named}
    return WrittenNorms(few, len(norms)), WrittenExtremes(largest, norms[largest], lowest, cosines[lowest])


@dataclass(frozen=True, slots=True)
class LargestTurn(Finding):
    """The stage that turns the stream most towards its final state: its name, and the rise of the mean cosine there."""

    stage: str
    rise: float

    @property
    def sentence(self) -> str:
        return f"In the mean over this text it rises most with {self.stage}, by {self.rise:.2f}."


def largest_turn(found: StreamShape) -> LargestTurn:
    """The stage with the largest rise of the cosine to the final state, in the mean over the positions."""
    rise = (found.cosine[1:] - found.cosine[:-1]).mean(-1)
    return LargestTurn(stage_names(found.stages)[int(rise.argmax()) + 1], float(rise.max()))
