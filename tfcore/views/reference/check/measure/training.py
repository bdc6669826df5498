"""Exercises on information, losses and what training takes."""

import math
from random import Random

import torch
from torch.distributions import Categorical, kl_divergence

from tfcore.views.reference.check.measure.problem import Problem

NATS = math.log(2)  # in a bit
TOKENS_A_PARAMETER = 20  # about, at the compute optimum (arXiv:2203.15556, section 3)
FORWARD, TRAINING = 2, 6  # operations per parameter and token (arXiv:2001.08361, section 2.1)
DAY = 86_400  # seconds


def _coin(p: float) -> Categorical:
    return Categorical(probs=torch.tensor([p, 1 - p], dtype=torch.float64))


def coin_entropy(rng: Random) -> Problem:
    """Entropy of a bent coin in bits: -p log2 p - q log2 q."""
    p = rng.choice((0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.98))
    nats = float(_coin(p).entropy())
    mistakes = {
        "nats": nats,
        "one side": -p * math.log2(p),
        "surprise": -math.log2(p),
        "other surprise": -math.log2(1 - p),
    }
    return Problem(given={"p": p}, answer=nats / NATS, mistakes=mistakes, tolerance=0.02)


def surprise(rng: Random) -> Problem:
    """The cost of a token that was given probability p: -log2 p bits."""
    p = rng.choice((0.9, 0.7, 0.4, 0.3, 0.2, 0.1, 0.05, 0.03, 0.01))
    return Problem(
        given={"p": p},
        answer=-math.log2(p),
        tolerance=0.02,
        mistakes={"nats": -math.log(p), "tens": -math.log10(p), "weighted": -p * math.log2(p)},
    )


def perplexity(rng: Random) -> Problem:
    """exp of the loss in nats."""
    loss = rng.randint(12, 48) / 10
    return Problem(
        given={"loss": loss},
        answer=math.exp(loss),
        tolerance=0.02,
        mistakes={"bits": 2**loss, "tens": 10**loss, "the loss": loss},
    )


def divergence(rng: Random) -> Problem:
    """KL(P || Q) of two coins in bits."""
    p, q = rng.choice(((0.5, 0.9), (0.9, 0.5), (0.7, 0.2), (0.8, 0.3), (0.25, 0.5), (0.6, 0.95)))
    one, other = _coin(p), _coin(q)
    nats = float(kl_divergence(one, other))
    cross = nats + float(one.entropy())
    mistakes = {"nats": nats, "other way": float(kl_divergence(other, one)) / NATS, "cross": cross / NATS}
    return Problem(given={"p": p, "q": q}, answer=nats / NATS, mistakes=mistakes, tolerance=0.02)


def chance_loss(rng: Random) -> Problem:
    """The loss of a model that knows nothing yet: ln V nats."""
    vocab = rng.choice((256, 1_000, 4_096, 16_000, 32_000, 50_257, 128_256))
    nats = float(Categorical(logits=torch.zeros(vocab, dtype=torch.float64)).entropy())
    return Problem(
        given={"vocab": vocab},
        answer=nats,
        tolerance=0.02,
        mistakes={"bits": nats / NATS, "tens": math.log10(vocab), "one in V": 1 / vocab},
    )


def bits_a_byte(rng: Random) -> Problem:
    """A loss in nats per token as bits per byte, which does not depend on how text is cut."""
    loss, size = rng.randint(20, 36) / 10, rng.choice((3.2, 3.8, 4.0, 4.4, 4.8))
    answer = loss / NATS / size
    return Problem(
        given={"loss": loss, "size": size},
        answer=answer,
        tolerance=0.02,
        mistakes={"nats": loss / size, "a token": loss / NATS, "times": loss / NATS * size},
    )


def best_tokens(rng: Random) -> Problem:
    """Tokens for a model trained at the compute optimum: about 20 per parameter (arXiv:2203.15556)."""
    n = rng.choice((0.4, 1, 3, 7, 13, 30, 70, 175)) * 1e9
    return Problem(
        given={"billions": n / 1e9},
        answer=TOKENS_A_PARAMETER * n,
        tolerance=0.1,
        mistakes={"one each": n, "two each": 2 * n, "divided": n / TOKENS_A_PARAMETER},
    )


def training_work(rng: Random) -> Problem:
    """Operations of a whole training: 6 N D (arXiv:2001.08361, section 2.1)."""
    n, d = rng.choice((1, 3, 7, 13, 70)) * 1e9, rng.choice((20, 140, 300, 1000, 2000)) * 1e9
    mistakes = {"forward only": FORWARD * n * d, "backward only": (TRAINING - FORWARD) * n * d, "no factor": n * d}
    return Problem(given={"billions": n / 1e9, "tokens": d / 1e9}, answer=TRAINING * n * d, mistakes=mistakes)


def training_days(rng: Random) -> Problem:
    """Days of a training on some accelerators of which a share of the peak is reached."""
    n, d = rng.choice((1, 7, 13, 70)) * 1e9, rng.choice((100, 300, 1000)) * 1e9
    devices, use = rng.choice((64, 256, 1024)), rng.choice((0.3, 0.4, 0.5))
    peak = 312e12  # of an A100 in 16 bits, dense, as published
    days = TRAINING * n * d / (devices * peak * use) / DAY
    mistakes = {
        "peak": days * use,
        "forward only": days * FORWARD / TRAINING,
        "hours": days * 24,
        "one device": days * devices,
    }
    given = {"billions": n / 1e9, "tokens": d / 1e9, "devices": devices, "use": use}
    return Problem(given=given, answer=days, mistakes=mistakes, tolerance=0.03)


def lora_count(rng: Random) -> Problem:
    """Trained numbers of LoRA beside one matrix: r (d_in + d_out) (arXiv:2106.09685, section 4.1)."""
    wide, rank = rng.choice((768, 1024, 2048, 4096)), rng.choice((4, 8, 16, 32))
    matrix = torch.empty(4 * wide, wide, device="meta")
    mistakes = {"one of two": rank * wide, "the matrix": matrix.numel(), "the product": rank * matrix.numel()}
    given = {"d_in": wide, "d_out": 4 * wide, "rank": rank}
    return Problem(given=given, answer=rank * sum(matrix.shape), mistakes=mistakes)
