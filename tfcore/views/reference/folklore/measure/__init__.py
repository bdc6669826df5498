"""All claims that are checked, by key, in the order of the chapters."""

from collections.abc import Mapping

from tfcore.views.reference.folklore.measure import block, foundations, inference, model, slips
from tfcore.views.reference.folklore.measure.claim import Checked, Claim

ALL = "all"
CHAPTERS = ("Foundations", "Block", "Model", "Training", "Inference", "Inside")
_EVERY = (*foundations.CLAIMS, *block.CLAIMS, *model.CLAIMS, *inference.CLAIMS, *slips.CLAIMS)
CLAIMS: dict[str, Claim] = {
    claim.key: claim for claim in sorted(_EVERY, key=lambda claim: CHAPTERS.index(claim.chapter))
}


def matching(results: Mapping[str, Checked], chapter: str = ALL, verdict: str = ALL, words: str = "") -> list[Claim]:
    """Claims of a chapter and a verdict that hold all of these words, in capitals or not, anywhere.

    Args:
        results: of all claims, by key.
    """
    wanted = words.casefold().split()
    return [
        claim
        for claim in CLAIMS.values()
        if chapter in (ALL, claim.chapter)
        and verdict in (ALL, results[claim.key].verdict)
        and all(word in _everything(claim, results[claim.key]) for word in wanted)
    ]


def _everything(claim: Claim, checked: Checked) -> str:
    return " ".join((claim.name, claim.said, claim.where, claim.why, checked.computed)).casefold()
