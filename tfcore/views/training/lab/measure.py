"""The loss under label smoothing, in numbers."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.information import entropy


@dataclass(frozen=True, slots=True)
class Smoothing:
    """The loss under label smoothing.

    Args:
        epsilon, vocab: share of the target that is spread evenly, over how many tokens.
        target, other: probability asked for of the right token, and of each other one.
        probability: given to the right token, the rest shared alike by the others.
        plain, loss: without smoothing, and with it, nats.
        best, floor: the probability at which the loss is lowest, and that loss.
    """

    epsilon: float
    vocab: int
    target: float
    other: float
    probability: Float[ndarray, " point"]
    plain: Float[ndarray, " point"]
    loss: Float[ndarray, " point"]
    best: float
    floor: float


def smoothing_target(epsilon: float, vocab: int) -> Float[ndarray, " vocab"]:
    """The target distribution where token 0 is right: q = (1 - epsilon) * [1, 0, 0, ...] + epsilon / vocab.

    Source: arXiv:1512.00567, section 7, with the uniform distribution.
    """
    target = np.full(vocab, epsilon / vocab)
    target[0] += 1 - epsilon
    return target


def smoothing(epsilon: float, vocab: int) -> Smoothing:
    """The cross-entropy with that target, for answers that share out the rest alike; its floor is the entropy of q."""
    q = smoothing_target(epsilon, vocab)
    p = np.append(np.linspace(0.005, 0.99, 160), 1 - np.geomspace(9e-3, 1e-5, 60))
    wrong = (1 - p) / (vocab - 1)
    loss = -q[0] * np.log(p) - (1 - q[0]) * np.log(wrong)
    right, other = q[:2].tolist()
    return Smoothing(epsilon, vocab, right, other, p, -np.log(p), loss, right, entropy(q) * math.log(2))
