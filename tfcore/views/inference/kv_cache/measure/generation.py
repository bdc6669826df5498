"""One text written twice at once: with a KV cache, and reading everything again for every token."""

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

from tfcore.config import ModelConfig
from tfcore.generation.sampling import Sampling
from tfcore.kv_cache import KVCache
from tfcore.measures.flop_count import flops
from tfcore.measures.kv_bytes import cache_bytes, cache_shape
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

Exactness = Literal["float32", "float64"]
SAMPLING = Sampling(temperature=0.8, top_k=50)  # how the next token is drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class BothWaysConfig:
    """A text that is written both ways: by which model, after which text, and how; see both_ways."""

    model: str
    text: str
    steps: int
    exactness: Exactness = "float32"
    seed: int = 0


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


LATENTS, ROTATED = "latents", "rotated keys"  # what latent attention keeps
STATES = "states"  # what layers without keys and values keep


@dataclass(frozen=True, slots=True)
class CacheWork:
    """The cost of each step, by arithmetic.

    Args:
        length: tokens that the step can see, the new ones included.
        with_cache, without: floating-point operations.
        parts: bytes held once it is over, of keys and of values, or of what latent attention keeps in their place; and
            of the states of other layers.
    """

    length: Int[ndarray, " step"]
    with_cache: Int[ndarray, " step"]
    without: Int[ndarray, " step"]
    parts: dict[str, Int[ndarray, " step"]]

    @property
    def held(self) -> Int[ndarray, " step"]:
        """Bytes held once a step is over."""
        return np.sum(list(self.parts.values()), axis=0)


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
    model = model if model.dtype == dtype else copy.deepcopy(model).to(dtype)
    steps = min(steps, model.config.max_seq_len - len(ids))
    cache = KVCache(model.config, capacity=len(ids) + steps, device=model.device, dtype=dtype)
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
    (logits,) = model(one_text(model, new), cache=cache).logits
    return logits[-1].cpu()


def cache_work(config: ModelConfig, prompt: int, steps: int, exactness: Exactness = "float32") -> CacheWork:
    """Count operations and bytes of every step; the first reads the prompt.

    Without a cache, a step that sees n tokens costs F(n), a pass over all of them. With it, F(n) - F(n - 1): what the
    last token adds, since the others' keys and values are there. So all steps with the cache together cost one pass.
    Counted are the (query, key) pairs that the causal mask lets through.
    """
    length = np.arange(prompt, prompt + steps)
    whole = np.array([flops(config, int(n), pairs="visible").sequence for n in length], dtype=np.int64)
    shape = cache_shape(config)
    growing = replace(shape, state=0)
    held = np.array([cache_bytes(growing, int(n), 1, exactness) for n in length], dtype=np.int64)
    rotated = held * shape.rotated // max(1, shape.latent)
    parts = {LATENTS: held - rotated, ROTATED: rotated} if shape.latent else {"keys": held // 2, "values": held // 2}
    if shape.state:
        parts[STATES] = np.full_like(held, cache_bytes(shape, 0, 1, exactness))
    return CacheWork(length, np.diff(whole, prepend=0), whole, parts)


def generated(
    model: Transformer, tokenizer: Tokenizer, text: str, room: int, steps: int, seed: int, exactness: Exactness
) -> list[BothWays]:
    """A text written both ways to its end; `room` tokens of the context are left for it at least."""
    ids = tokenizer.encode(text)[: model.config.max_seq_len - room]
    return list(both_ways(model, ids, steps, seed, exactness))
