"""The words for what a training costs."""

from collections.abc import Mapping
from dataclasses import dataclass

from tfcore.measures.flop_count import RuleError
from tfcore.measures.quantities import power, round_count
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.training.scaling.measure.training_cost import HARDWARE, ORDINARY, RUNS, Cost, Plan, training_cost


def reached_peak() -> Statement:
    """The lowest and the highest share of the peak among RUNS."""
    shares = [run.mfu for run in RUNS]
    return state(
        "reached peak",
        "The peak is never reached: the published runs in the table above come out at {lowest:.0%} to {highest:.0%} of "
        "it (MFU).",
        lowest=min(shares),
        highest=max(shares),
    )


def duration(days: float) -> str:
    """A time in years, days, hours or minutes: the largest unit of which there are two or more."""
    for size, unit in ((365.25, "years"), (1.0, "days"), (1 / 24, "hours")):
        if days >= 2 * size:
            return f"{days / size:,.0f} {unit}" if days >= 10 * size else f"{days / size:.1f} {unit}"
    return f"{days * 24 * 60:,.0f} minutes"


def energy(kwh: float) -> str:
    """An energy in kWh, MWh or GWh."""
    for size, unit in ((1e6, "GWh"), (1e3, "MWh")):
        if kwh >= size:
            return f"{kwh / size:,.1f} {unit}"
    return f"{kwh:,.1f} kWh"


@dataclass(frozen=True, slots=True)
class PlannedCost(Finding):
    """The cost of a plan, and how long as many accelerators of each kind would take.

    Args:
        plan: what is trained, and on what.
        cost: what that takes.
        days: by key of HARDWARE, all at the plan's share of their peak.
    """

    plan: Plan
    cost: Cost
    days: Mapping[str, float]

    @property
    def numbers(self) -> tuple[tuple[str, str], ...]:
        """Time, accelerator hours, money and energy, each with what it follows from."""
        plan, cost, hardware = self.plan, self.cost, HARDWARE[self.plan.hardware]
        return (
            (duration(cost.days), f"{plan.count:,} × {hardware.name}"),
            (round_count(cost.hours), f"{power(cost.flops)} operations"),
            (f"${round_count(cost.dollars)}", f"${plan.price:.2f} per hour"),
            (energy(cost.kwh), f"{hardware.watts:,.0f} W each, PUE {plan.pue:.2f}"),
        )

    @property
    def sentence(self) -> str:
        plan, cost = self.plan, self.cost
        each = "; ".join(f"{HARDWARE[key].name} {duration(days)}" for key, days in self.days.items())
        return (
            f"{power(cost.flops)} operations at {plan.mfu:.0%} of the peak. With {plan.count:,}: {each}. With "
            f"{HARDWARE[plan.hardware].name}: {round_count(cost.hours)} accelerator hours, "
            f"${round_count(cost.dollars)}, {energy(cost.kwh)}."
        )


def planned_cost(plan: Plan) -> PlannedCost:
    """The cost of a plan, and the time it would take on the other accelerators."""
    cost, peak = training_cost(plan), HARDWARE[plan.hardware].peak
    return PlannedCost(plan, cost, {key: cost.days * peak / other.peak for key, other in HARDWARE.items()})


def one_gpu(flops: float) -> Statement:
    """How long one H100 takes for a budget of so many operations, at ORDINARY of its peak."""
    days = flops / (HARDWARE["h100"].peak * ORDINARY) / (24 * 3600)
    return state(
        "one GPU",
        "{flops:power} operations: {time} of one H100 at {share:percent} of its peak.",
        flops=flops,
        time=duration(days),
        share=ORDINARY,
    )


def furthest_from_rule(errors: Mapping[str, RuleError], seq: int) -> Statement:
    """State which model's exact count of operations is furthest from 6 N D, above or below."""
    model = max(errors, key=lambda name: abs(errors[name].of_all - 1))
    return state(
        "furthest from the rule",
        "Of {models} models on sequences of {seq:,} tokens, {model} is furthest, {times:.2f} times with embeddings in "
        "N.",
        models=len(errors),
        seq=seq,
        model=model,
        times=errors[model].of_all,
    )
