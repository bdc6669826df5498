"""How long generation takes: with the cache, against `transformers`, and the cost of a token with and without it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks import results
from benchmarks.gpt2_shape import ours, peer, text
from benchmarks.timing import interleaved, milliseconds, ratio
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.kv_cache import KVCache
from tfcore.model import Transformer

NEW = 64
ROUNDS = {32: 7, 256: 5, 900: 5}  # tokens before -> rounds


@dataclass(frozen=True, slots=True)
class Generation:
    """One line of the table.

    Args:
        tokens: length of the text that is continued, greedily, by `new` tokens.
        new: how many.
        milliseconds: median times. ours, peer: of the whole generation, both with a cache. cached, uncached: of one
            token more after that many, the earlier ones in the cache or read again. reading: every weight, once.
        to_peer: the whole generation over the peer's, median of the ratios in the same round.
        to_uncached: one token with the cache over one without, likewise.
        to_reading: one token with the cache over reading every weight once, which memory bandwidth sets as the limit.
    """

    tokens: int
    new: int
    milliseconds: dict[str, float]
    to_peer: float
    to_uncached: float
    to_reading: float


@torch.no_grad()
def measure(rounds: dict[int, int] | None = None, new: int = NEW, device: str = "cpu") -> list[Generation]:
    """Time GPT-2's shape with the same random weights here and in `transformers`, each as it is by default."""
    model = ours()
    other = ready(peer(model)).to(device)
    model.to(device)
    rows = []
    for tokens, n in (rounds or ROUNDS).items():
        ids = text(model, tokens)
        calls: dict[str, Callable[[], object]] = {
            "ours": partial(generate, model, ids, Sampling(temperature=0), max_new_tokens=new),
            "peer": partial(other.generate, ids, attention_mask=torch.ones_like(ids), max_new_tokens=new),
            "cached": one_more(model, ids),
            "uncached": partial(model, ids),
            "reading": partial(read, model),
        }
        seconds = interleaved(calls, n)
        rows.append(
            Generation(
                tokens,
                new,
                {name: round(milliseconds(seconds, name), 1) for name in calls},
                round(ratio(seconds, "ours", "peer"), 3),
                round(ratio(seconds, "cached", "uncached"), 3),
                round(ratio(seconds, "cached", "reading"), 3),
            )
        )
    return rows


def read(model: Transformer) -> list[Tensor]:
    """Sum up each weight that a token needs: all but the places of other tokens. Adding costs less than reading."""
    return [weight.sum() for name, weight in model.named_parameters() if "pos_embed" not in name]


def ready(other: Any) -> Any:
    """The peer as it comes: fused attention, a cache; greedy, and no token that ends the text."""
    from transformers import GenerationConfig

    other.set_attn_implementation("sdpa")
    other.generation_config = GenerationConfig(use_cache=True, do_sample=False, pad_token_id=0)
    return other


def one_more(model: Transformer, ids: Tensor) -> Callable[[], Tensor]:
    """A call that reads one token after these, which are in the cache already, and takes it back."""
    cache = KVCache(model.config, capacity=ids.shape[1] + 1, device=ids.device)
    model(ids, cache=cache)

    def run() -> Tensor:
        logits = model(ids[:, -1:], cache=cache).logits
        cache.truncate(ids.shape[1])
        return logits

    return run


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    new = result["rows"][0]["new"]
    heads = [
        *("tokens before", f"{new} more tokens / transformers", "ms: ours, peer"),
        *("one more token, with the cache / without", "ms: with, without"),
        *("with the cache / reading all weights once", "tokens/s"),
    ]
    rows = []
    for row in result["rows"]:
        ms = row["milliseconds"]
        whole, one = (
            ", ".join(f"{ms[name]:.0f}" for name in pair) for pair in (("ours", "peer"), ("cached", "uncached"))
        )
        limit = [f"{row['to_reading']:.2f}", f"{1000 / ms['cached']:.0f}"]
        rows.append([str(row["tokens"]), f"{row['to_peer']:.2f}", whole, f"{row['to_uncached']:.2f}", one, *limit])
    return results.table(heads, rows, "GPT-2-small's shape, random weights, float32, greedy", result)
