"""The experiments of the page on scaling."""

import json
from collections.abc import Mapping

from tfcore.analysis.training import over_training
from tfcore.analysis.training.compute_budget import SIZES, budget_split, iso_flops, optima, optimum, rule_ratios, splits
from tfcore.analysis.training.known_models import MODELS, ratio_range, size_range
from tfcore.analysis.training.ladder_fit import LadderFit, as_written, ladder_errors, largest_rung, refitted
from tfcore.analysis.training.law_curves import Against, law_curves, loss_parts, operations
from tfcore.analysis.training.over_training import RATIOS, cheapest_lifetime, extra_loss, extra_losses, lifetime
from tfcore.analysis.training.training_cost import Plan, furthest_from_rule, planned_cost
from tfcore.figures.shown import Shown
from tfcore.figures.training.known_models import plane_figure, years_figure
from tfcore.figures.training.ladder import ladder_figure, residuals_figure
from tfcore.figures.training.over_training import extra_loss_figure, lifetime_figure
from tfcore.figures.training.scaling import iso_flops_figure, law_figure, ratios_figure
from tfcore.figures.training.training_cost import days_figure, rule_figure
from tfcore.measures.flop_count import RuleError, rule_errors
from tfcore.measures.scaling_laws import LAWS, AnyLawName, Law, LawName, named_law
from tfcore.presets import PRESETS
from tfcore.training import ladder


def budget(flops: float, law_name: LawName, budgets: list[float]) -> Shown:
    """How a budget is best spent: parameters and tokens of the lowest loss (arXiv:2203.15556, equation 4)."""
    found = budget_split(LAWS[law_name], flops)
    curves = iso_flops(LAWS[law_name], [flops, *budgets], SIZES)
    return Shown(iso_flops_figure(curves, 0, found.kaplan, optima(LAWS[law_name]), height=470), (found,))


def ratios(flops: float, budgets: list[float]) -> Shown:
    """Tokens per parameter that each rule asks for."""
    return Shown(ratios_figure(splits(budgets), flops, height=440), (rule_ratios(flops),))


def law(law_name: AnyLawName, against: Against, n: float, d: float, above_floor: bool) -> Shown:
    """A published law as curves, and what the loss of one model is made of."""
    chosen = named_law(law_name)
    found = loss_parts(chosen, n, d, against)
    x = {"size": n, "data": d, "compute": operations(chosen, n, d)}[against]
    figure = law_figure(law_curves(chosen, against), x, found.loss, height=450, above_floor=above_floor)
    return Shown(figure, (found,))


def models(names: list[str], chosen: str) -> Shown:
    """Published models by size and text, beside the best way to spend each budget."""
    listed = [model for model in MODELS if model.name in names and model.tokens]
    return Shown(plane_figure(listed, optima(LAWS["refit"]), chosen, height=520), (ratio_range(listed),))


def years(names: list[str], ours: Mapping[str, int], chosen: str, until: float) -> Shown:
    """Parameters of published models over the years, and of the models that ship with this software."""
    listed = [model for model in MODELS if model.name in names]
    return Shown(years_figure(listed, ours, chosen, until, height=520), (size_range(listed),))


def cost(plan: Plan) -> Shown:
    """What a training costs: days, money and energy, from 6 N D operations."""
    found = planned_cost(plan)
    return Shown(days_figure(found.days, plan.hardware, plan.count, height=400), (found,))


def count_errors(presets: dict[str, str], seq: int) -> dict[str, RuleError]:
    """The exact count of operations over 6 N D, for presets under the names that are shown."""
    return rule_errors({name: PRESETS[preset]() for name, preset in presets.items()}, seq)


def rule(errors: Mapping[str, RuleError], seq: int) -> Shown:
    """How far off 6 N D is: every product counted, model by model."""
    return Shown(rule_figure(errors, seq, height=400), (furthest_from_rule(errors, seq),))


def beyond(law_name: LawName, flops: float, ratio: float) -> Shown:
    """Other tokens per parameter than the compute-optimal ones: what they lose, and when they pay."""
    found = over_training.over_training(LAWS[law_name], flops, ratio)
    extra = extra_losses(LAWS[law_name], flops, RATIOS)
    figure = extra_loss_figure(RATIOS, extra, found.best.ratio, ratio, found.extra_loss, height=360)
    return Shown(figure, (extra_loss(found), found))


def whole_life(law_name: LawName, flops: float, served: float, ratio: float) -> Shown:
    """Training and inference together, all at one loss: where they are cheapest."""
    life = lifetime(LAWS[law_name], optimum(LAWS[law_name], flops).loss, served, RATIOS)
    return Shown(lifetime_figure(life, ratio, height=360), (cheapest_lifetime(life),))


def fitted(sizes: int | None) -> LadderFit:
    """The law fitted to the smallest sizes of our ladder; None is the law as it was written down.

    One row for each model that `python -m tfcore.training ladder-scaling` trained; the law beside them was written down
    before the largest was.
    """
    rows = ladder.read_table(ladder.SHIPPED / "scaling.csv")
    written = json.loads((ladder.SHIPPED / "scaling.json").read_text("utf-8"))
    law = Law(**written["law"])
    return as_written(rows, law, written["predicted"]) if sizes is None else refitted(rows, sizes, near=law)


def rungs(fit: LadderFit) -> Shown:
    """Small models trained alike and the law fitted to the smallest: does it predict the larger ones?"""
    return Shown(ladder_figure(fit, height=430), (largest_rung(fit),))


def residuals(fit: LadderFit) -> Shown:
    """Small models trained alike and the law fitted to the smallest: how far is each from the law?"""
    return Shown(residuals_figure(fit, height=240), (ladder_errors(fit),))
