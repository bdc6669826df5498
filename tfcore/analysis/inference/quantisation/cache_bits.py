"""The KV cache in fewer bits: keys and values rounded by channel or by token, and its bytes with their scales."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.inference.online_softmax import HeadVectors, TextVectors, text_vectors
from tfcore.analysis.inference.quantisation.weights import percent, relative_error
from tfcore.config import ModelConfig
from tfcore.measures.kv_bytes import CacheShape, cache_bytes, cache_shape
from tfcore.measures.one_text import first_tokens
from tfcore.measures.quantisation.formats import SCALE_BITS
from tfcore.measures.quantisation.rounded_cache import GROUP, CacheScheme, rounded_cache
from tfcore.measures.quantities import both
from tfcore.measures.statistics import ratio
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

FLOAT_BITS = 16  # of the cache it is compared with


def rounded_cache_bytes(shape: CacheShape, tokens: int, bits: int) -> int:
    """Bytes of a cache of one text, with a scale and a minimum of 16 bits for every 32 values; 16 bits need none.

    The integers are `kv_cache.cache_bytes` scaled to `bits`.
    """
    plain = cache_bytes(shape, tokens)  # float16
    if bits >= FLOAT_BITS:
        return plain
    return round(plain * (bits + 2 * SCALE_BITS / GROUP) / FLOAT_BITS)


@dataclass(frozen=True, slots=True)
class ChannelSpread(Finding):
    """How far the largest channel and the largest token of keys or values stand out.

    Args:
        channel: the one with the largest magnitude.
        by_channel, by_token: largest magnitude of the largest one over that of the median one.
    """

    what: str
    channel: int
    by_channel: float
    by_token: float

    @property
    def sentence(self) -> str:
        return (
            f"{self.what.capitalize()}: channel {self.channel} reaches {self.by_channel:.1f} times the largest "
            f"magnitude of the median channel; the largest token reaches {self.by_token:.1f} times that of the median "
            "token."
        )


@dataclass(frozen=True, slots=True)
class CacheEffect(Finding):
    """One head with its keys and values rounded.

    Args:
        keys, values: (token, d_head), before they are rounded.
        before, after: weights, (query, key).
        keys_error, values_error: relative RMS error.
        output_error: of what the head hands on.
    """

    model: str
    layer: int
    head: int
    scheme: CacheScheme
    keys: Float[ndarray, "key d_head"]
    values: Float[ndarray, "key d_head"]
    before: Float[ndarray, "query key"]
    after: Float[ndarray, "query key"]
    keys_error: float
    values_error: float
    output_error: float

    def channels(self, what: str) -> "ChannelSpread":
        """How unequal the channels of the keys or values are, and how unequal the tokens."""
        numbers = np.abs(self.keys if what == "keys" else self.values)
        by_channel, by_token = numbers.max(0), numbers.max(1)
        return ChannelSpread(
            what,
            int(by_channel.argmax()),
            ratio(float(by_channel.max()), float(np.median(by_channel))),
            ratio(float(by_token.max()), float(np.median(by_token))),
        )

    @property
    def moved(self) -> float:
        """Attention weight that goes to other keys than before: half the sum of differences, mean over the queries."""
        return float(np.abs(self.after - self.before).sum(1).mean() / 2)

    @property
    def sentence(self) -> str:
        return (
            f"Layer {self.layer}, head {self.head} of {self.model} with a cache in {self.scheme}: keys are off by "
            f"{percent(self.keys_error)}, values by {percent(self.values_error)} (RMS); {percent(self.moved)} of "
            f"the attention weight goes to other tokens, and the head's output is off by {percent(self.output_error)}."
        )


def read_vectors(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> TextVectors:
    """Queries, keys and values of a decoder in all layers, for the first tokens of a text."""
    return text_vectors(model, first_tokens(model, tokenizer, text, limit).ids, range(model.config.n_layers))


def cache_effect(read: TextVectors, name: str, layer: int, head: int, scheme: CacheScheme) -> CacheEffect:
    """One head computed from rounded keys and values; layers below it are not rounded.

    Args:
        name: of the model.
    """
    vectors = read.head(layer, head)
    keys = rounded_cache(vectors.k, scheme.bits, scheme.keys)
    values = rounded_cache(vectors.v, scheme.bits, scheme.values)
    before, output = vectors.naive(causal=True)
    after, rounded_output = HeadVectors(vectors.q, keys, values).naive(causal=True)
    return CacheEffect(
        name,
        layer,
        head,
        scheme,
        vectors.k.numpy(),
        vectors.v.numpy(),
        before.numpy(),
        after.numpy(),
        relative_error(vectors.k.numpy(), keys.numpy()),
        relative_error(vectors.v.numpy(), values.numpy()),
        relative_error(output.numpy(), rounded_output.numpy()),
    )


@dataclass(frozen=True, slots=True)
class CacheBytes(Finding):
    """The cache of a text in float16 and in integers.

    Args:
        tokens: of the text.
        plain, rounded: bytes.
        bits: of the integers.
    """

    model: str
    tokens: int
    bits: int
    plain: int
    rounded: int

    @property
    def sentence(self) -> str:
        return (
            f"{self.tokens:,} tokens of {self.model} take {both(self.plain)} in float16 and {both(self.rounded)} in "
            f"int{self.bits} with its scales and minimums: {self.plain / self.rounded:.1f} times less."
        )


def cache_bits_bytes(model: str, config: ModelConfig, tokens: int, bits: int) -> CacheBytes:
    """Bytes of both."""
    shape = cache_shape(config)
    return CacheBytes(model, tokens, bits, cache_bytes(shape, tokens), rounded_cache_bytes(shape, tokens, bits))
