"""Attribution patching: the effects of all ablations estimated from one backward pass."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.inspection.edits import LEAF, LEAVES
from tfcore.measures.effect_metric import Quantity, measured
from tfcore.measures.interventions import Action, Part, ablated, flat_parts, parts_of
from tfcore.measures.one_text import one_text
from tfcore.model import NO_LOGITS, Transformer


class FirstOrder(NamedTuple):
    """A pass there and back.

    Args:
        quantity: of each row.
        values: of activations, by name.
        gradients: of those that were asked for; the gradient is that of the quantity of its row.
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
    others: Sequence[str] = (),
) -> FirstOrder:
    """Values and gradients of activations, in one forward and one backward pass over texts that are a row each.

    The model stays as it is: gradients flow to activations of this pass alone, from an embedding of its own.

    Args:
        quantity: of the last hidden states.
        others: further activations, of which the values alone are returned.
    """
    leaf = LEAVES if model.config.architecture == "encoder-decoder" else LEAF
    output = model(ids, capture=[*names, *others], edits=[leaf], logits_to_keep=NO_LOGITS)
    values = output.activations
    total = quantity(output.hidden)
    gradients = torch.autograd.grad(total.sum(), [values[name] for name in names])
    detached = {name: value.detach() for name, value in values.items()}
    return FirstOrder(total.detach(), detached, dict(zip(names, gradients, strict=True)))


def part_names(model: Transformer) -> list[str]:
    """The activations that the parts of a model are in."""
    return list(dict.fromkeys(part.name(model.config) for part in flat_parts(parts_of(model.config))))


def part_effects(model: Transformer, run: FirstOrder, action: Action) -> Float[Tensor, "row layer part"]:
    """The estimate of every part's effect, on each row: see estimate_effects; NaN for parts that a layer lacks.
    Ablation at the mean is for one row."""
    effects = {
        name: ((run.values[name] - ablated(run.values[name], action)) * run.gradients[name]).float()
        for name in part_names(model)  # (row, head, seq, d_head) or (row, seq, d_model)
    }
    lacking = torch.full_like(run.quantity, torch.nan, dtype=torch.float32)
    layers = [
        [lacking if part is None else _sum(effects[part.name(model.config)], part) for part in layer]
        for layer in parts_of(model.config)
    ]
    return torch.stack([torch.stack(layer, 1) for layer in layers], 1)


def estimate_effects(
    model: Transformer, ids: Sequence[int], quantity: Quantity, action: Action
) -> Float[ndarray, "layer part"]:
    """The fall of the quantity if each part alone were ablated, to first order; in the order of `parts_of`.

    effect = sum over tokens of (activation - ablated activation) . d quantity / d activation, of what each head
    computes before W_O and of what each feed-forward layer writes: one forward and one backward pass for all
    (arXiv:2310.10348, section 2; of a patch from another text there, of an ablation here). Exact where the quantity
    depends linearly on the activation. By linearity the estimate of a whole attention layer without an output bias is
    the sum of those of its heads.
    """
    run = first_order(
        model, one_text(model, ids), part_names(model), lambda hidden: measured(model, hidden, ids, quantity)
    )
    return part_effects(model, run, action).squeeze(0).cpu().numpy()


def _sum(effect: Tensor, part: Part) -> Float[Tensor, " row"]:
    """Over tokens and components, of one part."""
    return (effect[:, part.head] if isinstance(part.head, int) else effect).sum((1, 2))
