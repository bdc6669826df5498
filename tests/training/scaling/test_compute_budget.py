"""Splits of a budget: the closed form against a search, published rules, and what is said of them."""

import numpy as np
import pytest

from tfcore.measures.scaling_laws import LAWS
from tfcore.views.training.scaling.measure.compute_budget import (
    RULES,
    Training,
    at_ratio,
    at_size,
    budget_for,
    iso_flops,
    optima,
    optimum,
    splits,
)
from tfcore.views.training.scaling.say.compute_budget import (
    BudgetSplit,
    agreed_ratio,
    budget_split,
    rule_ratios,
    tokens_per_parameter,
)


def searched(law, flops):
    """The best of very many sizes."""
    n = np.logspace(5, 15, 200_001)
    loss = law.floor + law.a * n**-law.alpha + law.b * (flops / 6 / n) ** -law.beta
    return n[loss.argmin()], loss.min()


@pytest.mark.parametrize("flops", [1e17, 1e21, 5.76e23, 1e28])
@pytest.mark.parametrize("name", LAWS)
def test_the_closed_form_against_a_naive_search(name, flops):
    best, (n, loss) = optimum(LAWS[name], flops), searched(LAWS[name], flops)
    assert best.n == pytest.approx(n, rel=1e-4)
    assert best.loss == pytest.approx(loss, abs=1e-9)
    assert 6 * best.n * best.d == pytest.approx(flops)


def test_curves_of_equal_compute_have_their_bottom_there():
    n = np.logspace(7, 13, 601)
    found = iso_flops(LAWS["refit"], [1e20, 1e24], n)
    for values, best in zip(found.loss, found.best, strict=True):
        assert n[values.argmin()] == pytest.approx(best.n, rel=0.02)
        assert values.min() >= best.loss


@pytest.mark.parametrize("name", LAWS)
def test_the_smallest_budget_for_a_loss_is_the_way_back(name):
    best = optimum(LAWS[name], 1e22)
    back = budget_for(LAWS[name], best.loss)
    assert (back.flops, back.n, back.d) == pytest.approx((best.flops, best.n, best.d))
    with pytest.raises(ValueError, match="not above the floor"):
        budget_for(LAWS[name], LAWS[name].floor)


def test_other_splits_spend_the_same():
    law = LAWS["refit"]
    for training in (at_size(law, 1e22, 1e9), at_ratio(law, 1e22, 300.0)):
        assert 6 * training.n * training.d == pytest.approx(1e22)
        assert training.loss > optimum(law, 1e22).loss
    assert at_ratio(law, 1e22, 300.0).ratio == pytest.approx(300)


def test_the_optima_go_from_small_budgets_to_large():
    found = optima(LAWS["printed"])
    assert [found[0].flops, found[1].flops, found[-1].flops] == pytest.approx([1e14, 10**14.5, 1e30])
    assert found[16] == optimum(LAWS["printed"], 1e22)


def test_every_rule_spends_the_whole_budget():
    budgets = np.array([1e18, 1e22, 1e26])
    found = splits(budgets.tolist())
    assert [rule.name for rule in found] == list(RULES)
    for rule in found:
        assert 6 * rule.n * rule.d == pytest.approx(budgets)
        assert rule.ratio == pytest.approx(rule.d / rule.n)
    at = {rule.name: rule.ratio[1] for rule in found}
    assert at["Kaplan"] < 10 < at["Chinchilla, approach 1"] < 25
    assert at["Chinchilla, approach 3 refitted"] == pytest.approx(20, abs=1)


def test_where_the_rules_agree_is_the_range_of_three_of_them():
    ratios = [
        rule.ratio for rule in splits(np.logspace(20, 24, 9).tolist()) if rule.name.endswith(("1", "2", "refitted"))
    ]
    assert len(ratios) == 3
    found = agreed_ratio(1e20, 1e24)
    assert (found.values["fewest"], found.values["most"]) == pytest.approx((np.min(ratios), np.max(ratios)))
    assert str(found) == (
        "The rule of **20 tokens per parameter** is close to what approaches 1 and 2 of Chinchilla and the refit of "
        "approach 3 say from 10²⁰ to 10²⁴ operations: between 18 and 26."
    )


@pytest.mark.parametrize(("ratio", "words"), [(0.408, "0.408"), (18.44, "18.4"), (99.6, "100"), (1875.0, "1,875")])
def test_tokens_per_parameter_in_words(ratio, words):
    assert tokens_per_parameter(ratio) == words


def test_the_best_split_needs_less_for_the_loss_of_kaplans():
    law = LAWS["refit"]
    found = budget_split(law, 5.76e23)
    assert found.best == optimum(law, 5.76e23)
    n = 1.3e9 * (5.76e23 / (2 * 8.64e19)) ** 0.73  # arXiv:2001.08361, table 6, at twice C_min
    assert found.kaplan.n == pytest.approx(n)
    loss = 1.8172 + 482.01 / n**0.3478 + 2085.43 / (5.76e23 / 6 / n) ** 0.3658
    assert found.kaplan.loss == pytest.approx(loss)
    assert searched(law, (1 - found.saved) * 5.76e23)[1] == pytest.approx(loss, abs=1e-6)
    assert 0.6 < found.saved < 0.8


def test_what_is_said_of_a_split():
    best = Training(5.76e23, 72.2e9, 1.33e12, 1.9744)
    found = BudgetSplit(best, Training(5.76e23, 485e9, 198e9, 2.0131), 0.7)
    assert str(found) == (
        "With 5.8 × 10²³ operations the minimum is at 72.2 B parameters on 1.33 T tokens, 18.4 per parameter, loss "
        "1.974. Kaplan's split of 2020, 485 B on 198 B, ends at 2.013, which the best split reaches with 70% less."
    )
    assert found.loss == "1.974"


def test_the_ratio_of_every_rule_at_one_budget():
    each = []
    for name, (rule, _) in RULES.items():
        n = optimum(rule, 1e22).n if rule in LAWS.values() else rule.n * (1e22 / rule.flops) ** rule.exponent
        each.append(f"{name} {tokens_per_parameter(1e22 / 6 / n**2)}")
    assert str(rule_ratios(1e22)) == f"At 10²² operations: {'; '.join(each)}."


def test_whole_tokens_per_parameter_from_a_hundred_on():
    assert [tokens_per_parameter(value) for value in (99.4, 99.5)] == ["99.4", "100"]
