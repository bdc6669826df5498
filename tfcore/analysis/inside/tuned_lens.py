"""The tuned lens beside the logit lens: how near each comes to the model's own prediction, stage by stage."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.logit_lens import EMBEDDED, lens_logits, stage_states
from tfcore.analysis.inside.residual_stream import stage_names, stages
from tfcore.inspection.tuned_lens import TunedLens
from tfcore.measures.quantities import counted
from tfcore.measures.token_text import visible
from tfcore.model import Transformer

LISTED = 9  # stages up to which a sentence gives the divergence after each


def tuned_lens_logits(
    model: Transformer, lens: TunedLens, stage: str, x: Float[Tensor, "*batch d_model"]
) -> Float[Tensor, "*batch vocab"]:
    """TunedLens(x) = LogitLens(A x + b), with the translator of the stage (arXiv:2303.08112, section 3)."""
    return lens_logits(model, lens(stage, x))


def divergence(final: Float[Tensor, "*batch vocab"], read: Float[Tensor, "*batch vocab"]) -> Float[Tensor, "*batch"]:
    """KL(final || read) = sum_v p_final(v) (ln p_final(v) - ln p_read(v)), in nats, of two sets of logits: 0 where both
    predict the same."""
    log_final, log_read = final.float().log_softmax(-1), read.float().log_softmax(-1)
    return F.kl_div(log_read, log_final, log_target=True, reduction="none").sum(-1)


@dataclass(frozen=True, slots=True)
class LensComparison:
    """Both lenses at every stage and position of a text.

    Args:
        stages: names of the stream's states.
        logit, tuned: KL divergence of the model's prediction from what each lens reads, nats.
        logit_best, tuned_best: ids of the top predictions.
    """

    stages: tuple[str, ...]
    logit: Float[ndarray, "stage seq"]
    tuned: Float[ndarray, "stage seq"]
    logit_best: Int[ndarray, "stage seq"]
    tuned_best: Int[ndarray, "stage seq"]


@torch.no_grad()
def compare_lenses(model: Transformer, lens: TunedLens, ids: Sequence[int]) -> LensComparison:
    """Read every state of a text by both lenses; errors as of logit_lens."""
    names, states = stages(model.config), stage_states(model, ids)
    final = lens_logits(model, states[-1])
    rows = []
    for name, x in zip(names, states, strict=True):  # one by one: all logits at once would be stage * seq * vocab
        plain, tuned = lens_logits(model, x), tuned_lens_logits(model, lens, name, x)
        rows.append((divergence(final, plain), divergence(final, tuned), plain.argmax(1), tuned.argmax(1)))
    return LensComparison(names, *(torch.stack(part).cpu().numpy() for part in zip(*rows, strict=True)))


def mean_divergences(
    model: Transformer, lens: TunedLens, texts: Iterable[Sequence[int]]
) -> tuple[int, Float[ndarray, " stage"], Float[ndarray, " stage"]]:
    """(tokens, by the logit lens, by the tuned lens): the mean KL divergence at each stage over all tokens of texts."""
    found = [compare_lenses(model, lens, ids) for ids in texts]
    logit, tuned = (np.concatenate([getattr(one, kind) for one in found], axis=1) for kind in ("logit", "tuned"))
    return logit.shape[1], logit.mean(1), tuned.mean(1)


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
