"""Splits of a training budget between size and data: the compute-optimal one, published rules, and over-training."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.training.scaling_laws import APPROACH_1, APPROACH_2, KAPLAN_SPLIT, LAWS, Law, Split

PER_TOKEN = 6  # operations of training for a parameter and a token: 2 forward, 4 backward (arXiv:2001.08361, 2.1)


@dataclass(frozen=True, slots=True)
class Training:
    """One training run by its law.

    Args:
        flops: operations, C = 6 N D.
        n: parameters.
        d: tokens.
        loss: nats a token.
    """

    flops: float
    n: float
    d: float
    loss: float

    @property
    def ratio(self) -> float:
        """Tokens per parameter."""
        return self.d / self.n


def optimum(law: Law, flops: float) -> Training:
    """The split of C = 6 N D with the least loss: N = G (C/6)^a, D = (C/6)^b / G (arXiv:2203.15556, equation 4).

    G = (alpha A / beta B)^(1 / (alpha + beta)), a = beta / (alpha + beta), b = alpha / (alpha + beta). There a small
    step along the budget gains as much by size as it loses by data: alpha A / N^alpha = beta B / D^beta.
    """
    both = law.alpha + law.beta
    g = (law.alpha * law.a / (law.beta * law.b)) ** (1 / both)
    product = flops / PER_TOKEN
    n, d = g * product ** (law.beta / both), product ** (law.alpha / both) / g
    return Training(flops, n, d, law.loss(n, d))


def at_size(law: Law, flops: float, n: float) -> Training:
    """The budget spent on a model of n parameters."""
    d = flops / (PER_TOKEN * n)
    return Training(flops, n, d, law.loss(n, d))


def at_ratio(law: Law, flops: float, ratio: float) -> Training:
    """The budget spent on so many tokens per parameter: C = 6 N (ratio N)."""
    return at_size(law, flops, (flops / (PER_TOKEN * ratio)) ** 0.5)


@dataclass(frozen=True, slots=True)
class IsoFlops:
    """The loss of every size at fixed budgets.

    Args:
        n: parameters.
        loss: nats a token of each size at each budget; the tokens are what the budget leaves.
        best: the optimum of each budget.
    """

    n: Float[ndarray, " size"]
    loss: Float[ndarray, "budget size"]
    best: tuple[Training, ...]


def iso_flops(law: Law, budgets: Sequence[float], n: Float[ndarray, " size"]) -> IsoFlops:
    """Curves of equal compute, with the bottom of each (arXiv:2203.15556, figure 3)."""
    loss = np.stack([law.loss(n, budget / (PER_TOKEN * n)) for budget in budgets])
    return IsoFlops(n, loss, tuple(optimum(law, budget) for budget in budgets))


def budget_for(law: Law, loss: float) -> Training:
    """The smallest training that reaches a loss.

    Along the optima alpha A / N^alpha = beta B / D^beta, so that the loss above the floor is
    (1 + alpha / beta) A / N^alpha, which gives N.

    Raises:
        ValueError: a loss that no size and no data reach.
    """
    above = loss - law.floor
    if above <= 0:
        raise ValueError(f"a loss of {loss:.4f} is not above the floor of {law.floor:.4f}, which no training reaches")
    n = ((1 + law.alpha / law.beta) * law.a / above) ** (1 / law.alpha)
    d = ((1 + law.beta / law.alpha) * law.b / above) ** (1 / law.beta)
    return Training(PER_TOKEN * n * d, n, d, loss)


# name: (the rule, where it stands)
RULES: dict[str, tuple[Law | Split, str]] = {
    "Kaplan": (KAPLAN_SPLIT, "arXiv:2001.08361, table 6"),
    "Chinchilla, approach 1": (APPROACH_1, "arXiv:2203.15556, tables 2 and 3"),
    "Chinchilla, approach 2": (APPROACH_2, "arXiv:2203.15556, tables 2 and A3"),
    "Chinchilla, approach 3 as printed": (LAWS["printed"], "arXiv:2203.15556, equation 10"),
    "Chinchilla, approach 3 unrounded": (LAWS["unrounded"], "its TeX source, by arXiv:2404.10102"),
    "Chinchilla, approach 3 refitted": (LAWS["refit"], "arXiv:2404.10102"),
}


@dataclass(frozen=True, slots=True)
class Splits:
    """The size that a rule buys for each budget.

    Args:
        flops: operations.
        n: parameters.
    """

    name: str
    source: str
    flops: Float[ndarray, " budget"]
    n: Float[ndarray, " budget"]

    @property
    def d(self) -> Float[ndarray, " budget"]:
        """Tokens that are left for it: C / 6N."""
        return self.flops / (PER_TOKEN * self.n)

    @property
    def ratio(self) -> Float[ndarray, " budget"]:
        """Tokens per parameter."""
        return self.d / self.n


def splits(flops: Float[ndarray, " budget"]) -> list[Splits]:
    """Every rule at these budgets."""
    return [
        Splits(name, source, flops, np.array([_size(rule, float(budget)) for budget in flops]))
        for name, (rule, source) in RULES.items()
    ]


AGREEING = ("Chinchilla, approach 1", "Chinchilla, approach 2", "Chinchilla, approach 3 refitted")


def agreed_ratio(lowest: float, highest: float) -> tuple[float, float]:
    """The fewest and the most tokens per parameter of the rules that agree best, between two budgets."""
    budgets = np.logspace(np.log10(lowest), np.log10(highest), 41)
    ratios = np.concatenate([rule.ratio for rule in splits(budgets) if rule.name in AGREEING])
    return float(ratios.min()), float(ratios.max())


def _size(rule: Law | Split, flops: float) -> float:
    return rule.size(flops) if isinstance(rule, Split) else optimum(rule, flops).n


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
