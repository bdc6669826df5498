"""The words for over-training."""

from dataclasses import dataclass

import numpy as np

from tfcore.measures.quantities import round_count
from tfcore.measures.scaling_laws import Law
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.training.scaling.measure.compute_budget import Training, at_ratio, optimum
from tfcore.views.training.scaling.measure.over_training import PER_ANSWER, Lifetime, for_loss
from tfcore.views.training.scaling.say.compute_budget import tokens_per_parameter


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


def extra_loss(trained: OverTraining) -> Statement:
    """State the loss that one budget gives up with another number of tokens per parameter than the best."""
    best, other = trained.best, trained.same_budget
    return state(
        "extra loss",
        "Same budget, {flops:power} operations: {ratio} tokens per parameter make a model of {n} instead of {best_n} "
        "at {best_ratio}, {extra:+.4f} nats.",
        flops=best.flops,
        ratio=tokens_per_parameter(other.ratio),
        n=round_count(other.n),
        best_n=round_count(best.n),
        best_ratio=tokens_per_parameter(best.ratio),
        extra=trained.extra_loss,
    )


def cheapest_lifetime(life: Lifetime) -> Statement:
    """State the model that reaches one loss with the least cost of training and inference together."""
    i = life.cheapest
    return state(
        "cheapest lifetime",
        "Same loss, {loss:.3f}, and {served} inference tokens: cheapest in all at {ratio} tokens per parameter, {n} "
        "parameters.",
        loss=life.loss,
        served=round_count(life.served),
        ratio=tokens_per_parameter(float(life.ratio[i])),
        n=round_count(float(life.n[i])),
    )
