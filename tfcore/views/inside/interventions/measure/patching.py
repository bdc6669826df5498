"""Patching: activations of one text put into the run of another, exactly and to first order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.inspection.capture import block_of, known_names, layer_of
from tfcore.inspection.edits import Edit
from tfcore.measures.attribution_patching import first_order
from tfcore.measures.effect_metric import Quantity, measured
from tfcore.measures.one_text import next_logits, one_text
from tfcore.measures.shared_layers import BATCH, TOGETHER, PlainRun, plain_run, prefix_cache, rows_compete, run_joined
from tfcore.model import Transformer
from tfcore.views.inside.flow.measure.passages import START
from tfcore.views.inside.stream.measure.skip import part_name

Kind = Literal["residual", "attention", "cross-attention", "feed-forward"]
StackName = Literal["encoder", "decoder"]  # of an encoder-decoder, the one in which is patched


@dataclass(frozen=True, slots=True)
class PromptPair:
    """Two texts of equally many tokens, and the two answers that tell them apart.

    Args:
        source, target: token ids; activations of the source are put into the run of the target.
        answers: two tokens, by default those whose probability at the end differs most: the source's own answer and
            the target's. Twice the same where the log-probability of one token is measured.
        difference: logit of the source's answer less that of the target's, at the end of each text; or, of one token,
            its log-probability there.
        differing: positions with different tokens.
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    answers: tuple[int, int]
    difference: tuple[float, float]
    differing: tuple[int, ...]

    @property
    def quantity(self) -> Quantity:
        """The quantity that is measured at the end of both texts."""
        token, against = self.answers
        return Quantity("prediction", token) if token == against else Quantity("difference", token, against)


@torch.no_grad()
def pair(
    model: Transformer, source: Sequence[int], target: Sequence[int], answers: tuple[int, int] | None = None
) -> PromptPair:
    """Two texts with the answers that tell them apart.

    Args:
        answers: ids of two tokens whose logit difference is measured, or twice the id of one whose log-probability is;
            None finds two.

    Raises:
        ValueError: texts of different lengths, twice the same, or answers of which the same is measured on both.
    """
    if len(source) != len(target):
        raise ValueError(f"the texts have {len(source)} and {len(target)} tokens; patching needs equally many")
    differing = tuple(i for i, (one, other) in enumerate(zip(source, target, strict=True)) if one != other)
    if not differing:
        raise ValueError("the two texts are the same; change a word in one of them")
    logits = torch.stack([next_logits(model, ids).float() for ids in (source, target)])
    there, here = logits.softmax(1)
    lead = there - here
    mine, theirs = answers or (int(lead.argmax()), int(lead.argmin()))
    values = logits.log_softmax(1)[:, mine] if mine == theirs else logits[:, mine] - logits[:, theirs]
    one, other = values.tolist()
    if one == other:
        raise ValueError("what is measured of these tokens is the same on both texts; choose others")
    return PromptPair(tuple(source), tuple(target), (mine, theirs), (one, other), differing)


def patched_names(config: ModelConfig, kind: Kind, stack: StackName | None = None) -> tuple[str, ...]:
    """The activations that are patched: the stream before every block and after the last one, or the output of every
    attention or feed-forward layer.

    Args:
        stack: of an encoder-decoder; None is the encoder there, and the one stack of other models.
    """
    prefix = f"{stack or 'encoder'}." if config.architecture == "encoder-decoder" else ""
    names = [name for name in known_names(config) if name.startswith(prefix)]
    if kind == "residual":
        streams = [name for name in names if name.endswith(".resid_pre")]
        return (*streams, f"{prefix}blocks.{len(streams) - 1}.resid_post")
    end = {"attention": ".attn_out", "cross-attention": ".cross_attn_out", "feed-forward": ".mlp_out"}[kind]
    return tuple(name for name in names if name.endswith(end))


def tokens_in(stack: StackName | None, tokens: Sequence[str]) -> list[str]:
    """The tokens of a text at the positions of a stack: a decoder that reads the encoder's text has each one place
    further on."""
    return [START, *tokens[:-1]] if stack == "decoder" else list(tokens)


@torch.no_grad()
def source_values(model: Transformer, both: PromptPair, name: str) -> Float[Tensor, "1 seq d_model"]:
    """An activation of the source's run."""
    return model.activations(one_text(model, both.source), name)[name]


def patch(values: Float[Tensor, "1 seq d_model"], name: str, position: int) -> Edit:
    """The edit that gives the target's run the source's value of an activation at one position."""
    return Edit.replace(name, values.squeeze(0)[position], positions=[position])


class PatchedColumns(NamedTuple):
    """Shares of some neighbouring positions, the first of them `start`."""

    start: int
    shares: Float[ndarray, "row position"]


@torch.no_grad()
def patch_each(
    model: Transformer, both: PromptPair, kind: Kind, stack: StackName | None = None
) -> Iterator[PatchedColumns]:
    """The share of what is measured that each patch restores: every activation of a kind, at every position.

    share = (d_patched - d_target) / (d_source - d_target), d the difference of the two answers' logits at the end (or
    the log-probability of one): 0 is the target's own answer, 1 the source's (arXiv:2309.16042, section 2). As
    get_act_patch_* of TransformerLens, with the source as its clean run and the target as the corrupted one.

    Equal to a full run for each patch. A patch changes neither layers below it nor, in a decoder, tokens before it, so
    those are run once; before the first token that differs a decoder has nothing to patch, and the share is 0. The last
    positions come first.
    """
    names = patched_names(model.config, kind, stack)
    states = model.activations(one_text(model, both.source), names)
    run = _alone if _runs_alone(model.config) else _together
    source, target = both.difference
    for start, differences in run(model, both, states):
        shares = (differences - target) / (source - target)
        yield PatchedColumns(start, shares.float().cpu().numpy())
    if first := _first(model.config, both):
        yield PatchedColumns(0, np.zeros((len(names), first), dtype=np.float32))


def _alone(model: Transformer, both: PromptPair, states: dict[str, Tensor]) -> Iterator[tuple[int, Tensor]]:
    """The quantity with each patch, (first position, (row, position)); each in a run of its own."""
    run = plain_run(model, both.target)
    for at, _ in reversed(list(_groups(model.config, both))):
        values = []
        for name, value in states.items():
            layer = block_of(name, model.config)
            hidden = model.resume(run.streams[layer], layer, edits=[patch(value, name, at)], other=run.other(layer))
            values.append(measured(model, hidden, both.target, both.quantity))
        yield at, torch.stack(values)


def _together(model: Transformer, both: PromptPair, states: dict[str, Tensor]) -> Iterator[tuple[int, Tensor]]:
    """The same, of neighbouring positions and layers in one pass."""
    run = plain_run(model, both.target)
    streams = [*run.streams, model.resume(run.streams[-1], len(run.streams) - 1, until=len(run.streams))]
    patched = [_patched_stream(model, run, name, value) for name, value in states.items()]
    positions = list(_groups(model.config, both))
    layers = BATCH // TOGETHER
    cache = prefix_cache(model, both.target, positions[-1][0], min(layers, len(patched)) * TOGETHER)
    for start, stop in reversed(positions):
        cache.truncate(start)
        hidden = []
        for first in range(0, len(patched), layers):
            starts = [
                (layer, _swapped(streams[layer], new, start, stop)) for layer, new in patched[first : first + layers]
            ]
            hidden.append(run_joined(model, starts, cache))
        values = measured(model, torch.cat(hidden), both.target, both.quantity)
        yield start, values.view(len(patched), stop - start)


def _patched_stream(
    model: Transformer, run: PlainRun, name: str, value: Float[Tensor, "1 seq d_model"]
) -> tuple[int, Float[Tensor, "1 seq d_model"]]:
    """The first layer that reads what a patch changes, and the stream before it where every position is patched.

    Within its own layer, what is added to the stream at one position changes the stream at this position alone.
    """
    layer, state = layer_of(name), name.split(".")[-1]
    if state == "resid_pre":
        return layer, value
    if state == "resid_post":
        return layer + 1, value
    return layer + 1, model.resume(run.streams[layer], layer, edits=[Edit.replace(name, value)], until=layer + 1)


def _swapped(
    stream: Float[Tensor, "1 seq d_model"], new: Float[Tensor, "1 seq d_model"], start: int, stop: int
) -> Float[Tensor, "row after d_model"]:
    """The stream from `start` on, once for each position up to `stop`, which alone is taken from `new`."""
    rows = stream[:, start:].repeat(stop - start, 1, 1)
    at = torch.arange(stop - start, device=rows.device)
    rows[at, at] = new.squeeze(0)[start:stop]
    return rows


def groups(config: ModelConfig, both: PromptPair) -> int:
    """How many results `patch_each` has."""
    return len(list(_groups(config, both))) + (_first(config, both) > 0)


def _runs_alone(config: ModelConfig) -> bool:
    """Whether each patch needs a run of its own: what a patch changes, all tokens of an encoder see, and a state that
    is carried on cannot be taken back to an earlier token."""
    carries = any(config.carried_by(layer) is not None for layer in range(config.n_layers))
    return rows_compete(config) or config.architecture != "decoder" or carries


def _first(config: ModelConfig, both: PromptPair) -> int:
    """The first position with something to patch: in a decoder alone the first token that differs."""
    return both.differing[0] if config.architecture == "decoder" else 0


def _groups(config: ModelConfig, both: PromptPair) -> Iterator[tuple[int, int]]:
    """Positions from the first with something to patch to the last, in groups: (first, one past the last)."""
    n, size = len(both.target), 1 if _runs_alone(config) else TOGETHER
    for start in range(_first(config, both), n, size):
        yield start, min(start + size, n)


def all_shares(so_far: Sequence[PatchedColumns], seq: int) -> Float[ndarray, "row seq"]:
    """The shares of all positions; NaN at those that are not among those measured."""
    first, *_ = so_far
    shares = np.full((len(first.shares), seq), np.nan, dtype=np.float32)
    for one in so_far:
        shares[:, one.start : one.start + one.shares.shape[1]] = one.shares
    return shares


def known_shares(so_far: Sequence[PatchedColumns], estimate: Float[ndarray, "row seq"]) -> Float[ndarray, "row seq"]:
    """The exact shares, and the estimates where there is none yet."""
    if not so_far:
        return estimate
    exact = all_shares(so_far, estimate.shape[1])
    return np.where(np.isnan(exact), estimate, exact)


def patched_title(config: ModelConfig, name: str, kind: Kind) -> str:
    """blocks.2.resid_pre -> "before block 2"; blocks.2.attn_out -> "attention 2"; of two stacks "before encoder block
    2", "encoder attention 2", "cross-attention 2"."""
    stack = "" if name.startswith("blocks.") else f"{name.partition('.')[0]} "
    if kind == "cross-attention":
        return f"{kind} {layer_of(name)}"
    if kind != "residual":
        return f"{stack}{part_name(config, name)}"
    return f"{'after' if name.endswith('post') else 'before'} {stack}block {layer_of(name)}"


def estimate_patches(
    model: Transformer, both: PromptPair, kind: Kind, stack: StackName | None = None
) -> Float[ndarray, "row seq"]:
    """The shares of `patch_each` to first order, of every activation and position at once.

    share = (activation on the source - activation on the target) . d quantity / d activation on the target, over the
    difference of the quantity between both texts (arXiv:2310.10348, section 2): a pass over each text and one backward.
    """
    names = patched_names(model.config, kind, stack)
    with torch.no_grad():
        source = model.activations(one_text(model, both.source), names)
    target = one_text(model, both.target)
    run = first_order(model, target, names, lambda hidden: measured(model, hidden, both.target, both.quantity))
    rows = [((source[name] - run.values[name]) * run.gradients[name]).float().sum(2) for name in names]
    mine, theirs = both.difference
    return (torch.cat(rows) / (mine - theirs)).cpu().numpy()
