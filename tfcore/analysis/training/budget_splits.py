"""What every published rule buys for one budget."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.training.compute_optimal import PER_TOKEN, optimum
from tfcore.analysis.training.published_laws import APPROACH_1, APPROACH_2, KAPLAN_SPLIT, LAWS, Split
from tfcore.analysis.training.scaling_law import Law

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
