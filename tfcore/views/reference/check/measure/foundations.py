"""Exercises on tokens, attention, positions and masks."""

import math
from random import Random

import torch

from tfcore.attention import attention_weights
from tfcore.measures.mask_patterns import MaskConfig
from tfcore.measures.token_counts import RATE, frame_count, patch_count, tokens_of_frames
from tfcore.positions import alibi_slopes, inverse_frequencies
from tfcore.views.inference.long_context.measure.patterns import pairs_kept
from tfcore.views.reference.check.measure.problem import Problem


def softmax_weight(rng: Random) -> Problem:
    """The weight on the first key: softmax(q k / sqrt(d_k)) of three dot products (arXiv:1706.03762, eq. 1)."""
    d_k = rng.choice((4, 16, 64))
    root = math.isqrt(d_k)
    dots = [root * step / 2 for step in rng.sample(range(-3, 6), 3)]
    raw = torch.tensor([dots], dtype=torch.float64)

    def weight(scores: torch.Tensor) -> float:
        return attention_weights(scores).flatten().tolist()[0]

    return Problem(
        given={"d_k": d_k, "a": dots[0], "b": dots[1], "c": dots[2]},
        answer=weight(raw / root),
        mistakes={"not scaled": weight(raw), "divided by d_k": weight(raw / d_k)},
        tolerance=0.02,
    )


def causal_pairs(rng: Random) -> Problem:
    """How many pairs a causal mask allows: n (n + 1) / 2."""
    n = rng.randint(8, 120)
    pairs = pairs_kept(MaskConfig(kind="causal"), [n]).item()
    return Problem(
        given={"n": n},
        answer=pairs,
        mistakes={"all": n * n, "not itself": n * (n - 1) / 2, "half": n * n / 2},
        tolerance=0,
    )


def window_pairs(rng: Random) -> Problem:
    """The pairs of a causal window: w for each query, fewer for the first ones."""
    window = rng.randint(3, 12)
    n = window * rng.randint(3, 8)
    pairs = pairs_kept(MaskConfig(kind="window", window=window), [n]).item()
    mistakes = {"full rows": n * window, "causal": n * (n + 1) / 2, "bidirectional": n * (2 * window - 1)}
    return Problem(given={"n": n, "window": window}, answer=pairs, mistakes=mistakes, tolerance=0)


def alibi_slope(rng: Random) -> Problem:
    """The slope of head h, counted from 1, of n heads: 2^(-8h/n) (arXiv:2108.12409, section 3)."""
    heads = rng.choice((4, 8, 16, 32))
    head = rng.randint(2, heads - 1)
    slopes = alibi_slopes(heads)
    return Problem(
        given={"heads": heads, "head": head},
        answer=float(slopes[head - 1]),
        mistakes={"from zero": float(slopes[head - 2]), "other end": float(slopes[heads - head]), "no 8": 2.0**-head},
    )


def wavelength(rng: Random) -> Problem:
    """Positions until a pair of sinusoids repeats: 2 pi 10000^(2i/d) (arXiv:1706.03762, section 3.5)."""
    d_model = rng.choice((16, 32, 64, 128, 512))
    pair = rng.randint(1, d_model // 4)
    frequency = float(inverse_frequencies(d_model)[pair])
    mistakes = {
        "no 2 pi": 1 / frequency,
        "frequency": frequency,
        "i for 2i": 2 * math.pi * frequency**-0.5,
        "twice": 2 * math.pi * frequency**-2,
    }
    return Problem(given={"d_model": d_model, "pair": pair}, answer=2 * math.pi / frequency, mistakes=mistakes)


def image_tokens(rng: Random) -> Problem:
    """Patches of a square image, as a vision Transformer cuts it (arXiv:2010.11929, section 3.1)."""
    patch = rng.choice((8, 14, 16, 32))
    side = patch * rng.randint(7, 24)
    mistakes = {"one side": side // patch, "pixels": side**2, "colours": 3 * patch_count(side, patch)}
    return Problem(
        given={"side": side, "patch": patch}, answer=patch_count(side, patch), mistakes=mistakes, tolerance=0
    )


def audio_places(rng: Random) -> Problem:
    """Places in the sequence for some seconds of sound: a frame every 10 ms, then a stride of 2 (arXiv:2212.04356)."""
    seconds = rng.choice((4, 6, 10, 12, 20, 24, 30))
    frames = frame_count(seconds * RATE, RATE // 100)
    return Problem(
        given={"seconds": seconds},
        answer=tokens_of_frames(frames),
        mistakes={"frames": frames, "samples": seconds * RATE},
        tolerance=0,
    )


def score_spread(rng: Random) -> Problem:
    """Standard deviation of a dot product of two random vectors of width d_k: sqrt(d_k) (arXiv:1706.03762, note 4)."""
    root = rng.choice((4, 6, 8, 10, 12, 16))
    width = root**2
    return Problem(
        given={"width": width},
        answer=math.sqrt(width),
        mistakes={"variance": width, "inverse": 1 / root, "after scaling": 1},
    )


def vanished_gradient(rng: Random) -> Problem:
    """The rest of a gradient after a factor at each step back (arXiv:1211.5063, equation 7)."""
    factor, steps = rng.choice((0.7, 0.8, 0.9)), rng.choice((10, 15, 20))
    return Problem(
        given={"factor": factor, "steps": steps},
        answer=factor**steps,
        mistakes={"a sum": max(0.0, 1 - steps * (1 - factor)), "one step": factor, "one less": factor ** (steps - 1)},
        tolerance=0.02,
    )
