"""Exercises on normalisation, residual connections, feed-forward layers and initial weights."""

import math
from dataclasses import replace
from random import Random

import torch

from tfcore.config import ModelConfig
from tfcore.measures.block_parameters import layer_cost
from tfcore.measures.parameter_count import parameters
from tfcore.norms import layer_norm, norm_scale, rms_norm
from tfcore.part_configs import AttentionConfig, FeedForwardConfig
from tfcore.views.reference.check.measure.problem import Problem


def _vector(rng: Random) -> torch.Tensor:
    """Four whole numbers that are not all alike, and whose mean is not 0."""
    while True:
        values = [rng.randint(-4, 8) for _ in range(4)]
        if len(set(values)) > 2 and values[0] and abs(sum(values)) > 3 and 4 * values[0] != sum(values):
            return torch.tensor(values, dtype=torch.float64)


def _norms(x: torch.Tensor) -> dict[str, float]:
    """The first number after LayerNorm and RMSNorm (eps 0), and after what they are mistaken for."""
    one = torch.ones_like(x)
    centred = x - x.mean()
    return {
        "layer": float(layer_norm(x, one, None, 0.0)[0]),
        "rms": float(rms_norm(x, one, 0.0)[0]),
        "n - 1": float((centred / x.std())[0]),
        "variance": float((centred / norm_scale(x, "layernorm", 0.0) ** 2)[0]),
        "only the mean": float(centred[0]),
        "length": float((x / x.norm())[0]),
    }


def layer_normed(rng: Random) -> Problem:
    """The first of four numbers after LayerNorm (arXiv:1607.06450, eq. 3-4)."""
    x = _vector(rng)
    normed = _norms(x)
    mistakes = {name: normed[name] for name in ("rms", "n - 1", "variance", "only the mean")}
    return Problem(given={"numbers": _listed(x)}, answer=normed["layer"], mistakes=mistakes, tolerance=0.02)


def rms_normed(rng: Random) -> Problem:
    """The first of four numbers after RMSNorm (arXiv:1910.07467, eq. 4)."""
    x = _vector(rng)
    normed = _norms(x)
    mistakes = {name: normed[name] for name in ("layer", "length")}
    return Problem(given={"numbers": _listed(x)}, answer=normed["rms"], mistakes=mistakes, tolerance=0.02)


def _listed(x: torch.Tensor) -> str:
    return ", ".join(f"{value:.0f}" for value in x.tolist())


def feed_forward_count(rng: Random) -> Problem:
    """All parameters of one feed-forward layer of the first Transformer, biases too: 2 d d_ff + d_ff + d."""
    d_model = rng.choice((32, 48, 64, 96, 128, 256))
    d_ff = rng.choice((2, 3, 4)) * d_model
    config = ModelConfig(
        vocab_size=1,
        d_model=d_model,
        n_layers=1,
        attention=AttentionConfig(n_heads=1),
        feed_forward=FeedForwardConfig(d_ff=d_ff, activation="relu"),
        bias=True,
    )

    def count(c: ModelConfig) -> int:
        return parameters(c).by_layer["blocks.0"]["feed-forward"]

    weights = count(replace(config, bias=False))
    mistakes = {
        "biases": weights,
        "one matrix": weights / 2,
        "gated": count(config.changed(activation="swiglu")),
        "one bias": weights + d_ff,
        "only the output bias": weights + d_model,
    }
    return Problem(given={"d_model": d_model, "d_ff": d_ff}, answer=count(config), mistakes=mistakes, tolerance=0)


def gated_width(rng: Random) -> Problem:
    """The width at which a gated layer has as many weights as a plain one of 4 d: 8/3 d (arXiv:2002.05202, sec. 2)."""
    d_model = 96 * rng.randint(2, 40)  # 8/3 of it is a whole multiple of 8
    gated = layer_cost("swiglu", d_model)
    return Problem(
        given={"d_model": d_model, "plain": 4 * d_model},
        answer=gated.d_ff,
        mistakes={"unchanged": 4 * d_model, "half": 2 * d_model, "two thirds of d": 2 * d_model / 3},
    )


def writer_std(rng: Random) -> Problem:
    """Initial deviation of what writes to the stream: 0.02 / sqrt(2 N) (Radford et al. 2019, section 2.3)."""
    layers = rng.choice((6, 8, 12, 16, 24, 36, 48, 72, 96))
    std = ModelConfig(vocab_size=1).init_std
    return Problem(
        given={"layers": layers, "std": std},
        answer=std / math.sqrt(2 * layers),
        mistakes={"one a block": std / math.sqrt(layers), "no root": std / (2 * layers), "unchanged": std},
    )


def dropped(rng: Random) -> Problem:
    """A kept activation in training: x / (1 - p) (arXiv:1706.03762, section 5.4, inverted dropout)."""
    p, x = rng.choice((0.1, 0.2, 0.25, 0.4)), rng.randint(2, 9)
    kept = torch.nn.functional.dropout(torch.full((64,), float(x), dtype=torch.float64), p).max()
    return Problem(
        given={"p": p, "x": x},
        answer=float(kept),
        mistakes={"unchanged": x, "times": x * (1 - p), "over p": x / p},
        tolerance=0.01,
    )


def path_count(rng: Random) -> Problem:
    """Ways through N blocks of two sublayers, each passed through or around: 2^(2N) (arXiv:1605.06431, section 3)."""
    blocks = rng.randint(2, 8)
    return Problem(
        given={"blocks": blocks},
        answer=2 ** (2 * blocks),
        tolerance=0,
        mistakes={"one a block": 2**blocks, "not powers": 4 * blocks},
    )
