"""The tuned lens beside the logit lens: how near each comes to the model's own prediction, stage by stage."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.logit_lens import EMBEDDED
from tfcore.measures.lenses import LensComparison, stage_names
from tfcore.measures.quantities import counted
from tfcore.measures.token_text import visible

LISTED = 9  # stages up to which a sentence gives the divergence after each


# ---- findings ----


@dataclass(frozen=True, slots=True)
class LensDivergence(Finding):
    """The mean KL divergence at each stage, by either lens.

    Args:
        stages: their short names.
        logit, tuned: nats, mean over the positions.
        positions: of the text.
    """

    stages: tuple[str, ...]
    logit: tuple[float, ...]
    tuned: tuple[float, ...]
    positions: int

    @property
    def sentence(self) -> str:
        every = -(-len(self.stages) // LISTED)
        shown = list(zip(self.stages, self.logit, self.tuned, strict=True))[::-every][::-1]
        named = ", ".join(f"{stage} {logit:.2f} and {tuned:.2f}" for stage, logit, tuned in shown)
        return (
            "Mean KL divergence from the model's own predictions, in nats, by the logit lens and by the tuned lens: "
            f"{named}; over {counted(self.positions, 'position')}."
        )


def lens_divergence(found: LensComparison) -> LensDivergence:
    """Means over the positions of a text."""
    logit, tuned = (tuple(values.mean(1).tolist()) for values in (found.logit, found.tuned))
    return LensDivergence(tuple(stage_names(found.stages)), logit, tuned, found.logit.shape[1])


@dataclass(frozen=True, slots=True)
class LeadsFrom(Finding):
    """From which stage on the model's own prediction after one position leads, by either lens.

    Args:
        token: the prediction.
        position: of the text.
        logit, tuned: short names of the first stage from which it leads at every later stage, too.
    """

    token: str
    position: int
    logit: str
    tuned: str

    @property
    def sentence(self) -> str:
        start = f"The model's prediction after position {self.position}, '{visible(self.token)}', leads"
        logit, tuned = ("the embedding" if stage == EMBEDDED else stage for stage in (self.logit, self.tuned))
        if logit == tuned:
            return f"{start} from {logit} on by either lens."
        return f"{start} from {logit} on by the logit lens, from {tuned} on by the tuned lens."


def leads_from(found: LensComparison, position: int, token: str) -> LeadsFrom:
    """Of the model's top prediction after a position, whose text is `token`."""
    names = stage_names(found.stages)

    def first(best: Int[ndarray, "stage seq"]) -> str:
        others = np.flatnonzero(best[:, position] != best[-1, position])
        return names[int(others[-1]) + 1 if len(others) else 0]

    return LeadsFrom(token, position, first(found.logit_best), first(found.tuned_best))
