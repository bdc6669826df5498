"""The experiments of the page on scaling."""

import json

import numpy as np
from tfcore.figures.training.compute_budget import extra_loss_figure, lifetime_figure

from tfcore.analysis.model.flop_count import rule_errors
from tfcore.analysis.training.compute_budget import (
    at_ratio,
    at_size,
    iso_flops,
    lifetime,
    optimum,
    over_training,
    splits,
)
from tfcore.analysis.training.known_models import MODELS
from tfcore.analysis.training.law_curves import Against, law_curves, shares
from tfcore.analysis.training.scaling_laws import (
    KAPLAN,
    KAPLAN_COMPUTE,
    KAPLAN_SPLIT,
    LAWS,
    Law,
    LawName,
    as_written,
    refitted,
)
from tfcore.analysis.training.training_cost import HARDWARE, Plan, training_cost
from tfcore.figures.theme import Figure
from tfcore.figures.training.known_models import plane_figure
from tfcore.figures.training.ladder import ladder_figure
from tfcore.figures.training.scaling import iso_flops_figure, law_figure, ratios_figure
from tfcore.figures.training.training_cost import days_figure, rule_figure
from tfcore.presets import PRESETS
from tfcore.training.ladder import SHIPPED, read_table


def budget(flops: float, law_name: LawName, budgets: list[float]) -> Figure:
    """How a budget is best spent: parameters and tokens of the lowest loss (arXiv:2203.15556, equation 4)."""
    law = LAWS[law_name]
    best = optimum(law, flops)
    print(f"{flops:.3g} operations: {best.n:.3g} parameters on {best.d:.3g} tokens, loss {best.loss:.3f} nats")
    # What the advice of 2020 would have bought.
    kaplan = at_size(law, flops, KAPLAN_SPLIT.size(flops))
    print(f"by Kaplan's split: {kaplan.n:.3g} parameters on {kaplan.d:.3g} tokens, loss {kaplan.loss:.3f} nats")
    curves = iso_flops(law, [flops, *budgets], np.logspace(6.5, 13.5, 85))
    way = [optimum(law, 10.0**power) for power in np.arange(14.0, 30.1, 0.5)]

    return iso_flops_figure(curves, 0, kaplan, way, height=470)


def ratios(flops: float) -> Figure:
    """Tokens per parameter that each rule asks for."""
    for rule in splits(np.array([flops])):
        print(f"{rule.name}: {rule.ratio[0]:.3g} tokens per parameter at {flops:.3g} operations")

    return ratios_figure(splits(np.logspace(17.0, 28.0, 45)), flops, height=440)


def law(law_name: LawName, against: Against, n: float, d: float, above_floor: bool) -> Figure:
    """A published law as curves, and what the loss of one model is made of."""
    found = shares(LAWS[law_name], n, d)
    print(f"{n:.3g} parameters on {d:.3g} tokens: {found.loss:.3f} nats per token")
    print(f"floor {found.floor:.2f}, size is short by {found.size:.3f}, data by {found.data:.3f}")
    x = {"size": n, "data": d, "compute": 6 * n * d}[against]

    return law_figure(law_curves(LAWS[law_name], against), x, found.loss, height=450, above_floor=above_floor)


def kaplan(against: Against, n: float, d: float, above_floor: bool) -> Figure:
    """Kaplan's law as curves (arXiv:2001.08361, equations 1.3 and 1.5)."""
    found = shares(KAPLAN, n, d)
    # Against compute it is a law of its own, for the best size of every budget, half of what is spent.
    loss = KAPLAN_COMPUTE.loss(3 * n * d) if against == "compute" else found.loss
    print(f"{n:.3g} parameters on {d:.3g} tokens: {loss:.3f} nats per token")
    x = {"size": n, "data": d, "compute": 3 * n * d}[against]

    return law_figure(law_curves(KAPLAN, against), x, loss, height=450, above_floor=above_floor)


def models(names: list[str], chosen: str) -> Figure:
    """Published models by size and text, beside the best way to spend each budget."""
    shown = [model for model in MODELS if model.name in names and model.tokens]
    for model in shown:
        print(f"{model.name} ({model.year:.0f}): {model.ratio:,.1f} tokens per parameter, {model.flops:.2g} operations")
    way = [optimum(LAWS["refit"], 10.0**power) for power in np.arange(14.0, 30.1, 0.5)]

    return plane_figure(shown, way, chosen, height=520)


def cost(plan: Plan) -> Figure:
    """What a training costs: days, money and energy, from 6 N D operations."""
    found = training_cost(plan)
    print(f"{found.flops:.3g} operations, {found.hours:,.0f} accelerator hours, {found.days:,.1f} days")
    print(f"${found.dollars:,.0f}, {found.kwh:,.0f} kWh")
    peak = HARDWARE[plan.hardware].peak
    hours = {key: found.hours * peak / hardware.peak for key, hardware in HARDWARE.items()}

    return days_figure(hours, plan.hardware, plan.count, height=400)


def rule(presets: dict[str, str], seq: int) -> Figure:
    """How far off 6 N D is: every product counted, model by model."""
    errors = rule_errors({name: PRESETS[preset]() for name, preset in presets.items()}, seq)
    for name, error in errors.items():
        print(f"{name}: {error.of_all:.3f} times 6 N D, {error.without_embeddings:.3f} without embeddings in N")

    return rule_figure(errors, seq, height=400)


def beyond(law_name: LawName, flops: float, ratio: float) -> Figure:
    """A smaller model on more tokens than is best: what it loses, and when it pays."""
    found = over_training(LAWS[law_name], flops, ratio)
    print(f"same budget: {found.same_budget.n:.3g} parameters, {found.extra_loss:+.4f} nats")
    print(f"same loss: {found.same_loss.n:.3g} parameters, {found.same_loss.flops / flops:.2f} times the operations")
    print(f"which pays after {found.pays_after:.3g} inference tokens")
    ratios = np.logspace(0, 4.5, 73)
    extra = np.array([at_ratio(LAWS[law_name], flops, float(one)).loss for one in ratios]) - found.best.loss

    return extra_loss_figure(ratios, extra, found.best.ratio, ratio, found.extra_loss, height=360)


def whole_life(law_name: LawName, flops: float, served: float, ratio: float) -> Figure:
    """Training and use together, all at one loss: where it is cheapest."""
    life = lifetime(LAWS[law_name], optimum(LAWS[law_name], flops).loss, served, np.logspace(0, 4.5, 73))
    best = life.cheapest
    print(f"cheapest at {life.ratio[best]:,.0f} tokens per parameter, {life.n[best]:.3g} parameters")

    return lifetime_figure(life, ratio, height=360)


def ladder(sizes: int | None) -> Figure:
    """Small models trained alike and the law fitted to the smallest: does it foretell the larger ones?"""
    # One row for each model that `python -m tfcore.training ladder-scaling` trained; the law beside them was written
    # down before the largest was.
    rows, kept = read_table(SHIPPED / "scaling.csv"), json.loads((SHIPPED / "scaling.json").read_text("utf-8"))
    law = Law(**kept["law"])
    found = as_written(rows, law, kept["predicted"]) if sizes is None else refitted(rows, sizes, near=law)
    for n, d, said, loss in zip(found.n, found.d, found.said, found.loss, strict=True):
        print(f"{n:9,.0f} parameters, {d:9,.0f} tokens: {loss:.4f} nats, the law says {said:.4f}")
    print(f"predicted within {abs(found.residual[found.foretold]).max():.2%}")

    return ladder_figure(found, height=430)
