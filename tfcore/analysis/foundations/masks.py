"""What a mask does to a model's attention, and whether anything of a later token reaches the earlier ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.block.pitfalls import Look
from tfcore.analysis.finding import Finding
from tfcore.attention import attention_weights
from tfcore.masks import MaskConfig, build
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class MaskCost:
    """How many (query, key) pairs a mask leaves to compute.

    Args:
        n: tokens.
        pairs: allowed pairs.
        ahead: allowed pairs whose key comes after the query: where a later token can be seen.
    """

    n: int
    pairs: int
    ahead: int

    @property
    def share(self) -> float:
        """Of all n * n pairs."""
        return self.pairs / self.n**2


def mask_cost(config: MaskConfig, n: int) -> MaskCost:
    """Count the pairs of a mask for n tokens."""
    mask = build(config, n)
    return MaskCost(n, int(mask.sum()), int(mask.triu(1).sum()))


@dataclass(frozen=True, slots=True)
class AllowedPairs(Finding):
    """The pairs that a mask allows, on a text and on a long one."""

    name: str
    near: MaskCost
    far: MaskCost

    @property
    def sentence(self) -> str:
        near = self.near
        ahead = f"{near.ahead:,}" if near.ahead else "none"
        return (
            f"{self.name}: {near.pairs:,} of {near.n**2:,} pairs, {near.share:.1%}; {ahead} of them with a later key. "
            f"At {self.far.n:,} tokens the same mask allows {self.far.share:.1%}."
        )


def allowed_pairs(config: MaskConfig, name: str, n: int, far: int) -> AllowedPairs:
    """Count the pairs of a mask, called `name`, for n tokens and for `far`."""
    return AllowedPairs(name, mask_cost(config, n), mask_cost(config, far))


@dataclass(frozen=True, slots=True)
class MaskedAttention:
    """All heads of a model that ran under a mask.

    Args:
        allowed: the mask.
        scores: what the softmax of each layer gets before the mask is applied.
        unmasked: softmax of these scores as they are, had this layer alone no mask.
        masked: softmax after the mask, which the model used.
        blocked_share: the mean share of a query's `unmasked` weight that lies on keys it may not see.
    """

    allowed: Bool[ndarray, "query key"]
    scores: Float[ndarray, "layer head query key"]
    unmasked: Float[ndarray, "layer head query key"]
    masked: Float[ndarray, "layer head query key"]
    blocked_share: Float[ndarray, "layer head"]


@torch.no_grad()
def masked_attention(model: Transformer, ids: Sequence[int], config: MaskConfig) -> MaskedAttention:
    """Scores and weights of every head on a text, before and after the mask, in one forward pass.

    The mask acts in every layer, so the scores of a later layer depend on it too.
    """
    mask = build(config, len(ids))
    found = model.activations(one_text(model, ids), ("blocks.*.attn.scores", "blocks.*.attn.pattern"), mask=mask)
    layers = range(model.config.n_layers)
    scores, masked = (
        torch.cat([found[f"blocks.{i}.attn.{name}"].float().cpu() for i in layers]) for name in ("scores", "pattern")
    )  # (layer, head, query, key)
    unmasked = attention_weights(scores)
    blocked = (unmasked * ~mask).sum(-1).mean(-1)
    return MaskedAttention(mask.numpy(), scores.numpy(), unmasked.numpy(), masked.numpy(), blocked.numpy())


@dataclass(frozen=True, slots=True)
class BlockedWeight(Finding):
    """The share of a head's weight that lies on pairs which a mask blocks.

    Args:
        name: of the mask.
        share: without the mask.
        masked: it is said of the map after the mask.
    """

    name: str
    share: float
    masked: bool

    @property
    def sentence(self) -> str:
        verb = "was" if self.masked else "lies"
        return f"{self.share:.0%} of the weight {verb} on pairs that this mask ({self.name}) blocks."


def blocked_weight(result: MaskedAttention, name: str, layer: int, head: int, *, masked: bool) -> BlockedWeight:
    """What the mask, called `name`, takes from one head."""
    return BlockedWeight(name, float(result.blocked_share[layer, head]), masked)


@dataclass(frozen=True, slots=True)
class Leak:
    """The outputs of one text and of the same text with one token changed.

    Args:
        position: of the changed token.
        difference: per position, the largest absolute difference of a logit.
        before: the largest of those at positions before the changed token; 0.0 when there is none.
        equal: all logits before the changed token agree to the last bit.
        reached: how many positions before it are not equal.
    """

    position: int
    difference: Float[ndarray, " seq"]
    before: float
    equal: bool
    reached: int

    @property
    def before_text(self) -> str:
        """The largest difference before the changed token."""
        return f"{self.before:.3g}" if self.before else "0.0"

    @property
    def verdict(self) -> str:
        """What the differences before the changed token come to."""
        if self.equal:
            return "equal to the last bit"
        return f"{self.reached} of {self.position} earlier positions changed"


@torch.no_grad()
def masked_outputs(model: Transformer, ids: Sequence[int], config: MaskConfig) -> Float[Tensor, "seq output"]:
    """All logits of a model under a mask; of a model without a head, all hidden states."""
    output = model(one_text(model, ids), mask=build(config, len(ids)))
    (outputs,) = output.logits if hasattr(output, "logits") else output.hidden
    return outputs.float().cpu()


def leak_test(
    model: Transformer,
    ids: Sequence[int],
    config: MaskConfig,
    position: int,
    replacement: int,
    unchanged: Float[Tensor, "seq output"] | None = None,
) -> Leak:
    """Run the whole model twice, the second time with another token at `position`, and compare all logits (of a model
    without a head: all hidden states).

    Two passes of the same shape, not one batch: a token's arithmetic then has the same order in both, so that where
    nothing leaks the outputs are the same numbers, not just close ones.

    Args:
        ids: the text, at least two tokens.
        position: of the token to change, from 1 on.
        replacement: the id to put there.
        unchanged: masked_outputs of the text as it is, where they are known.

    Raises:
        ValueError: a position outside the text or without a token before it, or a replacement that changes nothing.
    """
    if not 1 <= position < len(ids):
        raise ValueError(f"position={position} must be between 1 and {len(ids) - 1}, with a token before it")
    if ids[position] == replacement:
        raise ValueError(f"replacement={replacement} is the token that stands at {position} already")
    changed = [*ids[:position], replacement, *ids[position + 1 :]]
    first = masked_outputs(model, ids, config) if unchanged is None else unchanged
    second = masked_outputs(model, changed, config)
    difference = (first - second).abs().amax(1)  # (seq,)
    same = (first.view(torch.int32) == second.view(torch.int32)).all(1)[:position]  # bit by bit
    before = float(difference[:position].max())
    return Leak(position, difference.numpy(), before, bool(same.all()), int((~same).sum()))


@dataclass(frozen=True, slots=True)
class LeakComparison(Finding):
    """A leak test with a mask, beside one without.

    Args:
        name: of the mask.
        position: of the changed token.
        equal: with the mask, all outputs before it agree to the last bit.
        before: with the mask, the largest difference before it.
        without: the largest difference before it without a mask.
    """

    name: str
    position: int
    equal: bool
    before: float
    without: float

    @property
    def sentence(self) -> str:
        how = "equal to the last bit" if self.equal else f"differ by up to {self.before:.3g}"
        return (
            f"With the mask {self.name}, the outputs at the {self.position} positions before the changed token "
            f"{'are ' if self.equal else ''}{how}; without a mask they differ by up to {self.without:.3g}."
        )


def leak_comparison(masked: Leak, free: Leak, name: str) -> LeakComparison:
    """Compare a leak test under the mask called `name` with one without a mask."""
    return LeakComparison(name, masked.position, masked.equal, masked.before, free.before)


@dataclass(frozen=True, slots=True)
class TwinLosses(Finding):
    """The training losses of a model without a causal mask and of one with it, nats per letter."""

    step: int
    without: float
    masked: float

    @property
    def sentence(self) -> str:
        return (
            f"Training loss, nats per letter, after {self.step} steps: {self.without:.3g} without a mask, "
            f"{self.masked:.3g} with it."
        )


def twin_losses(looks: Sequence[Look]) -> TwinLosses:
    """The losses at the last look."""
    without, masked = looks[-1].loss
    return TwinLosses(looks[-1].step, without, masked)


_WORDS = (" dragon", " red", " she", ".", "a", "b")


def replacement_for(encode: Callable[[str], list[int]], token_id: int) -> int:
    """A token to put in the place of another: the same one each time, readable, and never the same as it."""
    around = set(encode(""))  # what some tokenizers put around every text
    inside = [[i for i in encode(word) if i not in around] for word in _WORDS]
    whole = [i for ids in inside if len(ids) == 1 for i in ids]
    candidates = [*whole, *(i for ids in inside for i in ids), 0, 1]
    return next(candidate for candidate in candidates if candidate != token_id)
