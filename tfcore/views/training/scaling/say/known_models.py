"""The words for published models."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.measures.quantities import power, round_count
from tfcore.measures.scaling_laws import LAWS
from tfcore.views.finding import Finding
from tfcore.views.training.scaling.measure.compute_budget import Training, optimum
from tfcore.views.training.scaling.measure.known_models import MODELS, KnownModel
from tfcore.views.training.scaling.say.compute_budget import tokens_per_parameter


@dataclass(frozen=True, slots=True)
class ModelFacts(Finding):
    """What is known of one model, and how its budget is best spent by the refitted law.

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
    """Of the model of this name in MODELS."""
    model = next(model for model in MODELS if model.name == name)
    return ModelFacts(model, optimum(LAWS["refit"], model.flops) if model.flops else None)


@dataclass(frozen=True, slots=True)
class RatioRange(Finding):
    """Tokens per parameter of models whose tokens are known.

    Args:
        models: how many.
        at_twenty: how many of them have 20 tokens per parameter or more.
        fewest, most: the model with the fewest tokens per parameter and that with the most, and how many these are.
    """

    models: int
    at_twenty: int
    fewest: tuple[str, float]
    most: tuple[str, float]

    @property
    def sentence(self) -> str:
        (low, few), (high, many) = self.fewest, self.most
        return (
            f"{self.models} models: {self.at_twenty} of {self.models} read 20 tokens per parameter or more; from "
            f"{low} with {tokens_per_parameter(few)} to {high} with {tokens_per_parameter(many)}."
        )


def ratio_range(models: Sequence[KnownModel]) -> RatioRange:
    """Of one model or more; those whose tokens are not known are left out."""
    ratios = {model.name: model.ratio for model in models if model.ratio is not None}
    fewest, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    at_twenty = sum(ratio >= 20 for ratio in ratios.values())
    return RatioRange(len(ratios), at_twenty, (fewest, ratios[fewest]), (most, ratios[most]))


@dataclass(frozen=True, slots=True)
class SizeRange(Finding):
    """Parameters of models, all experts counted.

    Args:
        models: how many.
        smallest, largest: name and parameters.
    """

    models: int
    smallest: tuple[str, float]
    largest: tuple[str, float]

    @property
    def sentence(self) -> str:
        (small, few), (large, many) = self.smallest, self.largest
        return f"{self.models} models, from {small} with {round_count(few)} to {large} with {round_count(many)}."


def size_range(models: Sequence[KnownModel]) -> SizeRange:
    """Of one model or more."""
    sizes = {model.name: model.parameters for model in models}
    small, large = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    return SizeRange(len(sizes), (small, sizes[small]), (large, sizes[large]))
