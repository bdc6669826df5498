"""Attribution patching: the effects of all ablations, and of all patches, estimated from one backward pass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.interventions import Action, Part, ablated, part_title, parts_of
from tfcore.analysis.inside.knock_outs import ROUNDING, without_rounding
from tfcore.analysis.inside.patching import Kind, Pair, patched_names
from tfcore.inspection.edits import Edit
from tfcore.measures.effect_metric import Quantity, measured
from tfcore.measures.one_text import one_text
from tfcore.measures.statistics import correlation
from tfcore.measures.token_text import visible
from tfcore.model import NO_LOGITS, Transformer


class FirstOrder(NamedTuple):
    """A pass there and back.

    Args:
        quantity: of each row.
        values, gradients: of activations, by name; the gradient is that of the quantity of its row.
    """

    quantity: Float[Tensor, " row"]
    values: dict[str, Tensor]
    gradients: dict[str, Tensor]


@torch.enable_grad()
def first_order(
    model: Transformer,
    ids: Int[Tensor, "row seq"],
    names: Sequence[str],
    quantity: Callable[[Float[Tensor, "row seq d_model"]], Float[Tensor, " row"]],
) -> FirstOrder:
    """Values and gradients of activations, in one forward and one backward pass over texts that are a row each.

    The model stays as it is: gradients flow to activations of this pass alone, from an embedding of its own.

    Args:
        quantity: of the last hidden states.
    """
    leaf = Edit("embed", lambda x: x.requires_grad_())  # the edit gets a copy, so the graph of this pass begins here
    found = model(ids, capture=names, edits=[leaf], logits_to_keep=NO_LOGITS)
    values = [found.activations[name] for name in names]
    total = quantity(found.hidden)
    gradients = torch.autograd.grad(total.sum(), values)
    detached = [value.detach() for value in values]
    return FirstOrder(total.detach(), dict(zip(names, detached, strict=True)), dict(zip(names, gradients, strict=True)))


def part_names(model: Transformer) -> list[str]:
    """The activations that the parts of a model are in."""
    return list(dict.fromkeys(part.name for layer in parts_of(model.config) for part in layer))


def part_effects(model: Transformer, found: FirstOrder, action: Action) -> Float[Tensor, "row layer part"]:
    """The estimate of every part's effect, on each row: see estimate_effects. Ablation at the mean is for one row."""
    effects = {
        name: ((found.values[name] - ablated(found.values[name], action)) * found.gradients[name]).float()
        for name in part_names(model)  # (row, head, seq, d_head) or (row, seq, d_model)
    }
    layers = [[_sum(effects[part.name], part) for part in layer] for layer in parts_of(model.config)]
    return torch.stack([torch.stack(layer, 1) for layer in layers], 1)


def estimate_effects(
    model: Transformer, ids: Sequence[int], quantity: Quantity, action: Action
) -> Float[ndarray, "layer part"]:
    """By how much the quantity would fall if each part alone were ablated, to first order; as `parts_of` lists them.

    effect = sum over tokens of (activation - ablated activation) . d quantity / d activation, of what each head
    computes before W_O and of what each feed-forward layer writes: one forward and one backward pass for all
    (arXiv:2310.10348, section 2; of a patch from another text there, of an ablation here). Exact where the quantity
    depends linearly on the activation. By linearity the estimate of a whole attention layer without an output bias is
    the sum of those of its heads.
    """
    found = first_order(
        model, one_text(model, ids), part_names(model), lambda hidden: measured(model, hidden, ids, quantity)
    )
    return part_effects(model, found, action).squeeze(0).cpu().numpy()


def estimate_patches(model: Transformer, both: Pair, kind: Kind) -> Float[ndarray, "row seq"]:
    """The shares of `patch_each` to first order, of every activation and position at once.

    share = (activation on the source - activation on the target) . d quantity / d activation on the target, over the
    difference of the quantity between both texts (arXiv:2310.10348, section 2): a pass over each text and one backward.
    """
    names = patched_names(model.config, kind)
    with torch.no_grad():
        source = model.activations(one_text(model, both.source), names)
    target = one_text(model, both.target)
    found = first_order(model, target, names, lambda hidden: measured(model, hidden, both.target, both.quantity))
    rows = [((source[name] - found.values[name]) * found.gradients[name]).float().sum(2) for name in names]
    mine, theirs = both.difference
    return (torch.cat(rows) / (mine - theirs)).cpu().numpy()


def _sum(effect: Tensor, part: Part) -> Float[Tensor, " row"]:
    """Over tokens and components, of one part."""
    return (effect if part.head is None else effect[:, part.head]).sum((1, 2))


# ---- findings ----


@dataclass(frozen=True, slots=True)
class EstimatedShares(Finding):
    """How near the shares estimated by one backward pass come to the exact ones.

    Args:
        correlation: Pearson's, over every activation and position from the first token that differs on; None where one
            of the two is the same everywhere.
        row, token, position: of the cell that the estimate misses by most.
        estimate, exact: its shares.
    """

    correlation: float | None
    row: str
    token: str
    position: int
    estimate: float
    exact: float

    @property
    def sentence(self) -> str:
        start = "" if self.correlation is None else f"Correlation with the estimates: {self.correlation:.2f}. "
        return (
            f"{start}The estimate is farthest off for {self.row} at '{visible(self.token)}' ({self.position}): "
            f"{self.estimate:.2f}, exactly {self.exact:.2f}."
        )


def estimated_shares(
    both: Pair,
    estimate: Float[ndarray, "row seq"],
    exact: Float[ndarray, "row seq"],
    rows: Sequence[str],
    tokens: Sequence[str],
) -> EstimatedShares:
    """Compare both; `rows` are the titles of the patched activations, `tokens` those of the target."""
    first, *_ = both.differing
    row, column = (int(i) for i in np.unravel_index(np.abs(estimate - exact).argmax(), exact.shape))
    return EstimatedShares(
        correlation(estimate[:, first:], exact[:, first:]),
        rows[row],
        tokens[column],
        column,
        float(estimate[row, column]),
        float(exact[row, column]),
    )


@dataclass(frozen=True, slots=True)
class EstimateAgainstExact(Finding):
    """How near estimates come to exact effects.

    Args:
        correlation, heads: Pearson's, over all parts and over heads alone; None where one of the two is the same
            everywhere.
        same_sign, counted: of the parts with an exact effect of at least `least`, how many have an estimate of the
            same sign.
        least: the tenth part of the largest exact effect.
        unit: of the effects.
        part, estimate, exact: the part that the estimate misses by most.
    """

    correlation: float | None
    heads: float | None
    same_sign: int
    counted: int
    least: float
    unit: str
    part: str
    estimate: float
    exact: float

    @property
    def sentence(self) -> str:
        start = ""
        if self.correlation is not None:
            heads = "" if self.heads is None else f", {self.heads:.2f} over heads alone"
            start = f"Correlation of estimate and exact effect: {self.correlation:.2f} over all parts{heads}. "
        return (
            f"{start}Of the {self.counted} parts with an exact effect of at least {self.least:.2g} {self.unit}, "
            f"{self.same_sign} have an estimate of the same sign. Farthest off: {self.part}, estimate "
            f"{self.estimate:+.2f}, exact {self.exact:+.2f}."
        )


def estimate_against_exact(
    estimate: Float[ndarray, "layer part"],
    exact: Float[ndarray, "layer part"],
    parts: Sequence[Sequence[Part]],
    unit: str,
) -> EstimateAgainstExact:
    """Compare both for all parts."""
    estimate, exact = without_rounding(estimate), without_rounding(exact)
    is_head = np.array([[part.head is not None for part in layer] for layer in parts])
    least = float(np.abs(exact).max()) / 10
    large = np.abs(exact) >= max(least, ROUNDING)
    layer, column = (int(i) for i in np.unravel_index(np.abs(estimate - exact).argmax(), exact.shape))
    return EstimateAgainstExact(
        correlation=correlation(estimate.ravel(), exact.ravel()),
        heads=correlation(estimate[is_head], exact[is_head]),
        same_sign=int((np.sign(estimate) == np.sign(exact))[large].sum()),
        counted=int(large.sum()),
        least=least,
        unit=unit,
        part=part_title(parts[layer][column]),
        estimate=float(estimate[layer, column]),
        exact=float(exact[layer, column]),
    )
