"""Scaling: how a budget is best spent, laws as curves, published models, what a training costs, and our own ladder."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from tfcore.loading.checkpoints import shipped
from tfcore.measures import flop_count, scaling_laws
from tfcore.measures.flop_count import RuleError
from tfcore.measures.parameter_count import parameters
from tfcore.measures.quantities import power, round_count
from tfcore.measures.scaling_laws import LAWS, AnyLawName, KaplanLaw, Law, LawName, named_law
from tfcore.presets import PRESETS
from tfcore.training.recipes import ladder_scaling
from tfcore.views.finding import state
from tfcore.views.kept import kept
from tfcore.views.sources import opened
from tfcore.views.training.scaling.draw.known_models import plane_figure, years_figure
from tfcore.views.training.scaling.draw.ladder import ladder_figure, residuals_figure
from tfcore.views.training.scaling.draw.over_training import extra_loss_figure, lifetime_figure
from tfcore.views.training.scaling.draw.scaling import iso_flops_figure, law_figure, ratios_figure
from tfcore.views.training.scaling.draw.training_cost import days_figure, rule_figure
from tfcore.views.training.scaling.measure import ladder_fit, law_curves, over_training, training_cost
from tfcore.views.training.scaling.measure.compute_budget import SIZES, iso_flops, optima, optimum, splits
from tfcore.views.training.scaling.measure.known_models import Kind, KnownModel, select
from tfcore.views.training.scaling.measure.ladder_fit import LadderFit
from tfcore.views.training.scaling.measure.law_curves import Against, LawCurves, operations
from tfcore.views.training.scaling.measure.over_training import RATIOS, extra_losses, lifetime
from tfcore.views.training.scaling.measure.training_cost import HARDWARE, Plan
from tfcore.views.training.scaling.say import over_training as say_over_training
from tfcore.views.training.scaling.say.compute_budget import budget_split, rule_ratios, tokens_per_parameter
from tfcore.views.training.scaling.say.known_models import ratio_range, size_range
from tfcore.views.training.scaling.say.ladder_fit import ladder_errors, largest_rung
from tfcore.views.training.scaling.say.law_curves import loss_parts
from tfcore.views.training.scaling.say.training_cost import furthest_from_rule, planned_cost
from tfcore.views.view import View, view

NAMES: dict[AnyLawName, str] = {
    "refit": "refitted 2024",
    "printed": "Chinchilla as printed",
    "unrounded": "Chinchilla unrounded",
    "kaplan": "Kaplan 2020",
}
LOWEST = 17.0  # power of ten of operations
HIGHEST = 28.0
AROUND = (1e18, 1e20, 1e22, 1e24, 1e26)  # budgets that are drawn beside the one that is asked for
LAST = 2025  # year of the youngest models that are known


# ---- a budget ----


@view
def budget(flops: float, law: LawName) -> View:
    """How a budget is best spent: parameters and tokens of the lowest loss (arXiv:2203.15556, equation 4).

    Args:
        flops: operations of the training.
        law: see scaling_laws.LAWS.
    """
    finding = budget_split(LAWS[law], flops)
    curves = iso_flops(LAWS[law], [flops, *AROUND], SIZES)
    losses = {f"loss at {power(t.flops, 2)}": values for t, values in zip(curves.best, curves.loss, strict=True)}
    drawn = "IsoFLOP curves, one budget each; left too small a model, right too few tokens. {finding}"
    return View(
        key="equal",
        title="The IsoFLOP curves",
        result=finding,
        chart=iso_flops_figure(curves, 0, finding.kaplan, optima(LAWS[law]), height=470),
        min_width=340,
        findings=(state("curves", drawn, finding=finding),),
        described=state("equal", "IsoFLOP curves: loss against size at fixed budgets. {finding}", finding=finding),
        table=lambda: pd.DataFrame({"parameters": curves.n, **losses}),
        formula=r"L(N, D) = E + \frac{A}{N^\alpha} + \frac{B}{D^\beta}, \qquad C \approx 6\,N D",
        papers="Kaplan et al., arXiv:2001.08361, whose N leaves the embeddings out; Hoffmann et al. (Chinchilla), "
        "arXiv:2203.15556; Besiroglu et al., arXiv:2404.10102; Pearce and Song, arXiv:2406.12907; Porian et al., "
        "arXiv:2406.19146.",
        code=(optimum, iso_flops),
    )


@view
def ratios(flops: float) -> View:
    """Tokens per parameter that each rule asks for, at one budget and at all others.

    Args:
        flops: operations of the training.
    """
    finding = rule_ratios(flops)
    budgets: list[float] = np.logspace(LOWEST, HIGHEST, 45).tolist()
    rules = [
        {
            "rule": rule.name,
            "parameters": round_count(rule.n[0]),
            "tokens": round_count(rule.d[0]),
            "tokens per parameter": tokens_per_parameter(rule.ratio[0]),
            "from": rule.source,
        }
        for rule in splits([flops])
    ]
    return View(
        key="ratios",
        title="The rules",
        result=finding,
        chart=ratios_figure(splits(budgets), flops, height=440),
        min_width=340,
        findings=(finding,),
        described=state("ratios", "Tokens per parameter against the budget for six rules. {finding}", finding=finding),
        table=lambda: pd.DataFrame(rules),
        code=(optimum,),
    )


# ---- the laws ----


@view
def law(law: AnyLawName, against: Against, n: float, d: float, above_floor: bool = False) -> View:
    """A published law as curves, and what the loss of one model is made of.

    Args:
        law: see scaling_laws.
        against: what the loss is drawn against.
        n, d: parameters and tokens of the model.
        above_floor: draws the loss without the part that no size and no data lower.
    """
    chosen = named_law(law)
    finding, curves = loss_parts(chosen, n, d, against), law_curves.law_curves(chosen, against)
    x = {"size": n, "data": d, "compute": operations(chosen, n, d)}[against]
    is_best = law == "kaplan" and against == "compute"
    described = "Loss against {against}, {name}: {finding}"
    return View(
        key="law",
        title="The law",
        result=finding,
        chart=law_figure(curves, x, finding.loss, height=450, above_floor=above_floor),
        min_width=350,
        findings=(state("law", "{name}: {finding}", name=NAMES[law], finding=finding),),
        described=state("curves", described, against=against, name=NAMES[law], finding=finding),
        note="Drawn is equation 1.3, for the best size of every budget C_min = C/2." if is_best else "",
        table=lambda: _law_rows(curves),
        papers="arXiv:2001.08361, equations 1.1 to 1.5; arXiv:2203.15556, equations 2 and 10; arXiv:2404.10102. Each "
        "law speaks of its own text and tokens: compare shapes between papers, not losses. Alone, Kaplan's L(N) is "
        "(8.8·10¹³ / N)^0.076 and L(D) is (5.4·10¹³ / D)^0.095; together the fit has the constants above.",
        code=(Law, KaplanLaw, law_curves.law_curves),
    )


def _law_rows(curves: LawCurves) -> pd.DataFrame:
    columns = {
        f"loss, held at {round_count(held)}": values for held, values in zip(curves.held, curves.loss, strict=True)
    }
    best = {"best": curves.best} if len(curves.best) else {}
    return pd.DataFrame({curves.against: curves.x} | columns | best)


# ---- published models ----

MODELS_FROM = (
    "Sizes and tokens as the cited source of each row rounds them; of models with experts, N is what is active per "
    "token, and 6 N D follows from that. The full line is the optimum of arXiv:2404.10102, which was fitted to dense "
    "models on another text: take it as a direction. Models whose makers do not say are left out."
)


def _ours() -> dict[str, int]:
    return {name: parameters(opened(name)[0].config).total for name in shipped()}


ours = kept(_ours, entries=1)


@view
def plane(kind: Kind | Literal["all"], until: int, least: float, chosen: str) -> View:
    """Published models by size and text, beside the best way to spend each budget.

    Args:
        kind: of the models; "all" of them.
        until: year of the last.
        least: tokens per parameter, at least.
        chosen: the name of the one that is marked.
    """
    listed = [model for model in select(kind, until, least) if model.tokens]
    finding = ratio_range(listed)
    described = "Tokens of training against parameters of published models. {finding}"
    return View(
        key="plane",
        title="Models by size and text",
        result=listed,
        chart=plane_figure(listed, optima(LAWS["refit"]), chosen, height=520),
        min_width=640,
        findings=(finding,),
        described=state("plane", described, finding=finding),
        note="Dotted: equal compute.",
        table=lambda: model_table(listed),
        formula=r"C \approx 6\,N D",
        papers=MODELS_FROM,
        code=(KnownModel, optimum),
    )


@view
def years(kind: Kind | Literal["all"], until: int, least: float, chosen: str) -> View:
    """Parameters of published models over the years, and of the models that ship with this software. See plane."""
    listed = select(kind, until, least)
    finding = size_range(listed)
    return View(
        key="years",
        title="Models by year",
        result=listed,
        chart=years_figure(listed, ours(), chosen, LAST + 1.0, height=520),
        min_width=640,
        findings=(finding,),
        described=state("years", "Parameters of published models over the years. {finding}", finding=finding),
        note="A power of ten a line. Across: the models that ship here.",
        table=lambda: model_table(listed),
        formula=r"C \approx 6\,N D",
        papers=MODELS_FROM,
        code=(KnownModel, optimum),
    )


def model_table(listed: Sequence[KnownModel]) -> pd.DataFrame:
    """Models with their numbers, the youngest first."""
    return pd.DataFrame(
        [
            {
                "model": m.name,
                "year": int(m.year),
                "parameters": round_count(m.parameters),
                "active per token": round_count(m.used),
                "tokens": round_count(m.tokens) if m.tokens else "",
                "tokens per parameter": tokens_per_parameter(m.ratio) if m.ratio else "",
                "6 N D": power(m.flops) if m.flops else "",
                "source": m.source,
            }
            for m in sorted(listed, key=lambda m: -m.year)
        ]
    )


# ---- the cost ----


@view
def cost(plan: Plan) -> View:
    """The cost of a training: days, money and energy, from 6 N D operations.

    Args:
        plan: what is trained, and on what.
    """
    finding = planned_cost(plan)
    hours = [24 * plan.count * days for days in finding.days.values()]
    return View(
        key="days",
        title="The plan",
        result=finding,
        chart=days_figure(finding.days, plan.hardware, plan.count, height=400),
        min_width=340,
        findings=(finding,),
        described=state("days", "Time against the number of accelerators. {finding}", finding=finding),
        table=lambda: pd.DataFrame({"accelerator": [one.name for one in HARDWARE.values()], "hours of all": hours}),
        formula=(
            r"C \approx 6\,N D, \qquad "
            r"\text{time} = \frac{C}{\text{accelerators} \cdot \text{peak} \cdot \text{MFU}}"
        ),
        papers="C = 6 N D: arXiv:2001.08361, section 2.1. Utilisation (MFU): arXiv:2204.02311, appendix B.",
        code=(training_cost.training_cost, Plan, flop_count.rule_errors),
    )


def _rule_errors(presets: tuple[tuple[str, str], ...], seq: int) -> dict[str, RuleError]:
    return flop_count.rule_errors({name: PRESETS[preset]() for name, preset in presets}, seq)


rule_errors = kept(_rule_errors, entries=12)


@view
def rule(presets: Mapping[str, str], seq: int) -> View:
    """How far off 6 N D is: every product counted, model by model.

    Args:
        presets: by the names that are shown.
        seq: tokens of a sequence.
    """
    errors = rule_errors(tuple(presets.items()), seq)
    finding = furthest_from_rule(errors, seq)
    counted = (
        "Forward and backward matrix products, attention over all pairs included, counted for each model. {finding}"
    )
    rows = [{"model": name, "with embeddings": e.of_all, "without": e.without_embeddings} for name, e in errors.items()]
    return View(
        key="rule",
        title="The count",
        result=errors,
        chart=rule_figure(errors, seq, height=400),
        min_width=340,
        findings=(state("counted", counted, finding=finding),),
        described=state("rule", "Exact count of operations over 6 N D. {finding}", finding=finding),
        table=lambda: pd.DataFrame(rows),
        code=(flop_count.rule_errors,),
    )


# ---- over-training ----


@view
def extra(law: LawName, flops: float, ratio: float) -> View:
    """Other tokens per parameter than the compute-optimal ones, at the same budget: what they lose.

    Args:
        law: see scaling_laws.LAWS.
        flops: operations of the training.
        ratio: tokens per parameter that are looked at.
    """
    finding = say_over_training.over_training(LAWS[law], flops, ratio)
    losses, said = extra_losses(LAWS[law], flops, RATIOS), say_over_training.extra_loss(finding)
    return View(
        key="extra",
        title="The extra loss",
        result=finding,
        chart=extra_loss_figure(RATIOS, losses, finding.best.ratio, ratio, finding.extra_loss, height=360),
        findings=(said,),
        described=state("extra", "Extra loss of one budget against tokens per parameter. {said}", said=said),
        table=lambda: pd.DataFrame({"tokens per parameter": RATIOS, "extra loss": losses}),
        formula=(
            r"\text{total} = \underbrace{6\,N D}_{\text{training}} + "
            r"\underbrace{2\,N\,T}_{T\text{ inference tokens}}"
        ),
        papers="2 N operations per inference token: arXiv:2001.08361, section 2.1. Training and inference together: "
        "arXiv:2401.00448.",
        code=(say_over_training.over_training, over_training.for_loss, over_training.lifetime),
    )


@view
def whole_life(law: LawName, flops: float, served: float, ratio: float) -> View:
    """Training and inference together, all at one loss: where they are cheapest. See extra.

    Args:
        served: tokens of inference.
    """
    life = lifetime(LAWS[law], optimum(LAWS[law], flops).loss, served, RATIOS)
    finding = say_over_training.cheapest_lifetime(life)
    columns = {"tokens per parameter": life.ratio, "parameters": life.n}
    described = "Operations of training and inference against tokens per parameter. {finding}"
    return View(
        key="life",
        title="Training and inference",
        result=life,
        chart=lifetime_figure(life, ratio, height=360),
        min_width=300,
        findings=(finding,),
        described=state("life", described, finding=finding),
        table=lambda: pd.DataFrame({**columns, "training": life.training, "inference": life.inference}),
        code=(over_training.lifetime,),
    )


# ---- our own ladder ----

fitted = kept(ladder_fit.fitted, entries=16)


@view
def rungs(sizes: int | None) -> View:
    """Small models trained alike and the law fitted to the smallest: does it predict the larger ones?

    One dot for each model that `python -m tfcore.training ladder-scaling` trained.

    Args:
        sizes: how many of the smallest; None is the law as it was written down before the largest was trained.
    """
    fit = fitted(sizes)
    finding = largest_rung(fit)
    drawn = "Curves: the law, one for each number of tokens. Dots were fitted, stars predicted. {finding}"
    described = "Held-out loss of our own models against their size, on the fitted law. {finding}"
    return View(
        key="rungs",
        title="The ladder",
        result=fit,
        chart=ladder_figure(fit, height=430),
        min_width=350,
        findings=(state("curves", drawn, finding=finding),),
        described=state("rungs", described, finding=finding),
        table=lambda: ladder_table(fit),
        formula=fit.law.latex,
        papers="The form of the law and the fit by a Huber error of log L: arXiv:2203.15556, equations 2 and 3, "
        "section D.2",
        code=(scaling_laws.fit_law, Law, ladder_fit.as_written, ladder_scaling.rungs, ladder_scaling.scaling),
    )


@view
def residuals(sizes: int | None) -> View:
    """Small models trained alike and the law fitted to the smallest: how far is each from the law? See rungs."""
    fit = fitted(sizes)
    finding = ladder_errors(fit)
    return View(
        key="residuals",
        title="The residuals",
        result=fit,
        chart=residuals_figure(fit, height=240),
        min_width=350,
        findings=(finding,),
        described=state("residuals", "Measured over predicted loss of each rung. {finding}", finding=finding),
        table=lambda: ladder_table(fit),
        code=(scaling_laws.fit_law, Law),
    )


def ladder_table(fit: LadderFit) -> pd.DataFrame:
    """Every model of the ladder beside its law."""
    return pd.DataFrame(
        {
            "parameters": fit.n.astype(int),
            "tokens": fit.d.astype(int),
            "the law says": fit.law_loss.round(4),
            "measured": fit.loss.round(4),
            "off by, %": (100 * fit.residual).round(2),
            "predicted": ["yes" if predicted else "" for predicted in fit.predicted],
        }
    )
