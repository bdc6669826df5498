"""Over-training: a smaller model on more tokens than is compute-optimal, its loss, and when it pays in inference."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.scaling_laws import Law
from tfcore.views.training.scaling.measure.compute_budget import PER_TOKEN, Training, at_ratio, optimum

RATIOS = np.logspace(0, 4.5, 73)  # tokens per parameter, from 1 to about 30,000
PER_ANSWER = 2  # operations of inference for a parameter and a token, one forward pass (arXiv:2001.08361, 2.1)
HALVINGS = 64  # of an interval of log N: then it is narrower than a float can say
LARGEST = 100.0  # log N, beyond every model


def for_loss(law: Law, loss: float, ratio: float) -> Training:
    """The training with `ratio` tokens per parameter that ends at this loss.

    Raises:
        ValueError: a loss that no size reaches.
    """
    n = _sizes_for_loss(law, loss, np.array([ratio])).item()
    return Training(PER_TOKEN * n * ratio * n, n, ratio * n, law.loss(n, ratio * n))


def _sizes_for_loss(law: Law, loss: float, ratios: Float[ndarray, " ratio"]) -> Float[ndarray, " ratio"]:
    """Parameters that end at this loss, for each number of tokens per parameter.

    The loss falls as the size grows at a fixed ratio, so halving an interval of log N finds it.
    """
    if loss <= law.floor:
        raise ValueError(f"a loss of {loss:.4f} is not above the floor of {law.floor:.4f}, which no training reaches")
    low, high = np.zeros_like(ratios), np.full_like(ratios, LARGEST)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        n = np.exp(middle)
        too_small = law.loss(n, ratios * n) > loss
        low, high = np.where(too_small, middle, low), np.where(too_small, high, middle)
    return np.exp(high)


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Training and inference together, of models that all reach one loss (arXiv:2401.00448, section 2).

    Args:
        loss: nats per token, of all.
        served: inference tokens.
        ratio: tokens per parameter of each model.
        n: parameters of each.
        training: operations of training.
        inference: operations for all inference tokens.
    """

    loss: float
    served: float
    ratio: Float[ndarray, " ratio"]
    n: Float[ndarray, " ratio"]
    training: Float[ndarray, " ratio"]
    inference: Float[ndarray, " ratio"]

    @property
    def total(self) -> Float[ndarray, " ratio"]:
        """Operations from the first step of training to the last inference token."""
        return self.training + self.inference

    @property
    def cheapest(self) -> int:
        """The index of the model that costs least in all."""
        return int(np.argmin(self.total))


def lifetime(law: Law, loss: float, served: float, ratios: Float[ndarray, " ratio"]) -> Lifetime:
    """The cost of models of equal loss when `served` tokens are read and written after their training."""
    n = _sizes_for_loss(law, loss, ratios)
    return Lifetime(loss, served, ratios, n, PER_TOKEN * n * ratios * n, PER_ANSWER * n * served)


def extra_losses(law: Law, flops: float, ratios: Float[ndarray, " ratio"]) -> Float[ndarray, " ratio"]:
    """Nats per token above the optimum, at every number of tokens per parameter."""
    best = optimum(law, flops).loss
    return np.array([at_ratio(law, flops, float(ratio)).loss - best for ratio in ratios])
