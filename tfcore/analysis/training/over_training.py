"""Smaller models on more tokens: what the training costs more, and when the cheaper answers have paid for it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.training.compute_optimal import PER_TOKEN, Training, at_ratio, optimum
from tfcore.analysis.training.scaling_law import Law

PER_ANSWER = 2  # operations of inference for a parameter and a token, one forward pass (arXiv:2001.08361, 2.1)
HALVINGS = 64


@dataclass(frozen=True, slots=True)
class OverTraining:
    """A budget spent with another number of tokens per parameter than the best, in two ways.

    Args:
        best: the compute-optimal training.
        same_budget: the same operations at the other ratio: a little more loss.
        same_loss: the same loss at the other ratio: more operations, but a smaller model (or a larger one).
    """

    best: Training
    same_budget: Training
    same_loss: Training

    @property
    def extra_loss(self) -> float:
        """Nats a token that the same budget loses."""
        return self.same_budget.loss - self.best.loss

    @property
    def extra_training(self) -> float:
        """Operations that the same loss needs more."""
        return self.same_loss.flops - self.best.flops

    @property
    def saved_per_token(self) -> float:
        """Operations that each token of use costs less at the same loss; negative for a larger model."""
        return PER_ANSWER * (self.best.n - self.same_loss.n)

    @property
    def pays_after(self) -> float:
        """Tokens of use after which the smaller model has paid for its training; infinite if it never does."""
        return self.extra_training / self.saved_per_token if self.saved_per_token > 0 else float("inf")


def over_training(law: Law, flops: float, ratio: float) -> OverTraining:
    """Compare the best split of a budget with `ratio` tokens per parameter."""
    best = optimum(law, flops)
    return OverTraining(best, at_ratio(law, flops, ratio), for_loss(law, best.loss, ratio))


def for_loss(law: Law, loss: float, ratio: float) -> Training:
    """The training with `ratio` tokens per parameter that ends at this loss.

    The loss falls as the size grows at a fixed ratio, so halving an interval of log N finds it.

    Raises:
        ValueError: a loss that no size reaches.
    """
    if loss <= law.floor:
        raise ValueError(f"a loss of {loss:.4f} is not above the floor of {law.floor:.4f}, which no training reaches")
    low, high = 0.0, 100.0  # log N
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        n = float(np.exp(middle))
        low, high = (middle, high) if law.loss(n, ratio * n) > loss else (low, middle)
    n = float(np.exp(high))
    return Training(PER_TOKEN * n * ratio * n, n, ratio * n, law.loss(n, ratio * n))


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Training and use together, of models that all reach one loss (arXiv:2401.00448, section 2).

    Args:
        ratio: tokens per parameter of each.
        n: parameters of each.
        training: operations of training.
        use: operations of answering with so many tokens.
    """

    ratio: Float[ndarray, " ratio"]
    n: Float[ndarray, " ratio"]
    training: Float[ndarray, " ratio"]
    use: Float[ndarray, " ratio"]

    @property
    def total(self) -> Float[ndarray, " ratio"]:
        """Operations from the first step of training to the last token of use."""
        return self.training + self.use

    @property
    def cheapest(self) -> int:
        """Which of them costs least in all."""
        return int(np.argmin(self.total))


def lifetime(law: Law, loss: float, served: float, ratios: Float[ndarray, " ratio"]) -> Lifetime:
    """What models of equal loss cost when they read and write `served` tokens after their training."""
    found = [for_loss(law, loss, float(ratio)) for ratio in ratios]
    n = np.array([training.n for training in found])
    return Lifetime(ratios, n, np.array([training.flops for training in found]), PER_ANSWER * n * served)
