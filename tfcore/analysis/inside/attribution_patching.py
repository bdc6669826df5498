"""Attribution patching of one text from another, and how near estimates come to exact effects."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.patching import Kind, Pair, patched_names
from tfcore.measures.attribution_patching import first_order
from tfcore.measures.effect_metric import measured
from tfcore.measures.interventions import Part, part_title
from tfcore.measures.knock_outs import ROUNDING, without_rounding
from tfcore.measures.one_text import one_text
from tfcore.measures.statistics import correlation
from tfcore.measures.token_text import visible
from tfcore.model import Transformer


def estimate_patches(model: Transformer, both: Pair, kind: Kind) -> Float[ndarray, "row seq"]:
    """The shares of `patch_each` to first order, of every activation and position at once.

    share = (activation on the source - activation on the target) . d quantity / d activation on the target, over the
    difference of the quantity between both texts (arXiv:2310.10348, section 2): a pass over each text and one backward.
    """
    names = patched_names(model.config, kind)
    with torch.no_grad():
        source = model.activations(one_text(model, both.source), names)
    target = one_text(model, both.target)
    found = first_order(model, target, names, lambda hidden: measured(model, hidden, both.target, both.quantity))
    rows = [((source[name] - found.values[name]) * found.gradients[name]).float().sum(2) for name in names]
    mine, theirs = both.difference
    return (torch.cat(rows) / (mine - theirs)).cpu().numpy()


# ---- findings ----


@dataclass(frozen=True, slots=True)
class EstimatedShares(Finding):
    """How near the shares estimated by one backward pass come to the exact ones.

    Args:
        correlation: Pearson's, over every activation and position from the first token that differs on; None where one
            of the two is the same everywhere.
        row, token, position: of the cell that the estimate misses by most.
        estimate, exact: its shares.
    """

    correlation: float | None
    row: str
    token: str
    position: int
    estimate: float
    exact: float

    @property
    def sentence(self) -> str:
        start = "" if self.correlation is None else f"Correlation with the estimates: {self.correlation:.2f}. "
        return (
            f"{start}The estimate is farthest off for {self.row} at '{visible(self.token)}' ({self.position}): "
            f"{self.estimate:.2f}, exactly {self.exact:.2f}."
        )


def estimated_shares(
    both: Pair,
    estimate: Float[ndarray, "row seq"],
    exact: Float[ndarray, "row seq"],
    rows: Sequence[str],
    tokens: Sequence[str],
) -> EstimatedShares:
    """Compare both; `rows` are the titles of the patched activations, `tokens` those of the target."""
    first, *_ = both.differing
    row, column = (int(i) for i in np.unravel_index(np.abs(estimate - exact).argmax(), exact.shape))
    return EstimatedShares(
        correlation(estimate[:, first:], exact[:, first:]),
        rows[row],
        tokens[column],
        column,
        float(estimate[row, column]),
        float(exact[row, column]),
    )


@dataclass(frozen=True, slots=True)
class EstimateAgainstExact(Finding):
    """How near estimates come to exact effects.

    Args:
        correlation, heads: Pearson's, over all parts and over heads alone; None where one of the two is the same
            everywhere.
        same_sign, counted: of the parts with an exact effect of at least `least`, how many have an estimate of the
            same sign.
        least: the tenth part of the largest exact effect.
        unit: of the effects.
        part, estimate, exact: the part that the estimate misses by most.
    """

    correlation: float | None
    heads: float | None
    same_sign: int
    counted: int
    least: float
    unit: str
    part: str
    estimate: float
    exact: float

    @property
    def sentence(self) -> str:
        start = ""
        if self.correlation is not None:
            heads = "" if self.heads is None else f", {self.heads:.2f} over heads alone"
            start = f"Correlation of estimate and exact effect: {self.correlation:.2f} over all parts{heads}. "
        return (
            f"{start}Of the {self.counted} parts with an exact effect of at least {self.least:.2g} {self.unit}, "
            f"{self.same_sign} have an estimate of the same sign. Farthest off: {self.part}, estimate "
            f"{self.estimate:+.2f}, exact {self.exact:+.2f}."
        )


def estimate_against_exact(
    estimate: Float[ndarray, "layer part"],
    exact: Float[ndarray, "layer part"],
    parts: Sequence[Sequence[Part]],
    unit: str,
) -> EstimateAgainstExact:
    """Compare both for all parts."""
    estimate, exact = without_rounding(estimate), without_rounding(exact)
    is_head = np.array([[part.head is not None for part in layer] for layer in parts])
    least = float(np.abs(exact).max()) / 10
    large = np.abs(exact) >= max(least, ROUNDING)
    layer, column = (int(i) for i in np.unravel_index(np.abs(estimate - exact).argmax(), exact.shape))
    return EstimateAgainstExact(
        correlation=correlation(estimate.ravel(), exact.ravel()),
        heads=correlation(estimate[is_head], exact[is_head]),
        same_sign=int((np.sign(estimate) == np.sign(exact))[large].sum()),
        counted=int(large.sum()),
        least=least,
        unit=unit,
        part=part_title(parts[layer][column]),
        estimate=float(estimate[layer, column]),
        exact=float(exact[layer, column]),
    )
