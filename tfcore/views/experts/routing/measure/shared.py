"""Shared experts: their part in what a layer writes, and the loss without them or without the routed ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.inspection.edits import Edit
from tfcore.measures.interventions import run_each
from tfcore.measures.one_text import one_text
from tfcore.measures.text_loss import next_losses
from tfcore.model import Transformer

SHARED = "blocks.*.mlp.shared_out"
ROUTED = "blocks.*.mlp.routed_out"


@dataclass(frozen=True, slots=True)
class SharedWork:
    """A text through a model with shared experts (arXiv:2401.06066, equations 9 to 11).

    Args:
        layers: the blocks that have experts.
        share: of the shared experts in what a layer of experts writes for a token: the part of the sum's length that
            their output makes along it, <s, s + r> / |s + r|^2. The chosen experts' part is 1 - share. Below 0 they
            work against the sum, above 1 the others do.
        losses, without_shared, without_routed: -ln p of every token but the first, given those before it: of the
            whole model, and with one of the two outputs set to 0 in every layer.
    """

    layers: tuple[int, ...]
    share: Float[ndarray, "layer seq"]
    losses: Float[ndarray, " next"]
    without_shared: Float[ndarray, " next"]
    without_routed: Float[ndarray, " next"]

    @property
    def missing_shared(self) -> Float[ndarray, " next"]:
        """The rise of each loss without the shared experts."""
        return self.without_shared - self.losses

    @property
    def missing_routed(self) -> Float[ndarray, " next"]:
        """The rise of each loss without the routed experts."""
        return self.without_routed - self.losses


@torch.no_grad()
def shared_work(model: Transformer, ids: Sequence[int]) -> SharedWork:
    """Run a text three times: as it is, without the shared experts, and with them alone.

    Args:
        model: a decoder with shared experts and a language head.
        ids: of the text, at least one.

    Raises:
        ValueError: the model has no shared experts.
    """
    if model.config.experts is None or not model.config.experts.n_shared:
        raise ValueError("this model has no shared experts; take one with config.experts.n_shared of 1 or more")
    layers, output = model.config.routed_layers, model(one_text(model, ids), capture=(SHARED, ROUTED))
    shared, routed = (
        torch.cat([output.activations[name.replace("*", str(i))].float() for i in layers]) for name in (SHARED, ROUTED)
    )
    total = shared + routed  # (layer, seq, d_model)
    share = (shared * total).sum(-1) / total.square().sum(-1).clamp_min(1e-12)
    without = run_each(model, ids, [[Edit.zero(SHARED)], [Edit.zero(ROUTED)]])
    losses = next_losses(torch.cat([output.logits.float(), *without]), ids)
    return SharedWork(layers, share.cpu().numpy(), *losses.cpu().numpy())
