"""Exercises on mixtures of experts."""

from random import Random

import torch

from tfcore.routing import choose_experts, expert_capacity, expert_weights, load_balancing_loss
from tfcore.views.reference.check.measure.problem import Problem


def capacity(rng: Random) -> Problem:
    """Tokens an expert takes: factor * k * tokens / experts (arXiv:2101.03961, eq. 3)."""
    experts, top_k = rng.choice((8, 16, 32)), rng.choice((1, 2, 4))
    tokens, factor = 64 * rng.randint(4, 32), rng.choice((1.0, 1.25, 1.5, 2.0))
    room = expert_capacity(tokens, experts, top_k, factor)
    mistakes = {
        "one choice": int(factor * tokens / experts),
        "no factor": top_k * tokens // experts,
        "all tokens": int(factor * top_k * tokens),
    }
    given = {"experts": experts, "top_k": top_k, "tokens": tokens, "factor": factor}
    return Problem(given=given, answer=room, mistakes=mistakes, tolerance=0)


def gate(rng: Random) -> Problem:
    """The weight of the better of two experts: the softmax of the chosen scores alone (arXiv:2401.04088, sec. 2.1)."""
    scores = torch.tensor([rng.sample(range(-4, 7), 4)], dtype=torch.float64)[None] / 2
    probs = scores.softmax(-1)
    chosen = choose_experts(probs, 2)
    answer, _ = expert_weights(probs, chosen, sum_to_one=True).flatten().tolist()
    mistakes = {"of all four": float(probs.max()), "equal": 0.5, "the other": 1 - answer}
    return Problem(
        given={"scores": ", ".join(f"{s:.1f}" for s in scores.flatten().tolist())},
        answer=answer,
        mistakes=mistakes,
        tolerance=0.02,
    )


def overflow(rng: Random) -> Problem:
    """Tokens that find their expert full, of a load drawn."""
    room = rng.randint(10, 20)
    load = [rng.randint(1, 9) + (room if i < 2 else 0) for i in range(4)]
    rng.shuffle(load)
    lost = sum(max(0, tokens - room) for tokens in load)
    given = {"load": ", ".join(map(str, load)), "room": room}
    mistakes = {
        "net": sum(load) - 4 * room,
        "the fullest": max(load) - room,
        "free places": sum(max(0, room - t) for t in load),
    }
    return Problem(given=given, answer=lost, mistakes=mistakes, tolerance=0)


def balance(rng: Random) -> Problem:
    """N * sum f_i P_i, which is 1 when all experts are used alike (arXiv:2101.03961, eq. 4)."""
    shares = rng.choice(((0.7, 0.1, 0.1, 0.1), (0.4, 0.4, 0.1, 0.1), (0.55, 0.25, 0.1, 0.1), (1.0, 0.0, 0.0, 0.0)))
    load = torch.tensor(shares, dtype=torch.float64)
    loss = float(load_balancing_loss(load[None, None], load, 1.0))
    given = {"shares": ", ".join(f"{share:g}" for share in shares)}
    return Problem(
        given=given, answer=loss, mistakes={"no N": loss / 4, "no squares": 4.0, "best": 1.0}, tolerance=0.02
    )


def work_a_token(rng: Random) -> Problem:
    """How many times as many weights as work a layer of experts has: experts / k."""
    experts, top_k = rng.choice(((8, 2), (16, 1), (16, 2), (64, 4), (64, 8), (128, 8)))
    load = choose_experts(torch.rand(1, 1, experts, generator=torch.Generator().manual_seed(0)), top_k).shape[-1]
    return Problem(
        given={"experts": experts, "top_k": top_k},
        answer=experts / load,
        mistakes={"experts": experts, "product": experts * top_k, "inverse": top_k / experts},
    )
