"""Exercises on generation, the KV cache and long context."""

from dataclasses import replace
from random import Random

import torch

from tfcore import presets
from tfcore.generation.sampling import temperature, top_p
from tfcore.measures.flop_count import length_cost
from tfcore.measures.kv_bytes import CacheShape, cache_bytes
from tfcore.measures.precision import BITS, Precision
from tfcore.views.inference.generation.measure.speculation import expected_tokens
from tfcore.views.reference.check.measure.problem import Problem

GIB = 2**30
SHAPES = ((24, 16, 64), (32, 32, 128), (40, 40, 128), (80, 64, 128), (96, 96, 128))  # layers, heads, d_head


def cache_of_a_text(rng: Random) -> Problem:
    """2 * layers * heads * d_head * tokens * bytes."""
    layers, heads, d_head = rng.choice(SHAPES)
    shape = CacheShape(layers=layers, heads=heads, kv_heads=heads, d_head=d_head)
    tokens = 1024 * rng.choice((2, 4, 8, 32))
    size = cache_bytes(shape, tokens)
    mistakes = {
        "keys or values": size / 2,
        "one layer": size / layers,
        "one head": size / heads,
        "four bytes": cache_bytes(shape, tokens, precision="float32"),
        "bits": 8 * size,
    }
    given = {"layers": layers, "heads": heads, "d_head": d_head, "tokens": tokens}
    return Problem(given=given, answer=size, mistakes=mistakes)


def cache_grouped(rng: Random) -> Problem:
    """The bytes of a text's cache with fewer KV heads than query heads (arXiv:2305.13245)."""
    layers, heads, d_head = rng.choice(SHAPES)
    groups = rng.choice([g for g in (4, 8, 16) if heads % g == 0 and g < heads])
    shape = CacheShape(layers=layers, heads=heads, kv_heads=groups, d_head=d_head)
    tokens, users = 1024 * rng.choice((4, 8, 32)), rng.choice((1, 4, 16))
    size = cache_bytes(shape, tokens, users)
    mistakes = {
        "query heads": cache_bytes(replace(shape, kv_heads=heads), tokens, users),
        "keys or values": size / 2,
        "one group": size / groups,
        "one user": size / users,
    }
    given = {"layers": layers, "heads": heads, "groups": groups, "d_head": d_head, "tokens": tokens, "users": users}
    return Problem(given=given, answer=size, mistakes=mistakes)


def users_that_fit(rng: Random) -> Problem:
    """How many sequences fit beside the weights, all in GiB: what is sold as 80 GB has nearly 80 GiB."""
    config = presets.llama3_8b() if rng.random() < 0.5 else presets.llama2_7b()
    shape = CacheShape(
        layers=config.n_layers,
        heads=config.attention.n_heads,
        kv_heads=config.attention.kv_heads,
        d_head=config.head_size,
    )
    weights, tokens = rng.choice((14, 16)) * GIB, rng.choice((4096, 8192))
    room = rng.choice((24, 40, 48, 80)) * GIB
    each = cache_bytes(shape, tokens)  # half a GiB, or one, two or four
    given = {"room": room // GIB, "weights": weights // GIB, "each": f"{each / GIB:g}"}
    mistakes = {"no weights": room // each, "one more": (room - weights) // each + 1}
    return Problem(given=given, answer=(room - weights) // each, mistakes=mistakes, tolerance=0)


def score_bytes(rng: Random) -> Problem:
    """The score matrices of one layer, kept whole in 16 bits: 2 heads n^2."""
    config, n = presets.gpt3_175b(), 1024 * rng.choice((2, 4, 8, 16, 32))
    heads = rng.choice((12, 16, 32, 64))
    cost = length_cost(config.changed(n_heads=heads, d_head=64), [n])
    size, cells = cost.matrices.item(), cost.cells.item()
    mistakes = {"one head": size / heads, "four bytes": 2 * size, "numbers": size / 2, "bits": 8 * size}
    return Problem(given={"n": n, "heads": heads, "cells": cells}, answer=size, mistakes=mistakes)


def longer_text(rng: Random) -> Problem:
    """How many times as many pairs a longer text has: the square of how much longer it is."""
    times = rng.choice((3, 4, 5, 8, 10, 25))
    n = rng.choice((512, 1000, 2048, 4000))
    cells = length_cost(presets.gpt2_small(), [n, times * n]).cells
    return Problem(
        given={"n": n, "longer": times * n},
        answer=float(cells[1] / cells[0]),
        mistakes={"linear": times, "doubled": 2 * times, "cubed": times**3},
    )


def warmed(rng: Random) -> Problem:
    """The probability of the first of two tokens at a temperature: softmax(x / T) (arXiv:1503.02531, eq. 1)."""
    gap, t = rng.choice((1.0, 1.5, 2.0, 3.0)), rng.choice((0.5, 0.7, 1.5, 2.0))
    scores = torch.tensor([gap, 0.0], dtype=torch.float64)

    def first(x: torch.Tensor) -> float:
        return float(x.softmax(-1)[0])

    answer = first(temperature(scores, t))
    return Problem(
        given={"gap": gap, "t": t},
        answer=answer,
        tolerance=0.02,
        mistakes={"not at all": first(scores), "times": first(scores * t), "other": 1 - answer},
    )


def nucleus(rng: Random) -> Problem:
    """How many tokens top-p keeps: the fewest whose probabilities sum to at least p (arXiv:1904.09751, section 3.1)."""
    chances = rng.choice(
        (
            (0.42, 0.23, 0.14, 0.13, 0.05, 0.03),
            (0.31, 0.27, 0.19, 0.12, 0.08, 0.03),
            (0.58, 0.17, 0.09, 0.07, 0.05, 0.04),
        )
    )
    p = rng.choice((0.5, 0.7, 0.8, 0.9, 0.95))
    kept = int(top_p(torch.tensor(chances, dtype=torch.float64).log(), p).isfinite().sum())
    mistakes = {"one fewer": kept - 1, "all": len(chances)}
    given = {"chances": ", ".join(f"{chance:.2f}" for chance in chances), "p": p}
    return Problem(given=given, answer=kept, mistakes=mistakes, tolerance=0)


def guessed_ahead(rng: Random) -> Problem:
    """Tokens a pass of speculative decoding brings (arXiv:2211.17192, eq. 1)."""
    alpha, guess = rng.choice((0.5, 0.6, 0.7, 0.8, 0.9)), rng.randint(2, 7)
    mistakes = {"no breaks": alpha * guess + 1, "only guesses": expected_tokens(alpha, guess) - 1, "all": guess + 1}
    return Problem(
        given={"alpha": alpha, "guess": guess}, answer=expected_tokens(alpha, guess), mistakes=mistakes, tolerance=0.02
    )


def quantised(rng: Random) -> Problem:
    """A cache in fewer bits."""
    size = rng.choice((10.7, 21.5, 42.9, 85.9))
    precision: Precision = rng.choice(("int8", "int4"))
    shrunk = size * 1e9 * BITS[precision] / BITS["float16"]
    return Problem(
        given={"size": size, "precision": precision},
        answer=shrunk,
        mistakes={
            "from 32 bits": shrunk / 2,
            "the other": shrunk * (2 if precision == "int4" else 0.5),
            "unchanged": size * 1e9,
        },
    )
