"""The KV cache: how large it is for every way of sharing keys and values, and one text written with it and without."""

import copy
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.model.flop_count import flops
from tfcore.analysis.one_text import one_text
from tfcore.analysis.precision import Precision, stored_bytes
from tfcore.config import ModelConfig
from tfcore.generation.kv_cache import KVCache
from tfcore.generation.sampling import Sampling
from tfcore.model import Transformer

Sharing = Literal["built", "mha", "gqa", "mqa", "mla"]
Exactness = Literal["float32", "float64"]

GROUPED = 8  # KV heads that most grouped models have, from Llama 2 70B on
SAMPLING = Sampling(temperature=0.8, top_k=50)  # how the next token is drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheShape:
    """What of a model decides how large its cache is.

    Args:
        layers: that attend to the tokens before.
        heads: query heads.
        kv_heads: KV heads.
        d_head: width of one.
        latent: of multi-head latent attention: numbers a token leaves in each layer in place of keys and values.
        window: tokens that a layer with a sliding window sees, itself included.
        windowed: how many layers have it.
    """

    layers: int
    heads: int
    kv_heads: int
    d_head: int
    latent: int = 0
    window: int | None = None
    windowed: int = 0

    @property
    def numbers(self) -> int:
        """What one token leaves in one layer: a key and a value for each of their heads, or the latent vector."""
        return self.latent or 2 * self.kv_heads * self.d_head

    def kept(self, tokens: int) -> int:
        """Tokens kept, summed over the layers; where there is a window, those the next token can still see."""
        near = tokens if self.window is None else min(tokens, self.window - 1)
        return (self.layers - self.windowed) * tokens + self.windowed * near


# Multi-head latent attention: 512 compressed numbers and a rotated key of 64 for all heads together, 60 layers
# (arXiv:2405.04434, section 3.1.2).
DEEPSEEK_V2 = CacheShape(layers=60, heads=128, kv_heads=128, d_head=128, latent=512 + 64)
DEEPSEEK_V2_PARAMETERS = 236_000_000_000  # as published, its abstract


def cache_shape(config: ModelConfig) -> CacheShape:
    """The shape of a config's cache: that of its decoder's attention to itself.

    Raises:
        ValueError: an encoder has no cache.
    """
    if config.architecture == "encoder":
        raise ValueError("architecture='encoder' reads all tokens at once and keeps no cache; take a decoder")
    windowed = max(0, config.decoder_layers - config.window_from) if config.window is not None else 0
    return CacheShape(
        layers=config.decoder_layers,
        heads=config.n_heads,
        kv_heads=config.kv_heads,
        d_head=config.head_size,
        window=config.window,
        windowed=windowed,
    )


def cache_bytes(shape: CacheShape, tokens: int, batch: int = 1, precision: Precision = "float16") -> int:
    """2 * layers * kv_heads * d_head * tokens * bytes per number, for each text of a batch.

    The 2 is for a key and a value. Latent attention keeps its own count of numbers instead of 2 * kv_heads * d_head.
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
    return stored_bytes(batch * shape.numbers * shape.kept(tokens), precision)


def shared(shape: CacheShape, sharing: Sharing) -> CacheShape:
    """The same model, had it been built to share its keys and values in another way.

    "mha": every head its own. "gqa": 8, or the next lower number that divides the heads (arXiv:2305.13245). "mqa": one
    for all (arXiv:1911.02150). "mla": a compressed vector of 4 d_head and a rotated key of d_head / 2, as in
    DeepSeek-V2 (arXiv:2405.04434, section 2.1.4, table 1); a model that is latent stays as it is.
    """
    if sharing == "built" or (sharing == "mla" and shape.latent):
        return shape
    if sharing == "mla":
        return replace(shape, latent=4 * shape.d_head + shape.d_head // 2)
    counts = {"mha": shape.heads, "gqa": grouped_heads(shape.heads), "mqa": 1}
    return replace(shape, kv_heads=counts[sharing], latent=0)


def grouped_heads(heads: int) -> int:
    """8, or the largest number below it that divides the heads."""
    return max(count for count in even_parts(heads) if count <= GROUPED)


def even_parts(n: int) -> list[int]:
    """The numbers of groups that n heads, or n GPUs, fall into without a rest."""
    return [count for count in range(1, n + 1) if n % count == 0]


@dataclass(frozen=True, slots=True)
class BothWays:
    """One step: the scores of the next token, computed both ways.

    Args:
        token: the id drawn from the scores with the cache; both ways go on with it.
        with_cache, without: seconds.
        difference: largest absolute difference of a score.
        same: the most likely token is the same.
    """

    token: int
    with_cache: float
    without: float
    difference: float
    same: bool


@dataclass(frozen=True, slots=True)
class CacheWork:
    """What each step costs, by arithmetic.

    Args:
        length: tokens that the step can see, the new ones included.
        with_cache, without: floating-point operations.
        keys, values: bytes held once it is over.
    """

    length: Int[ndarray, " step"]
    with_cache: Int[ndarray, " step"]
    without: Int[ndarray, " step"]
    keys: Int[ndarray, " step"]
    values: Int[ndarray, " step"]


def both_ways(
    model: Transformer, ids: Sequence[int], steps: int, seed: int = 0, exactness: Exactness = "float32"
) -> Iterator[BothWays]:
    """Write a text token by token, each time with the cache and without, timed one after the other.

    With the cache, the first step reads the prompt and every later one the last token alone. Without, every step
    reads the whole text. Both give the same scores up to rounding: sums of the same numbers in another order.

    Args:
        model: a decoder; it is left as it is.
        ids: the prompt.
        steps: tokens to write; fewer where the context is full.
        seed: of the draws.
        exactness: "float64" computes with 53 bits instead of 24, on a copy.
    """
    dtype = getattr(torch, exactness)
    model = model if model.embed.weight.dtype == dtype else copy.deepcopy(model).to(dtype)
    steps = min(steps, model.config.max_seq_len - len(ids))
    cache = KVCache(model.config, capacity=len(ids) + steps, device=model.embed.weight.device, dtype=dtype)
    generator = torch.Generator().manual_seed(seed)
    next_scores(model, ids)  # once before the clock runs: the first pass ever takes longer
    text, new = list(ids), list(ids)
    for _ in range(steps):
        started = time.perf_counter()
        cached = next_scores(model, new, cache)
        between = time.perf_counter()
        whole = next_scores(model, text)
        ended = time.perf_counter()
        token = SAMPLING.draw(cached, None, generator)
        off = float((cached - whole).abs().max())
        yield BothWays(token, between - started, ended - between, off, bool(cached.argmax() == whole.argmax()))
        text.append(token)
        new = [token]


@torch.inference_mode()
def next_scores(model: Transformer, new: Sequence[int], cache: KVCache | None = None) -> Float[Tensor, " vocab"]:
    """The scores of the token after `new`, which follow what the cache holds; the cache then holds them too."""
    return model(one_text(model, new), cache=cache).logits[0, -1].cpu()


def cache_work(config: ModelConfig, prompt: int, steps: int, exactness: Exactness = "float32") -> CacheWork:
    """Count operations and bytes of every step; the first reads the prompt.

    Without a cache, a step that sees n tokens costs F(n), a pass over all of them. With it, F(n) - F(n - 1): what the
    last token adds, since the others' keys and values are there. So all steps with the cache together cost one pass.
    Counted are the (query, key) pairs that the causal mask lets through.
    """
    length = np.arange(prompt, prompt + steps)
    whole = np.array([flops(config, int(n), pairs="visible").sequence for n in length], dtype=np.int64)
    shape = cache_shape(config)
    half = np.array([cache_bytes(shape, int(n), 1, exactness) // 2 for n in length], dtype=np.int64)
    return CacheWork(length, np.diff(whole, prepend=0), whole, half, half)
