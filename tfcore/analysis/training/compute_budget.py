"""Splits of a training budget between parameters and tokens: the compute-optimal one, and what published rules buy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.measures.quantities import power, round_count
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


def tokens_per_parameter(ratio: float) -> str:
    """20 or 1,875 or 0.8: three digits at most below 100, whole numbers above."""
    return f"{ratio:,.0f}" if ratio >= 99.5 else f"{ratio:.3g}"


@dataclass(frozen=True, slots=True)
class BudgetSplit(Finding):
    """The compute-optimal split of a budget beside Kaplan's, both judged by one law.

    Args:
        best: the split with the least loss.
        kaplan: the same budget, split by KAPLAN_SPLIT.
        saved: share of the budget that the best split does not need to reach Kaplan's loss.
    """

    best: Training
    kaplan: Training
    saved: float

    @property
    def loss(self) -> str:
        """Of the best split, in nats a token."""
        return f"{self.best.loss:.3f}"

    @property
    def sentence(self) -> str:
        best, kaplan = self.best, self.kaplan
        return (
            f"With {power(best.flops)} operations the minimum is at {round_count(best.n)} parameters on "
            f"{round_count(best.d)} tokens, {tokens_per_parameter(best.ratio)} per parameter, loss {self.loss}. "
            f"Kaplan's split of 2020, {round_count(kaplan.n)} on {round_count(kaplan.d)}, ends at {kaplan.loss:.3f}, "
            f"which the best split reaches with {self.saved:.0%} less."
        )


def budget_split(law: Law, flops: float) -> BudgetSplit:
    """The best split of a budget by this law, compared with Kaplan's."""
    kaplan = at_size(law, flops, KAPLAN_SPLIT.size(flops))
    return BudgetSplit(optimum(law, flops), kaplan, 1 - budget_for(law, kaplan.loss).flops / flops)


@dataclass(frozen=True, slots=True)
class RuleRatios(Finding):
    """Tokens per parameter of every rule at one budget.

    Args:
        flops: operations.
        rules: name and tokens per parameter of each.
    """

    flops: float
    rules: tuple[tuple[str, float], ...]

    @property
    def sentence(self) -> str:
        each = "; ".join(f"{name} {tokens_per_parameter(ratio)}" for name, ratio in self.rules)
        return f"At {power(self.flops)} operations: {each}."


def rule_ratios(flops: float) -> RuleRatios:
    """What every rule in RULES asks for at this budget."""
    return RuleRatios(flops, tuple((rule.name, rule.ratio.item()) for rule in splits([flops])))


@dataclass(frozen=True, slots=True)
class AgreedRatio(Finding):
    """Fewest and most tokens per parameter of the rules that agree best, between two budgets.

    Args:
        budgets: the smallest and the largest, in operations.
        ratios: the fewest and the most tokens per parameter.
    """

    budgets: tuple[float, float]
    ratios: tuple[float, float]

    @property
    def sentence(self) -> str:
        (smallest, largest), (fewest, most) = self.budgets, self.ratios
        return (
            "The rule of **20 tokens per parameter** is close to what approaches 1 and 2 of Chinchilla and the refit "
            f"of approach 3 say from {power(smallest)} to {power(largest)} operations: between {fewest:.0f} and "
            f"{most:.0f}."
        )


# The rules that AgreedRatio names.
AGREEING = ("Chinchilla, approach 1", "Chinchilla, approach 2", "Chinchilla, approach 3 refitted")


def agreed_ratio(smallest: float, largest: float) -> AgreedRatio:
    """The range of tokens per parameter of the rules in AGREEING, at 41 budgets between these two."""
    budgets = np.logspace(np.log10(smallest), np.log10(largest), 41)
    ratios = np.concatenate([rule.ratio for rule in splits(budgets.tolist()) if rule.name in AGREEING])
    return AgreedRatio((smallest, largest), (float(ratios.min()), float(ratios.max())))
