"""Schedules and optimisers by name, and what is kept of a run that tries them."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from numpy import ndarray

PLAIN = "sgd without momentum"
SCHEDULES = {"cosine": "cosine", "inverse_sqrt": "inverse square root", "constant": "constant"}
OPTIMISERS = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD + momentum", "muon": "Muon"}


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
        """The largest update over the smallest."""
        return float(self.update.max() / max(self.update.min(), 1e-30))


@dataclass(frozen=True, slots=True)
class Norms:
    """Norms of the weights of one training, step by step.

    Args:
        kind: "adamw", "adam", or "none" where nothing decays.
        decayed, rest: norm of all weights that decay, and of all others, after every step; 1 at the beginning.
    """

    kind: str
    decayed: Float[ndarray, " step"]
    rest: Float[ndarray, " step"]
