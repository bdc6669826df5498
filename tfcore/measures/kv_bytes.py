"""The bytes of the KV cache, for every way of sharing keys and values."""

from dataclasses import dataclass, replace
from typing import Literal

from tfcore.config import ModelConfig
from tfcore.measures.precision import Precision, stored_bytes
from tfcore.measures.quantities import counted

Sharing = Literal["built", "mha", "gqa", "mqa", "mla"]
GROUPED = 8  # KV heads that most grouped models have, from Llama 2 70B on


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheShape:
    """The settings of a model that decide how large its cache is.

    Args:
        layers: that attend to the tokens before.
        heads: query heads.
        kv_heads: KV heads.
        d_head: width of one; of latent attention that of its values.
        latent: of multi-head latent attention: numbers a token leaves in each layer in place of keys and values.
        rotated: of these, the rotated key that all heads share.
        d_key: width of the keys that heads make of a latent; 0 where they are as wide as values.
        window: tokens that a layer with a sliding window sees, itself included.
        windowed: how many layers have it.
        state: numbers that other layers carry of a text, however long it is.
    """

    layers: int
    heads: int
    kv_heads: int
    d_head: int
    latent: int = 0
    rotated: int = 0
    d_key: int = 0
    window: int | None = None
    windowed: int = 0
    state: int = 0

    @property
    def numbers(self) -> int:
        """Numbers of one token in one layer: a key and a value for each of their heads, or the latent vector."""
        return self.latent or 2 * self.kv_heads * self.d_head

    @property
    def of_all_heads(self) -> tuple[int, int]:
        """Numbers of the keys, and of the values, of one token in one layer that heads attend with: of latent attention
        those that they make of what is kept."""
        return self.kv_heads * (self.d_key or self.d_head), self.kv_heads * self.d_head

    @property
    def kind(self) -> str:
        """The name of the way keys and values are shared: MHA, GQA, MQA or MLA."""
        if self.latent:
            return "MLA"
        if self.kv_heads == self.heads:
            return "MHA"
        return "MQA" if self.kv_heads == 1 else "GQA"

    def __str__(self) -> str:
        """GQA: 8 KV heads."""
        if self.latent:
            return f"MLA: {self.latent:,} values"
        return f"{self.kind}: {counted(self.kv_heads, 'KV head')}"

    def kept(self, tokens: int) -> int:
        """Tokens kept, summed over the layers; where there is a window, those the next token can still see."""
        near = tokens if self.window is None else min(tokens, self.window - 1)
        return (self.layers - self.windowed) * tokens + self.windowed * near


# Multi-head latent attention: 512 compressed numbers and a rotated key of 64 for all heads together, 60 layers
# (arXiv:2405.04434, section 3.1.2).
DEEPSEEK_V2 = CacheShape(layers=60, heads=128, kv_heads=128, d_head=128, latent=512 + 64, rotated=64, d_key=192)
DEEPSEEK_V2_PARAMETERS = 236_000_000_000  # as published, its abstract


def cache_shape(config: ModelConfig) -> CacheShape:
    """The shape of a config's cache: that of its decoder's attention to itself, and of the states of other layers.

    Raises:
        ValueError: an encoder has no cache.
    """
    if config.architecture == "encoder":
        raise ValueError("architecture='encoder' reads all tokens at once and keeps no cache; take a decoder")
    return CacheShape(
        layers=config.decoder_layers - (config.n_layers - len(config.attention_layers)),
        heads=config.attention.n_heads,
        kv_heads=config.attention.kv_heads,
        d_head=config.head_size if (latent := config.attention.kv_latent) is None else config.value_size,
        latent=0 if latent is None else latent + (config.positions.rotated or 0),
        rotated=0 if latent is None else config.positions.rotated or 0,
        d_key=0 if latent is None else config.head_size,
        window=config.window,
        windowed=sum(layer.window is not None for layer in config.layers),
        state=sum(state_numbers(config, layer) for layer in range(config.n_layers)),
    )


def state_numbers(config: ModelConfig, layer: int) -> int:
    """Numbers that a layer carries from token to token besides keys and values: a state of d_key x d_value for each
    head, with a column more where it is divided by the sum of its weights, and the last tokens of a short
    convolution."""
    kind, own = config.mixer_of(layer).removeprefix("attention+"), config.mixer
    if own is None or kind in ("attention", "none"):
        return 0
    if kind == "conv":
        return (own.width - 1) * config.d_model
    d_key, d_value = config.mixer_sizes
    normalised = kind == "linear" and own.decay is None
    convolved = (own.width - 1) * (2 * own.key_heads * d_key + own.n_heads * d_value)
    return convolved + own.n_heads * d_key * (d_value + normalised)


def cache_bytes(shape: CacheShape, tokens: int, batch: int = 1, precision: Precision = "float16") -> int:
    """2 * layers * kv_heads * d_head * tokens * bytes per number, for each text of a batch.

    The 2 is for a key and a value. Latent attention keeps its own count of numbers instead of 2 * kv_heads * d_head.
    States of other layers are added, as precise as these.
    Quantised caches also keep a scale for every few numbers, some per cent more; it is left out here.

    Args:
        tokens: of each text.
        batch: texts at once.
        precision: of the numbers kept; it need not be that of the weights.

    Returns:
        Bytes: 80 layers, 64 heads of 128, 32,768 tokens in float16 are 85,899,345,920, which is 80 * 2^30.
    """
    if tokens < 0 or batch < 0:
        raise ValueError(f"tokens={tokens} and batch={batch} must be 0 or more")
    return stored_bytes(batch * (shape.numbers * shape.kept(tokens) + shape.state), precision)


def token_bytes(shape: CacheShape, precision: Precision = "float16") -> int:
    """Bytes that one more token takes, where no window is full."""
    return cache_bytes(replace(shape, state=0), 1, 1, precision)


def shared(shape: CacheShape, sharing: Sharing) -> CacheShape:
    """The shape of the same model, had it been built to share its keys and values in another way.

    "mha": every head its own. "gqa": 8, or the next lower number that divides the heads (arXiv:2305.13245). "mqa": one
    for all (arXiv:1911.02150). "mla": a compressed vector of 4 d_head and a rotated key of d_head / 2, as in
    DeepSeek-V2 (arXiv:2405.04434, section 2.1.4, table 1); a model that is latent stays as it is.
    """
    if sharing == "built" or (sharing == "mla" and shape.latent):
        return shape
    if sharing == "mla":
        rotated = shape.d_head // 2
        return replace(shape, latent=4 * shape.d_head + rotated, rotated=rotated, d_key=shape.d_head + rotated)
    counts = {"mha": shape.heads, "gqa": grouped_heads(shape.heads), "mqa": 1}
    return replace(shape, kv_heads=counts[sharing], latent=0, rotated=0, d_key=0)


def grouped_heads(heads: int) -> int:
    """8, or the largest number below it that divides the heads."""
    return max(count for count in even_parts(heads) if count <= GROUPED)


def even_parts(n: int) -> list[int]:
    """The numbers of groups that n heads, or n GPUs, fall into without a rest."""
    return [count for count in range(1, n + 1) if n % count == 0]


def ways(shape: CacheShape) -> list[CacheShape]:
    """The shape as it is and shared in every other way, the largest cache first."""
    shapes = [shared(shape, way) for way in ("mha", "gqa", "mqa", "mla")]
    return sorted({*shapes, shape}, key=lambda one: -one.numbers)
