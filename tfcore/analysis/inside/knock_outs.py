"""Findings on knock-outs, see tfcore.measures.knock_outs: the largest effect, and how many are exact."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.measures.interventions import Part, part_title
from tfcore.measures.knock_outs import SMALL, without_rounding


@dataclass(frozen=True, slots=True)
class FilledIn(Finding):
    """How many layers have exact effects, and that the others have estimates."""

    exact: int
    layers: int

    @property
    def sentence(self) -> str:
        if self.exact == self.layers:
            return "All effects are exact."
        by = "estimates by attribution patching (arXiv:2310.10348)"
        if not self.exact:
            return f"All effects are {by}, pale; exact ones are to come."
        return f"Exact in {self.exact} of {self.layers} layers; pale: {by}."


def filled_in(missing: Bool[ndarray, "layer part"]) -> FilledIn:
    """From which effects are still estimates."""
    return FilledIn(int((~missing.any(1)).sum()), len(missing))


@dataclass(frozen=True, slots=True)
class LargestEffect(Finding):
    """The part whose ablation makes a quantity fall most, and how many hardly matter.

    Args:
        start: how the effects were found, of what, as in "Zero ablation of each part alone".
        of: what falls, as in "log-probability of “ he” at the end".
        unit: of the effects.
        part, effect: the part with the largest effect.
        lowest_part, lowest: the part with the lowest, whose ablation makes the quantity rise if it is below 0.
        small, parts: how many parts change the quantity by less than `SMALL`, of how many.
    """

    start: str
    of: str
    unit: str
    part: str
    effect: float
    lowest_part: str
    lowest: float
    small: int
    parts: int

    @property
    def sentence(self) -> str:
        rises = f"; lowest: {self.lowest_part}, {self.lowest:+.2f}" if self.lowest <= -SMALL else ""
        return (
            f"{self.start}: fall of the {self.of}, in {self.unit}. Most: {self.part}, {self.effect:+.2f}{rises}; "
            f"{self.small} of {self.parts} change it by less than {SMALL}."
        )


def largest_effect(
    effects: Float[ndarray, "layer part"], parts: Sequence[Sequence[Part]], start: str, of: str, unit: str
) -> LargestEffect:
    """The largest and the lowest effect of all parts; NaN is no effect."""
    effects = without_rounding(effects)
    known = effects[~np.isnan(effects)]
    ends = (np.unravel_index(at, effects.shape) for at in (np.nanargmax(effects), np.nanargmin(effects)))
    names = [part_title(parts[int(layer)][int(column)]) for layer, column in ends]
    return LargestEffect(
        start=start,
        of=of,
        unit=unit,
        part=names[0],
        effect=float(known.max()),
        lowest_part=names[1],
        lowest=float(known.min()),
        small=int((np.abs(known) < SMALL).sum()),
        parts=len(known),
    )
