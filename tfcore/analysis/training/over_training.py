"""Over-training: a smaller model on more tokens than is compute-optimal, its loss, and when it pays in inference."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.training.compute_budget import PER_TOKEN, Training, at_ratio, optimum, tokens_per_parameter
from tfcore.measures.quantities import power, round_count
from tfcore.measures.scaling_laws import Law

RATIOS = np.logspace(0, 4.5, 73)  # tokens per parameter, from 1 to about 30,000
PER_ANSWER = 2  # operations of inference for a parameter and a token, one forward pass (arXiv:2001.08361, 2.1)
HALVINGS = 64  # of an interval of log N: then it is narrower than a float can say
LARGEST = 100.0  # log N, beyond every model


@dataclass(frozen=True, slots=True)
class OverTraining(Finding):
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
        """Nats per token by which the same budget ends above the optimum."""
        return self.same_budget.loss - self.best.loss

    @property
    def inference(self) -> float:
        """Cost of an inference token with the model of the same budget, over that with the best model."""
        return self.same_budget.n / self.best.n

    @property
    def training(self) -> float:
        """Operations of training for the same loss, over those of the best training."""
        return self.same_loss.flops / self.best.flops

    @property
    def saved_per_token(self) -> float:
        """Operations that each inference token costs less at the same loss; negative for a larger model."""
        return PER_ANSWER * (self.best.n - self.same_loss.n)

    @property
    def pays_after(self) -> float:
        """Inference tokens after which the smaller model has paid for its training; infinite if it never does."""
        extra = self.same_loss.flops - self.best.flops
        return extra / self.saved_per_token if self.saved_per_token > 0 else float("inf")

    @property
    def numbers(self) -> tuple[str, str, str, str]:
        """Extra loss, cost of inference, cost of training, and after how many inference tokens that pays."""
        pays = round_count(self.pays_after) if np.isfinite(self.pays_after) else "never"
        return f"{self.extra_loss:+.4f}", f"{self.inference:.0%}", f"{self.training:.2f} ×", pays

    @property
    def sentence(self) -> str:
        return (
            f"At {tokens_per_parameter(self.same_budget.ratio)} tokens per parameter the same budget ends "
            f"{self.extra_loss:.4f} nats above the optimum, and each inference token costs {self.inference:.0%} of "
            f"what it would. For the same loss, train with {self.training:.2f} times the operations: the model then "
            f"has {round_count(self.same_loss.n)} parameters instead of {round_count(self.best.n)}."
        )


def over_training(law: Law, flops: float, ratio: float) -> OverTraining:
    """Compare the best split of a budget with `ratio` tokens per parameter."""
    best = optimum(law, flops)
    return OverTraining(best, at_ratio(law, flops, ratio), for_loss(law, best.loss, ratio))


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
        """Which model costs least in all."""
        return int(np.argmin(self.total))


def lifetime(law: Law, loss: float, served: float, ratios: Float[ndarray, " ratio"]) -> Lifetime:
    """What models of equal loss cost when `served` tokens are read and written after their training."""
    n = _sizes_for_loss(law, loss, ratios)
    return Lifetime(loss, served, ratios, n, PER_TOKEN * n * ratios * n, PER_ANSWER * n * served)


@dataclass(frozen=True, slots=True)
class ExtraLoss(Finding):
    """What one budget loses with another number of tokens per parameter than the best.

    Args:
        best: the compute-optimal training.
        other: the same operations with another ratio.
    """

    best: Training
    other: Training

    @property
    def sentence(self) -> str:
        best, other = self.best, self.other
        return (
            f"Same budget, {power(best.flops)} operations: {tokens_per_parameter(other.ratio)} tokens per parameter "
            f"make a model of {round_count(other.n)} instead of {round_count(best.n)} at "
            f"{tokens_per_parameter(best.ratio)}, {other.loss - best.loss:+.4f} nats."
        )


def extra_loss(found: OverTraining) -> ExtraLoss:
    """The first of the two ways."""
    return ExtraLoss(found.best, found.same_budget)


def extra_losses(law: Law, flops: float, ratios: Float[ndarray, " ratio"]) -> Float[ndarray, " ratio"]:
    """Nats per token above the optimum, at every number of tokens per parameter."""
    best = optimum(law, flops).loss
    return np.array([at_ratio(law, flops, float(ratio)).loss - best for ratio in ratios])


@dataclass(frozen=True, slots=True)
class CheapestLifetime(Finding):
    """Of models that reach one loss, the one whose training and inference cost least together.

    Args:
        loss: nats per token.
        served: inference tokens.
        ratio: its tokens per parameter.
        n: its parameters.
    """

    loss: float
    served: float
    ratio: float
    n: float

    @property
    def sentence(self) -> str:
        return (
            f"Same loss, {self.loss:.3f}, and {round_count(self.served)} inference tokens: cheapest in all at "
            f"{tokens_per_parameter(self.ratio)} tokens per parameter, {round_count(self.n)} parameters."
        )


def cheapest_lifetime(life: Lifetime) -> CheapestLifetime:
    """The model with the fewest operations in all."""
    i = life.cheapest
    return CheapestLifetime(life.loss, life.served, float(life.ratio[i]), float(life.n[i]))
