"""What a choice in training changes, as numbers: results for the figures, and the loss under label smoothing."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray


@dataclass(frozen=True, slots=True)
class Rates:
    """The learning rate of every step, by schedule."""

    step: Int[ndarray, " step"]
    by_schedule: dict[str, Float[ndarray, " step"]]


@dataclass(frozen=True, slots=True)
class Updates:
    """One step of one optimiser, tensor by tensor, as root mean squares.

    Args:
        tensors: names of the weight tensors.
        gradient: of each, after clipping.
        update: by which its weights moved.
    """

    kind: str
    tensors: tuple[str, ...]
    gradient: Float[ndarray, " tensor"]
    update: Float[ndarray, " tensor"]

    @property
    def spread(self) -> float:
        """How many times the tensor moved most moves as far as the one moved least."""
        return float(self.update.max() / max(self.update.min(), 1e-30))


@dataclass(frozen=True, slots=True)
class Norms:
    """How the weights of one training grow and shrink.

    Args:
        kind: "adamw", "adam", or "none" where nothing decays.
        decayed, rest: norm of all weights that decay, and of all others, after every step; 1 at the beginning.
    """

    kind: str
    decayed: Float[ndarray, " step"]
    rest: Float[ndarray, " step"]


@dataclass(frozen=True, slots=True)
class Smoothing:
    """The loss under label smoothing.

    Args:
        target: what the right token is to get; each other one is to get `other`.
        probability: given to the right token, the rest shared alike by the others.
        plain, loss: without smoothing, and with it, nats.
        best, floor: the probability at which the loss is lowest, and that loss.
    """

    target: float
    other: float
    probability: Float[ndarray, " point"]
    plain: Float[ndarray, " point"]
    loss: Float[ndarray, " point"]
    best: float
    floor: float


def smoothing_target(epsilon: float, vocab: int) -> Float[ndarray, " vocab"]:
    """What is asked for where token 0 is right: q = (1 - epsilon) * [1, 0, 0, ...] + epsilon / vocab.

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
    floor = -float((q[q > 0] * np.log(q[q > 0])).sum())
    return Smoothing(float(q[0]), float(q[-1]), p, -np.log(p), loss, float(q[0]), abs(floor))
