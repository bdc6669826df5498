"""The KV cache: how large it is, for every way of sharing keys and values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfcore.measures.kv_bytes import CacheShape, cache_bytes, shared, token_bytes, ways
from tfcore.measures.precision import BITS, Precision
from tfcore.measures.quantities import both
from tfcore.views.finding import Finding, Statement, state


def product_latex(shape: CacheShape, tokens: int, batch: int, precision: Precision) -> str:
    """The product that `cache_bytes` is, number by number, as LaTeX."""
    state = [shape.state, BITS[precision] / 8, batch]
    if not shape.layers:
        return _equation([state], cache_bytes(shape, tokens, batch, precision))
    factors: list[float] = [shape.latent] if shape.latent else [2, shape.kv_heads, shape.d_head]
    alike = shape.windowed in (0, shape.layers)  # all layers keep as many tokens
    layers = [shape.layers] if alike else []
    kept = shape.kept(tokens) // shape.layers if alike else shape.kept(tokens)
    factors = [*factors[:-2], *layers, *factors[-2:], kept, BITS[precision] / 8, batch]
    return _equation([factors, *([state] if shape.state else [])], cache_bytes(shape, tokens, batch, precision))


def _equation(products: Sequence[Sequence[float]], total: int) -> str:
    """A sum of products as LaTeX."""
    words = [[f"{factor:,g}" if factor < 1 else f"{factor:,.0f}" for factor in factors] for factors in products]
    written = " + ".join(r" \cdot ".join(factors) for factors in words)
    return f"{written} = {total:,}".replace(",", "{,}") + r"\ \text{bytes}"


@dataclass(frozen=True, slots=True)
class CacheSizes(Finding):
    """The cache of a model as it is and had it been built otherwise.

    Args:
        name, shape: of the model.
        tokens, batch: of each sequence, and how many sequences.
        sizes: way to share -> bytes of the batch, the largest first.
        token, sequence: bytes of one token and of one sequence.
        context: the longest text that the model reads; None where it has no fixed length.
        states: bytes of the sequence that do not grow with it.
    """

    name: str
    shape: CacheShape
    tokens: int
    batch: int
    sizes: dict[str, int]
    token: int
    sequence: int
    context: int | None
    states: int = 0

    @property
    def sentence(self) -> str:
        sizes = "; ".join(f"{name} {both(size)}" for name, size in self.sizes.items())
        window, context = self.shape.window, self.context
        ring = f" Its sliding window keeps {window - 1:,} tokens per layer." if window else ""
        beyond = f" Its own context is {context:,} tokens." if context is not None and self.tokens > context else ""
        carried = f" {both(self.states)} of a sequence are states of layers without keys." if self.states else ""
        return f"KV cache of {self.name}, {self.batch} x {self.tokens:,} tokens: {sizes}.{ring}{carried}{beyond}"

    @property
    def values(self) -> str:
        return f"{self.shape.numbers:,} values per layer"

    @property
    def share_of_mha(self) -> str:
        return f"{self.shape.numbers / shared(self.shape, 'mha').numbers:.1%}"


def cache_sizes(
    name: str, shape: CacheShape, context: int | None, tokens: int, batch: int, precision: Precision
) -> CacheSizes:
    """The sizes of all ways to share keys and values."""
    return CacheSizes(
        name=name,
        shape=shape,
        tokens=tokens,
        batch=batch,
        sizes={
            f"{one}{', as built' if one == shape else ''}": cache_bytes(one, tokens, batch, precision)
            for one in ways(shape)
        },
        token=token_bytes(shape, precision),
        sequence=cache_bytes(shape, tokens, 1, precision),
        context=context,
        states=cache_bytes(shape, 0, 1, precision),
    )


def latents_kept(name: str, shape: CacheShape, tokens: int, precision: Precision) -> Statement:
    """What a token leaves in the cache of a model with latent attention, beside the keys and values of all heads."""
    keys, values = shape.of_all_heads
    kept = cache_bytes(shape, tokens, 1, precision)
    return state(
        "latents",
        "In each layer a token of {model} leaves a latent of {latent:whole} numbers and a rotated key of "
        "{rotated:whole} for all {heads:whole} heads, {kept:whole} in place of the {made:whole} of their keys and "
        "values ({times:.1f} times as many); {tokens:whole} tokens leave {bytes:bytes} in place of {full:bytes}.",
        model=name,
        kept=shape.latent,
        latent=shape.latent - shape.rotated,
        rotated=shape.rotated,
        heads=shape.heads,
        made=keys + values,
        times=(keys + values) / shape.latent,
        tokens=tokens,
        bytes=kept,
        full=kept * (keys + values) // shape.latent,
    )


def cache_range(sizes: Mapping[str, int], tokens: int, batch: int) -> Statement:
    """Compare models by the bytes of their caches."""
    ordered = sorted(sizes.items(), key=lambda size: size[1])
    (small, least), (large, most) = ordered[0], ordered[-1]
    return state(
        "cache range",
        "{models} models, each with {batch} x {tokens:whole} tokens: from {small} with {least:bytes} to {large} with "
        "{most:bytes}.",
        models=len(sizes),
        tokens=tokens,
        batch=batch,
        small=small,
        least=least,
        large=large,
        most=most,
    )
