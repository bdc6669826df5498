"""Splits of a training budget between parameters and tokens: the compute-optimal one, and what published rules buy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.scaling_laws import APPROACH_1, APPROACH_2, KAPLAN_SPLIT, LAWS, Law, Split

PER_TOKEN = 6  # operations of training for a parameter and a token: 2 forward, 4 backward (arXiv:2001.08361, 2.1)

SIZES = np.logspace(6.5, 13.5, 85)  # parameters: where IsoFLOP curves are drawn


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
    g = (law.alpha * law.a / (law.beta * law.b)) ** (1 / (law.alpha + law.beta))
    product = flops / PER_TOKEN
    n, d = g * product**law.size_exponent, product**law.data_exponent / g
    return Training(flops, n, d, law.loss(n, d))


def optima(law: Law) -> list[Training]:
    """The optimum of every budget from 10^14 to 10^30 operations, two for each power of ten."""
    return [optimum(law, 10.0**exponent) for exponent in np.arange(14.0, 30.1, 0.5)]


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


def splits(budgets: Sequence[float]) -> list[Splits]:
    """Every rule at these budgets."""
    return [
        Splits(name, source, np.array(budgets), np.array([_size(rule, budget) for budget in budgets]))
        for name, (rule, source) in RULES.items()
    ]


def _size(rule: Law | Split, flops: float) -> float:
    return rule.size(flops) if isinstance(rule, Split) else optimum(rule, flops).n


# The rules that agreed_ratio names.
