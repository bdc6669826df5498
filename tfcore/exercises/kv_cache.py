"""Attention with a cache of keys and values."""

import math
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from tfcore import masks
from tfcore.attention import attention_scores, attention_weights, weighted_values
from tfcore.charts.depth_curves import Line, depth_figure
from tfcore.config import ModelConfig
from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.kv_cache import KVCache
from tfcore.part_configs import AttentionConfig
from tfcore.views.finding import state

Held: TypeAlias = tuple[Tensor, Tensor]
TOKENS, HEADS, WIDTH = 64, 4, 32  # of the picture


def cached_attention(
    q: Float[Tensor, "head new d_head"],
    k: Float[Tensor, "head new d_head"],
    v: Float[Tensor, "head new d_head"],
    held_k: Float[Tensor, "head held d_head"],
    held_v: Float[Tensor, "head held d_head"],
) -> tuple[Float[Tensor, "head new d_head"], Float[Tensor, "head all d_head"], Float[Tensor, "head all d_head"]]:
    """Causal attention of new tokens, with the keys and values of all earlier ones in a cache.

    A new token sees the held ones, the new ones before it, and itself. There may be one new token, as in generation,
    or many, as when a prompt is read; and none may be held yet. torch.softmax is allowed.

    Args:
        q, k, v: of the new tokens alone.
        held_k, held_v: the cache.

    Returns:
        output: of the new tokens; and keys, values: the cache for the next call.
    """
    keys, values = torch.cat((held_k, k), dim=1), torch.cat((held_v, v), dim=1)
    new, every = q.shape[1], keys.shape[1]
    seen = torch.ones(new, every, dtype=torch.bool).tril(every - new)
    scores = q @ keys.mT / math.sqrt(q.shape[-1])  # (head, new, all)
    return scores.masked_fill(~seen, -math.inf).softmax(-1) @ values, keys, values


def by_tfcore(q: Tensor, k: Tensor, v: Tensor, held_k: Tensor, held_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    n_heads, new, d_head = q.shape
    heads = AttentionConfig(n_heads=n_heads)
    config = ModelConfig(vocab_size=2, d_model=n_heads * d_head, n_layers=1, attention=heads, max_seq_len=256)
    cache = KVCache(config, device=q.device)
    if held := held_k.shape[1]:
        cache.extend(0, held_k[None], held_v[None])
        cache.advance(held)
    keys, values = (part[0] for part in cache.extend(0, k[None], v[None]))
    weights = attention_weights(attention_scores(q, keys), masks.causal(new, held + new))
    return weighted_values(weights, values), keys, values


def _attended(q: Tensor, keys: Tensor, values: Tensor, seen: Tensor) -> Tensor:
    scores = (q @ keys.mT / math.sqrt(q.shape[-1])).masked_fill(~seen, -math.inf)
    return scores.softmax(-1) @ values


def new_alone(q: Tensor, k: Tensor, v: Tensor, held_k: Tensor, held_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    output, _, _ = by_tfcore(q, k, v, held_k[:, :0], held_v[:, :0])
    return output, torch.cat((held_k, k), 1), torch.cat((held_v, v), 1)


def not_kept(q: Tensor, k: Tensor, v: Tensor, held_k: Tensor, held_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return by_tfcore(q, k, v, held_k, held_v)[0], held_k, held_v


def not_masked(q: Tensor, k: Tensor, v: Tensor, held_k: Tensor, held_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    keys, values = torch.cat((held_k, k), 1), torch.cat((held_v, v), 1)
    return _attended(q, keys, values, torch.ones(q.shape[1], keys.shape[1], dtype=torch.bool)), keys, values


def mask_from_zero(q: Tensor, k: Tensor, v: Tensor, held_k: Tensor, held_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    keys, values = torch.cat((held_k, k), 1), torch.cat((held_v, v), 1)
    return _attended(q, keys, values, torch.ones(q.shape[1], keys.shape[1], dtype=torch.bool).tril()), keys, values


def new_first(q: Tensor, k: Tensor, v: Tensor, held_k: Tensor, held_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    keys, values = torch.cat((k, held_k), 1), torch.cat((v, held_v), 1)
    seen = torch.ones(q.shape[1], keys.shape[1], dtype=torch.bool).tril(held_k.shape[1])
    return _attended(q, keys, values, seen), keys, values


def held_alone(q: Tensor, k: Tensor, v: Tensor, held_k: Tensor, held_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    keys, values = torch.cat((held_k, k), 1), torch.cat((held_v, v), 1)
    seen = torch.ones(q.shape[1], keys.shape[1], dtype=torch.bool).tril(held_k.shape[1] - 1)
    return _attended(q, keys, values, seen), keys, values


def keys_alone(q: Tensor, k: Tensor, v: Tensor, held_k: Tensor, held_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    output, keys, _ = by_tfcore(q, k, v, held_k, held_v)
    return output, keys, torch.cat((held_v, k), 1)


def cases(generator: torch.Generator) -> list[Inputs]:
    sizes = ((2, 4, 0, 8), (2, 1, 5, 8), (3, 3, 4, 4), (1, 1, 0, 4))
    return [
        (*(normal(generator, heads, new, d) for _ in range(3)), *(normal(generator, heads, held, d) for _ in range(2)))
        for heads, new, held, d in sizes
    ]


def held_come_first(call: Function, q: Tensor, k: Tensor, v: Tensor, held_k: Tensor, held_v: Tensor) -> bool:
    _, keys, values = call(q, k, v, held_k, held_v)
    return torch.equal(keys, torch.cat((held_k, k), 1)) and torch.equal(values, torch.cat((held_v, v), 1))


def no_look_ahead(call: Function, q: Tensor, k: Tensor, v: Tensor, *held: Tensor) -> bool:
    other_k, other_v = k.clone(), v.clone()
    other_k[:, -1] += 1
    other_v[:, -1] += 1
    changed, before = call(q, other_k, other_v, *held)[0], call(q, k, v, *held)[0]
    return torch.allclose(changed[:, :-1], before[:, :-1], atol=1e-5)


def one_by_one_is_all_at_once(call: Function, q: Tensor, k: Tensor, v: Tensor, *held: Tensor) -> bool:
    at_once, rows = call(q, k, v, *held)[0], []
    for i in range(q.shape[1]):
        row, *held = call(q[:, i : i + 1], k[:, i : i + 1], v[:, i : i + 1], *held)
        rows.append(row)
    return torch.allclose(torch.cat(rows, 1), at_once, atol=1e-4)


def draw(call: Function) -> Picture:
    generator = torch.Generator().manual_seed(0)
    q, k, v = (normal(generator, HEADS, TOKENS, WIDTH) for _ in range(3))
    held, ways = (k[:, :0], v[:, :0]), list[list[int]]([[], []])
    for i in range(TOKENS):
        now, text = slice(i, i + 1), slice(0, i + 1)
        with FlopCounterMode(display=False) as cached:
            _, *more = call(q[:, now], k[:, now], v[:, now], *held)
        held = more[0], more[1]
        with FlopCounterMode(display=False) as anew:
            call(q[:, text], k[:, text], v[:, text], k[:, :0], v[:, :0])
        ways[0].append(cached.get_total_flops())
        ways[1].append(anew.get_total_flops())
    x = np.arange(1, TOKENS + 1)
    names = (("with the cache", "@cat1"), ("all tokens again", "@cat0"))
    lines = [Line(name, colour, x, np.array(flops, float)) for (name, colour), flops in zip(names, ways, strict=True)]
    chart = depth_figure(lines, x_title="tokens so far", y_title="FLOPs of this step", height=380)
    words = "FLOPs that the function takes for token number {n}: {cached:whole} with the cache, {anew:whole} without."
    return Picture(chart, state("steps", words, n=TOKENS, cached=ways[0][-1], anew=ways[1][-1]))


KV_CACHE = Exercise(
    solution=cached_attention,
    title="KV cache",
    asks="Attention of new tokens, whose cost is one row each and not the whole text.",
    papers="Fast Transformer Decoding, section 2.4, arXiv:1911.02150",
    formula=r"K_{\le t} = [K_{<t};\, k_t], \quad V_{\le t} = [V_{<t};\, v_t], \qquad "
    r"o_t = \mathrm{softmax}\!\left(\tfrac{q_t K_{\le t}^\top}{\sqrt{d_{head}}}\right) V_{\le t}",
    returns=("output", "keys", "values"),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty(
            "The cache is the held keys and values, and then the new ones.",
            "the cache is not the held keys and values followed by the new ones",
            held_come_first,
        ),
        ExerciseProperty(
            "Position t does not change when token t + 1 does.",
            "position t changes when token t + 1 does",
            no_look_ahead,
        ),
        ExerciseProperty(
            "Tokens one by one give what all at once give.",
            "tokens one by one give other outputs than all at once",
            one_by_one_is_all_at_once,
        ),
    ),
    mistakes=(
        UsualMistake(new_alone, "do new tokens see the new ones alone, and not the cache?"),
        UsualMistake(not_kept, "is the cache returned without the new keys and values?"),
        UsualMistake(not_masked, "is the mask missing? Several new tokens must not see each other's future"),
        UsualMistake(mask_from_zero, "does the mask begin at key 0? The first new token is behind the held ones"),
        UsualMistake(new_first, "are the new keys put before the held ones?"),
        UsualMistake(held_alone, "does a new token not see itself?"),
        UsualMistake(keys_alone, "are the new keys stored among the values?"),
    ),
    hints=(
        "First the cache: held and new keys side by side along the axis of tokens, and the values likewise.",
        "The scores are (head, new, all): fewer rows than columns. In which column is the first new token itself?",
        "It is the causal mask of an earlier exercise, with its diagonal further right by the number of held tokens.",
    ),
    page="kv-cache",
    draw=draw,
)
