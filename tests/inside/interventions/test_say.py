"""Sentences of interventions, word by word."""

import numpy as np
import pytest

from tests import small
from tfcore.measures.interventions import parts_of
from tfcore.views.inside.interventions import say
from tfcore.views.inside.interventions.measure.patching import PromptPair

PARTS = parts_of(small.config())  # 2 layers of 6 heads and a feed-forward layer


def estimated(of_heads: float, of_others: float) -> np.ndarray:
    """Effects of heads, alternating in sign, and of the feed-forward layers."""
    effects = np.where(np.arange(14) % 2, -of_heads, of_heads).reshape(2, 7)
    effects[:, 6] = of_others, -of_others
    return effects


def test_estimates_beside_exact_effects():
    exact = estimated(1.25, 2.0)
    near = exact.copy()
    near[1, 2] = 0.5
    of_all, of_heads = (np.corrcoef(near[:, :n].ravel(), exact[:, :n].ravel())[0, 1] for n in (7, 6))
    assert str(say.estimate_against_exact(near, exact, PARTS, "nats")) == (
        f"Correlation of estimate and exact effect: {of_all:.2f} over all parts, {of_heads:.2f} over heads alone. Of "
        "the 14 parts with an exact effect of at least 0.2 nats, 13 have an estimate of the same sign. Farthest off: "
        "head 1.2, estimate +0.50, exact -1.25."
    )
    alike = estimated(0.0, 2.0)
    assert str(say.estimate_against_exact(2 * alike, alike, PARTS, "logits")) == (
        "Correlation of estimate and exact effect: 1.00 over all parts. Of the 2 parts with an exact effect of at "
        "least 0.2 logits, 2 have an estimate of the same sign. Farthest off: feed-forward 0, estimate +4.00, exact "
        "+2.00."
    )
    assert str(say.estimate_against_exact(0 * alike, alike, PARTS, "logits")).startswith("Of the 2 parts with")


@pytest.mark.parametrize(
    ("estimate", "start"), [([0.125, 0.25], "Correlation with the estimates: 1.00. "), ([0.25, 0.25], "")]
)
def test_estimated_shares(estimate, start):
    both = PromptPair((1, 2), (3, 4), (7, 8), (1.0, 0.0), (0, 1))
    said = say.estimated_shares(both, np.array([estimate]), np.array([[0.25, 0.75]]), ["attention 1"], ["x", " a"])
    assert str(said) == f"{start}The estimate is farthest off for attention 1 at '·a' (1): 0.25, exactly 0.75."


@pytest.mark.parametrize(("start", "exact"), [(None, ""), (9, "; exact from position 9 on")])
def test_shares_that_are_estimates(start, exact):
    assert str(say.estimates_until(start)) == f"Estimates from one backward pass{exact}."
