"""Shared experts: their part in what a layer writes, and the loss without them or without the routed ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.interventions import run_each
from tfcore.inspection.edits import Edit
from tfcore.measures.one_text import one_text
from tfcore.measures.text_loss import next_losses
from tfcore.measures.token_text import visible
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
        """By how much each loss grows without the shared experts."""
        return self.without_shared - self.losses

    @property
    def missing_routed(self) -> Float[ndarray, " next"]:
        """By how much each loss grows without the routed experts."""
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


@dataclass(frozen=True, slots=True)
class SharedShares(Finding):
    """The part of the shared expert in what a layer adds to the stream.

    Args:
        layer: its number.
        mean: over the tokens.
        least, most: token and share.
        active: experts that compute a token, the shared one included.
        by_layer: layer and mean share, for all.
    """

    layer: int
    mean: float
    least: tuple[str, float]
    most: tuple[str, float]
    active: int
    by_layer: tuple[tuple[int, float], ...]

    @property
    def sentence(self) -> str:
        (least, low), (most, high) = self.least, self.most
        by_layer = ", ".join(f"{mean:.0%} in layer {layer}" for layer, mean in self.by_layer)
        return (
            f"The shared expert writes {self.mean:.0%} of what layer {self.layer} adds, from {low:.0%} for "
            f"'{visible(least)}' to {high:.0%} for '{visible(most)}'; one of the {self.active} active experts would "
            f"write {1 / self.active:.0%}. On average it is {by_layer}."
        )


def shared_shares(work: SharedWork, tokens: Sequence[str], at: int, top_k: int) -> SharedShares:
    """The share of the shared expert in the layer at a place among those with experts, and its mean in all.

    Args:
        tokens: of the text.
        top_k: routed experts that compute a token.
    """
    share = work.share[at]
    least, most = int(share.argmin()), int(share.argmax())
    return SharedShares(
        work.layers[at],
        float(share.mean()),
        (tokens[least], float(share[least])),
        (tokens[most], float(share[most])),
        1 + top_k,
        tuple(zip(work.layers, work.share.mean(1).tolist(), strict=True)),
    )


def share_titles(work: SharedWork, at: int) -> list[str]:
    """For each token the share of the shared expert in what a layer adds, in words."""
    return [f"{part:.0%} of what layer {work.layers[at]} adds is the shared expert's" for part in work.share[at]]


@dataclass(frozen=True, slots=True)
class Ablations(Finding):
    """By how much the loss of a text grows without the shared expert, and without the routed ones.

    Args:
        loss: mean of the whole model, in nats per token.
        without_shared, without_routed: mean without one of the two.
        worst: token whose loss grows most without the shared expert, and by how much.
        more: tokens that lose more without the shared expert than without the routed ones.
        tokens: that are predicted.
    """

    loss: float
    without_shared: float
    without_routed: float
    worst: tuple[str, float]
    more: int
    tokens: int

    @property
    def trained_words(self) -> str:
        """The loss of the whole model, in digits."""
        return f"{self.loss:.3f}"

    @property
    def shared_words(self) -> tuple[str, str]:
        """The loss without the shared expert and its change, in digits."""
        return f"{self.without_shared:.3f}", f"{self.without_shared - self.loss:+.3f}"

    @property
    def routed_words(self) -> tuple[str, str]:
        """The loss without the routed experts and its change, in digits."""
        return f"{self.without_routed:.3f}", f"{self.without_routed - self.loss:+.3f}"

    @property
    def sentence(self) -> str:
        token, most = self.worst
        shared, routed = self.without_shared - self.loss, self.without_routed - self.loss
        return (
            f"Without the shared expert {shared:+.2f} nats per token, without the routed ones {routed:+.2f}. "
            f"Ablating the shared one costs more for {self.more} of {self.tokens} tokens, most for "
            f"'{visible(token)}' ({most:+.2f})."
        )


def ablations(work: SharedWork, tokens: Sequence[str]) -> Ablations:
    """The means of the three losses, and the token that needs the shared expert most; of at least two tokens."""
    shared, routed = work.missing_shared, work.missing_routed
    worst = int(shared.argmax())
    return Ablations(
        float(work.losses.mean()),
        float(work.without_shared.mean()),
        float(work.without_routed.mean()),
        (tokens[worst + 1], float(shared[worst])),
        int((shared > routed).sum()),
        len(shared),
    )
