"""The words for published models."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.measures.quantities import power, round_count
from tfcore.measures.scaling_laws import LAWS
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.training.scaling.measure.compute_budget import Training, optimum
from tfcore.views.training.scaling.measure.known_models import MODELS, KnownModel
from tfcore.views.training.scaling.say.compute_budget import tokens_per_parameter


@dataclass(frozen=True, slots=True)
class ModelFacts(Finding):
    """Facts of one model, and how its budget is best spent by the refitted law.

    Args:
        model: as its makers describe it.
        best: the compute-optimal training of its budget; None where its tokens are not known.
    """

    model: KnownModel
    best: Training | None

    @property
    def sentence(self) -> str:
        model, best = self.model, self.best
        size = f"**{model.name}**: {round_count(model.parameters)} parameters"
        size += f", {round_count(model.active)} active per token" if model.active else ""
        if best is None or not model.tokens:
            return f"{size}; its tokens are not given. {model.source}"
        return (
            f"{size}, {round_count(model.tokens)} tokens, **{tokens_per_parameter(model.tokens / model.used)}** per "
            f"parameter, {power(best.flops)} operations. {model.source}. By the refitted law that budget is best spent "
            f"on {round_count(best.n)} parameters and {round_count(best.d)} tokens."
        )


def model_facts(name: str) -> ModelFacts:
    """The facts of the model of this name in MODELS."""
    model = next(model for model in MODELS if model.name == name)
    return ModelFacts(model, optimum(LAWS["refit"], model.flops) if model.flops else None)


def ratio_range(models: Sequence[KnownModel]) -> Statement:
    """Tokens per parameter of one model or more; those whose tokens are not known are left out."""
    ratios = {model.name: model.ratio for model in models if model.ratio is not None}
    fewest, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    return state(
        "ratio range",
        "{models} models: {many} of {models} read 20 tokens per parameter or more; from {fewest} with {few} to {most} "
        "with {high}.",
        models=len(ratios),
        many=sum(ratio >= 20 for ratio in ratios.values()),
        fewest=fewest,
        few=tokens_per_parameter(ratios[fewest]),
        most=most,
        high=tokens_per_parameter(ratios[most]),
    )


def size_range(models: Sequence[KnownModel]) -> Statement:
    """Parameters of one model or more, all experts counted."""
    sizes = {model.name: model.parameters for model in models}
    small, large = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    return state(
        "size range",
        "{models} models, from {small} with {fewest} to {large} with {most}.",
        models=len(sizes),
        small=small,
        fewest=round_count(sizes[small]),
        large=large,
        most=round_count(sizes[large]),
    )
