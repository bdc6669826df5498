"""The words for the split of a budget."""

from dataclasses import dataclass

import numpy as np

from tfcore.measures.quantities import power, round_count
from tfcore.measures.scaling_laws import KAPLAN_SPLIT, Law
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.training.scaling.measure.compute_budget import Training, at_size, budget_for, optimum, splits


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
        """The loss of the best split, in nats a token."""
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


def rule_ratios(flops: float) -> Statement:
    """Tokens per parameter that every rule in RULES asks for at one budget."""
    return state(
        "rule ratios",
        "At {flops:power} operations: {each}.",
        flops=flops,
        each="; ".join(f"{rule.name} {tokens_per_parameter(rule.ratio.item())}" for rule in splits([flops])),
    )


AGREEING = ("Chinchilla, approach 1", "Chinchilla, approach 2", "Chinchilla, approach 3 refitted")


def agreed_ratio(smallest: float, largest: float) -> Statement:
    """The range of tokens per parameter of the rules in AGREEING, at 41 budgets between these two."""
    budgets = np.logspace(np.log10(smallest), np.log10(largest), 41)
    ratios = np.concatenate([rule.ratio for rule in splits(budgets.tolist()) if rule.name in AGREEING])
    return state(
        "agreed ratio",
        "The rule of **20 tokens per parameter** is close to what approaches 1 and 2 of Chinchilla and the refit of "
        "approach 3 say from {smallest:power} to {largest:power} operations: between {fewest:.0f} and {most:.0f}.",
        smallest=smallest,
        largest=largest,
        fewest=float(ratios.min()),
        most=float(ratios.max()),
    )
