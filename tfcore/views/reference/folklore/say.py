"""Findings on figures that are often quoted: how many of them hold, and whether one does."""

from collections import Counter
from collections.abc import Iterable

from tfcore.views.finding import Statement, state
from tfcore.views.reference.folklore.measure import CLAIMS
from tfcore.views.reference.folklore.measure.claim import EXACT, ROUGH, VERDICTS, Checked, Claim, Verdict

EXACT_TEXT = f"{EXACT:.0%}"
ROUGH_TEXT = f"{ROUGH:.0%}"


def verdict(claim: Claim, checked: Checked) -> Statement:
    """A claim with its verdict and the computed value."""
    return state(
        "verdict",
        "“{said}” is {verdict}: {computed}.",
        said=claim.said,
        verdict=checked.verdict,
        computed=checked.computed,
    )


def verdict_counts(shown: Iterable[Checked]) -> Statement:
    """How many of the claims that are shown have each verdict."""
    counts = _counted(shown)
    return state(
        "verdict counts",
        "{shown} of {total} claims: {true} true, {roughly} roughly, {depends} depends, {wrong} wrong.",
        shown=sum(counts.values()),
        total=len(CLAIMS),
        **counts,
    )


def all_verdicts(every: Iterable[Checked]) -> Statement:
    """How many of all claims have each verdict."""
    counts = _counted(every)
    return state(
        "all verdicts",
        "Of all {total} claims, {true} are true, {roughly} roughly true, {wrong} wrong, and {depends} depend on the "
        "case.",
        total=sum(counts.values()),
        **counts,
    )


def _counted(checked: Iterable[Checked]) -> dict[Verdict, int]:
    counts = Counter(one.verdict for one in checked)
    return {verdict: counts[verdict] for verdict in VERDICTS}
