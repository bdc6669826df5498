"""The residual stream: its states by name, their norm and cosine, and the loss with a sublayer or block left out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.config import ModelConfig
from tfcore.inspection.capture import known_names, layer_of
from tfcore.inspection.edits import Edit
from tfcore.measures.effect_metric import logits_of
from tfcore.measures.lenses import stage_names, stages
from tfcore.measures.one_text import one_text
from tfcore.measures.shared_layers import plain_run, runs_by_layer
from tfcore.measures.text_loss import next_losses
from tfcore.measures.token_text import visible
from tfcore.model import Transformer

Measure = Literal["norm", "cosine"]
AXES: dict[Measure, str] = {"norm": "norm of the stream", "cosine": "cosine to the final state"}
NAMED = 12  # parts that a sentence names


def part_name(name: str, short: bool = False) -> str:
    """blocks.2.attn_out -> "attention 2", short "attn 2"; blocks.2.mlp_out -> "feed-forward 2", short "FF 2"."""
    kind = ("attn", "FF") if short else ("attention", "feed-forward")
    return f"{kind['mlp' in name]} {layer_of(name)}"


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
    return F.cosine_similarity(states, last.expand_as(states), dim=2)


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
    found = model.activations(one_text(model, ids), (*names, *parts))
    states, written = (torch.cat([found[name].float() for name in which]) for which in (names, parts))
    start = states[:-1] if len(parts) == len(names) - 1 else states[:-1].repeat_interleave(2, dim=0)  # parallel: both
    numbers = states.norm(dim=2), angles(states, states[-1]), written.norm(dim=2)
    norm, cosine, added = (value.cpu().numpy() for value in numbers)
    return StreamShape(names, norm, cosine, parts, added, F.cosine_similarity(written, start, dim=2).cpu().numpy())


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
    rise = (found.cosine[1:] - found.cosine[:-1]).mean(1)
    return LargestTurn(stage_names(found.stages)[int(rise.argmax()) + 1], float(rise.max()))


PARTS = ("attn_out", "mlp_out")  # what a block writes


@dataclass(frozen=True, slots=True)
class Skips:
    """The loss increase of every token of a text when one sublayer or block is skipped.

    Args:
        skipped: activations that are set to zero: a sublayer's output, or both of a block.
        loss_increase: of each next token, in nats.
    """

    skipped: tuple[tuple[str, ...], ...]
    loss_increase: Float[ndarray, "skip next"]


def skips(config: ModelConfig) -> tuple[tuple[str, ...], ...]:
    """What can be skipped: of every layer its attention, its feed-forward layer, and the whole block."""
    known = known_names(config)
    found: list[tuple[str, ...]] = []
    for i in range(config.decoder_layers):
        parts = [name for name in (f"blocks.{i}.{part}" for part in PARTS) if name in known]
        found += [(name,) for name in parts] + ([tuple(parts)] if len(parts) > 1 else [])
    return tuple(found)


def skip_edits(names: Sequence[str]) -> list[Edit]:
    """Edits that set what these sublayers add to the stream to zero."""
    return [Edit.zero(name) for name in names]


class SkipsOfLayer(NamedTuple):
    """The loss increases with each skip of one layer, in the order of `skips`."""

    layer: int
    loss_increase: Float[ndarray, "skip next"]


@torch.no_grad()
def skip_each(model: Transformer, ids: Sequence[int]) -> Iterator[SkipsOfLayer]:
    """Every skip of a model in turn, on one text, layer by layer; the layers below a skipped one are run once."""
    run = plain_run(model, ids)
    whole = next_losses(logits_of(model, run.hidden), ids)  # (1, next)
    every = skips(model.config)
    sets = [
        [skip_edits(names) for names in every if set(map(layer_of, names)) == {layer}]
        for layer in range(model.config.decoder_layers)
    ]
    for layer, hidden in runs_by_layer(model, run, sets):
        losses = [next_losses(logits_of(model, row[None]), ids) for row in hidden]  # one by one: many logits
        yield SkipsOfLayer(layer, (torch.cat(losses) - whole).cpu().numpy())


def all_skips(config: ModelConfig, found: Sequence[SkipsOfLayer]) -> Skips:
    """The skips of all layers; NaN in those that are not among those found."""
    every, (first, *_) = skips(config), found
    loss_increase = np.full((len(every), first.loss_increase.shape[1]), np.nan, dtype=np.float32)
    for one in found:
        rows = [row for row, names in enumerate(every) if set(map(layer_of, names)) == {one.layer}]
        loss_increase[rows] = one.loss_increase
    return Skips(every, loss_increase)


# ---- findings ----


@dataclass(frozen=True, slots=True)
class LossIncreases(Finding):
    """The largest mean loss increase of all skips, and that of one of them.

    Args:
        worst, worst_mean: the skip with the largest mean, and that mean, in nats per token; of those measured.
        chosen, chosen_mean: the skip that is looked at, and its mean; None where it is not measured yet.
        raised, tokens: how many tokens have a loss more than 1 nat higher with the chosen skip, of how many.
    """

    worst: str
    worst_mean: float
    chosen: str
    chosen_mean: float | None
    raised: int
    tokens: int

    @property
    def sentence(self) -> str:
        if self.chosen_mean is None:
            return (
                f"Largest mean on this text until now: {self.worst}, {self.worst_mean:+.2f} nats per token; "
                f"{self.chosen} is not measured yet."
            )
        return (
            f"Largest mean on this text: {self.worst}, {self.worst_mean:+.2f} nats per token; {self.chosen}: "
            f"{self.chosen_mean:+.2f}; tokens whose loss rises by more than 1 nat with it: "
            f"{self.raised} of {self.tokens}."
        )


def skip_name(names: Sequence[str]) -> str:
    """blocks.2.attn_out -> "attention 2"; both sublayers of a block -> "block 2"."""
    first, *more = names
    return f"block {layer_of(first)}" if more else part_name(first)


def loss_increases(found: Skips, row: int) -> LossIncreases:
    """The largest mean increase of all skips, and those of the skip in `row`."""
    names = [skip_name(one) for one in found.skipped]
    means = found.loss_increase.mean(1)
    worst = int(np.nanargmax(means))
    return LossIncreases(
        worst=names[worst],
        worst_mean=float(means[worst]),
        chosen=names[row],
        chosen_mean=None if np.isnan(means[row]) else float(means[row]),
        raised=int(np.sum(found.loss_increase[row] > 1)),
        tokens=found.loss_increase.shape[1],
    )
