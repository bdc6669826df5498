"""Effects over a set of prompts as means with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.inspection.capture import sublayer
from tfcore.measures.interventions import Part, parts_of, titles_of
from tfcore.measures.statistics import student_interval
from tfcore.model import Transformer
from tfcore.views.inside.interventions.measure.prompt_sets import EXACT, ExactEffects, PromptEffects, largest_parts
from tfcore.views.inside.interventions.measure.prompt_tables import LEAST_PROMPTS

LEVEL = 0.95  # of the intervals


@dataclass(frozen=True, slots=True)
class Means:
    """Means over the prompts, and the ends of their intervals; one shape.

    Args:
        mean, low, high: in logits.
    """

    mean: Float[ndarray, "..."]
    low: Float[ndarray, "..."]
    high: Float[ndarray, "..."]

    @property
    def unsure(self) -> Bool[ndarray, "..."]:
        """Whether each interval includes 0."""
        return (self.low <= 0) & (self.high >= 0)

    @property
    def columns(self) -> dict[str, Float[ndarray, " entry"]]:
        """The means as columns of a table."""
        return {"mean": self.mean.ravel(), "low": self.low.ravel(), "high": self.high.ravel()}


def means_of(values: Float[ndarray, "prompt ..."], level: float = LEVEL) -> Means:
    """The mean over the prompts, with Student's interval.

    Raises:
        ValueError: fewer than two prompts.
    """
    if len(values) < LEAST_PROMPTS:
        raise ValueError(f"an interval needs at least {LEAST_PROMPTS} prompts, and there is {len(values)}")
    return Means(*student_interval(values, level))


class BoardMeans(NamedTuple):
    """Means of the fields of a board, and which of them are of exact effects; the others are of estimates."""

    means: Means
    exact: Bool[ndarray, "layer column"]

    @property
    def how(self) -> str:
        """How many fields are exact, in words."""
        if self.exact.all() or not self.exact.any():
            return "exact" if self.exact.all() else "estimated"
        return f"exact for {self.exact.sum()} of {self.exact.size} outputs, estimated for the others"


def board_means(effects: Sequence[PromptEffects | ExactEffects], patched: bool) -> BoardMeans:
    """Means of the estimates of all parts, (layer, part), or of the effects of patching, (layer, kind): the exact ones
    of a field as soon as two prompts have theirs."""
    first = [one for one in effects if isinstance(one, PromptEffects)]
    estimates = means_of(np.stack([one.patched if patched else one.estimate for one in first]))
    exact = [one.patched for one in effects if isinstance(one, ExactEffects)]
    if not patched or len(exact) < LEAST_PROMPTS:
        return BoardMeans(estimates, np.zeros(estimates.mean.shape, dtype=bool))
    known = means_of(np.stack(exact))
    there = ~np.isnan(known.mean)
    pairs = ((known.mean, estimates.mean), (known.low, estimates.low), (known.high, estimates.high))
    return BoardMeans(Means(*(np.where(there, one, other) for one, other in pairs)), there)


def board_names(model: Transformer, patched: bool) -> list[list[str]]:
    """Names of the fields of `board_means`."""
    config = model.config
    if patched:
        return [[f"{sublayer(config, i)} {i}", f"feed-forward {i}"] for i in range(config.n_layers)]
    return titles_of(parts_of(config))


class PartValues(NamedTuple):
    """Effects of the largest parts on each prompt, the largest mean by size first; exact, or estimates."""

    parts: tuple[Part, ...]
    values: Float[ndarray, "prompt part"]
    exact: bool

    @property
    def means(self) -> Means:
        """The mean of each part over the prompts."""
        return means_of(self.values)


def part_values(model: Transformer, effects: Sequence[PromptEffects | ExactEffects]) -> PartValues:
    """The values of each part from what there is of `measure_set`: exact effects as soon as two prompts have theirs,
    estimates until then."""
    exact = [one for one in effects if isinstance(one, ExactEffects)]
    if is_exact := len(exact) >= LEAST_PROMPTS:
        parts, values = exact[0].parts, np.stack([one.effects for one in exact])
    else:
        estimates = np.stack([one.estimate for one in effects if isinstance(one, PromptEffects)])
        parts, every = largest_parts(model, estimates, EXACT), parts_of(model.config)
        values = np.stack([estimates[:, part.layer, every[part.layer].index(part)] for part in parts], 1)
    order = np.argsort(-np.abs(values.mean(0)), kind="stable")
    return PartValues(tuple(parts[place] for place in order), values[:, order], is_exact)
