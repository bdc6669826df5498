"""Exercises on induction heads, the residual stream and interventions."""

import math
from random import Random

import numpy as np
import torch

from tfcore.measures.heads.kinds import targets
from tfcore.views.reference.check.measure.problem import Problem

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


def copied_from(rng: Random) -> Problem:
    """The token an induction head looks at: right after the earlier occurrence of the present token
    (arXiv:2209.11895)."""
    once = rng.sample(LETTERS, rng.randint(5, 8))
    at = rng.randint(0, len(once) - 3)
    text = once + once[: at + 1]
    ids = np.array([LETTERS.index(letter) for letter in text])
    where = targets(ids)
    (answer,), (same,) = (np.flatnonzero(where[kind][-1]).tolist() for kind in ("induction", "duplicate"))
    mistakes = {"same token": same, "token before": len(text) - 2, "itself": len(text) - 1, "from one": answer + 1}
    return Problem(given={"text": " ".join(text)}, answer=answer, mistakes=mistakes, tolerance=0)


def pairs_of_heads(rng: Random) -> Problem:
    """Pairs in which the earlier head can feed the later one: those of different layers, in order."""
    layers, heads = rng.choice((2, 3, 4, 6)), rng.choice((2, 4, 6, 8, 12))
    order = torch.ones(layers, layers).triu(1).sum()
    pairs = int(order) * heads**2
    mistakes = {
        "same layer": layers * heads * (layers * heads - 1) / 2,
        "both orders": 2 * pairs,
        "neighbours": (layers - 1) * heads**2,
        "one a head": int(order) * heads,
    }
    return Problem(given={"layers": layers, "heads": heads}, answer=pairs, mistakes=mistakes, tolerance=0)


def widest_entropy(rng: Random) -> Problem:
    """The entropy in bits of a head that looks at n tokens alike: log2 n."""
    n = rng.choice((8, 12, 16, 20, 32, 50, 64, 100))
    nats = float(torch.distributions.Categorical(probs=torch.full((n,), 1 / n, dtype=torch.float64)).entropy())
    return Problem(
        given={"n": n}, answer=nats / math.log(2), tolerance=0.02, mistakes={"nats": nats, "the weight": 1 / n, "n": n}
    )


def share_of_a_logit(rng: Random) -> Problem:
    """The contribution of the last layer, as all contributions add up to the logit."""
    parts = [rng.randint(-20, 40) / 10 for _ in range(3)]
    missing = rng.choice((-1, 1)) * rng.randint(11, 60) / 10
    logit = float(torch.tensor([*parts, missing], dtype=torch.float64).sum())
    given = {"logit": f"{logit:.1f}", "embedding": parts[0], "attention": parts[1], "feed_forward": parts[2]}
    return Problem(
        given=given,
        answer=missing,
        tolerance=0.01,
        mistakes={"sign": -missing, "no embedding": missing + parts[0], "the logit": logit},
    )


def recovered(rng: Random) -> Problem:
    """How much of a difference one patch brings back: (patched - other) / (clean - other)."""
    clean, other = rng.randint(20, 50) / 10, -rng.randint(5, 40) / 10
    share = rng.choice((0.2, 0.25, 0.4, 0.6, 0.75, 0.8))
    patched = round(other + share * (clean - other), 2)
    answer = (patched - other) / (clean - other)
    mistakes = {"what is missing": 1 - answer, "of the clean": patched / clean, "difference": patched - other}
    return Problem(
        given={"clean": clean, "other": other, "patched": patched}, answer=answer, mistakes=mistakes, tolerance=0.02
    )


def stream_length(rng: Random) -> Problem:
    """The length of a sum of n updates of length 1 at right angles to each other: sqrt(n)."""
    root = rng.choice((4, 5, 6, 7, 8, 9))
    total = torch.ones(root**2, dtype=torch.float64)  # each of them along an axis of its own
    return Problem(
        given={"n": root**2},
        answer=float(total.norm()),
        tolerance=0.01,
        mistakes={"in a line": root**2, "one": 1.0, "cancelled": 0.0},
    )
