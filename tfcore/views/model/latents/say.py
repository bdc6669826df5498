"""Findings on the latents of a decoder."""

from collections.abc import Mapping
from typing import Any

from tfcore.config import ModelConfig
from tfcore.views.finding import Statement, state
from tfcore.views.model.latents.measure import CachedVectors, full_size

LITTLE = 0.05  # nats per token: a loss that is hardly more


def fitted_rebuilt(name: str, config: ModelConfig, layer: int, vectors: CachedVectors, tokens: int) -> Statement:
    """What would be cached of a token with a latent fitted afterwards, and how well keys and values come back from it.

    Args:
        tokens: that the latents are fitted to.
    """
    keys, values = vectors.errors
    return state(
        "rebuilt",
        "{name}, layer {layer}: {rank} numbers of a token are cached in the place of {full}, {share:.0%}: {kept:whole} "
        "bytes of this text, not {whole:whole}. From them the keys of {heads:counted KV head} are rebuilt with "
        "{keys:.1%} of squared error, the values with {values:.1%}. Fitted to {tokens:whole} tokens of Wikipedia; the "
        "model was not trained so.",
        keys=keys,
        values=values,
        tokens=tokens,
        **_sizes(name, config, layer, vectors),
    )


def own_rebuilt(name: str, config: ModelConfig, layer: int, vectors: CachedVectors) -> Statement:
    """What a model trained with latents caches of a token, and that its keys and values are made of that alone."""
    return state(
        "rebuilt",
        "{name}, layer {layer}: a latent of {rank} numbers and a rotated key of {rotated} are cached of a token, "
        "{share:.1%} of the {full} that keys and values of {heads:counted head} have: {kept:whole} bytes of this text, "
        "not {whole:whole}. Made of them alone, keys and values differ from those of the model by {error:.1g} at most.",
        rotated=vectors.rotated.shape[1],
        error=vectors.largest_error,
        **_sizes(name, config, layer, vectors),
    )


def _sizes(name: str, config: ModelConfig, layer: int, vectors: CachedVectors) -> dict[str, Any]:
    """What both say of a layer: numbers of a token and bytes of a text as float32."""
    kept, whole = vectors.bytes
    return {
        "name": name,
        "layer": layer,
        "rank": vectors.latent.shape[1],
        "full": full_size(config),
        "share": kept / whole,
        "kept": kept,
        "whole": whole,
        "heads": config.attention.kv_heads,
    }


def losses_by_size(losses: Mapping[int, float], base: float, rank: int, full: int) -> Statement:
    """The loss of a text with latents of the size that is chosen, and the smallest that cost little.

    Args:
        losses: numbers of a latent -> loss, the full size among them.
        base: of the model as it is.
    """
    enough = min(size for size in losses if all(losses[more] - base < LITTLE for more in losses if more >= size))
    return state(
        "loss",
        "Latents of {rank} numbers in every layer: a loss of {loss:.2f} nats per token of this text, {base:.2f} as the "
        "model is ({more:+.2f}). From {enough} of {full} numbers on ({share:.0%}) it is less than {little} more.",
        rank=rank,
        loss=losses[rank],
        base=base,
        more=round(losses[rank] - base, 2) + 0.0,  # no -0.00
        enough=enough,
        full=full,
        share=enough / full,
        little=LITTLE,
    )


def map_as_it_is(layer: int, head: int, shared: int) -> Statement:
    """Whose map it is, and how many query heads share its keys."""
    return state(
        "map",
        "Layer {layer}, head {head}, as the model has it; {shared:counted query head} read these keys.",
        layer=layer,
        head=head,
        shared=shared,
    )


def map_with_latents(rank: int, share: float) -> Statement:
    """How much of the weight is elsewhere."""
    return state(
        "moved",
        "With latents of {rank} numbers in every layer: {share:.0%} of a query's weight is on other tokens, in the "
        "mean.",
        rank=rank,
        share=share,
    )
