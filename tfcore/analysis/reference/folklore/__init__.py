"""All claims that are checked, by key, in the order of the chapters."""

from tfcore.analysis.reference.folklore import block, foundations, inference, model, slips
from tfcore.analysis.reference.folklore.claim import Claim

CHAPTERS = ("Foundations", "Block", "Model", "Training", "Inference", "Inside")
_EVERY = (*foundations.CLAIMS, *block.CLAIMS, *model.CLAIMS, *inference.CLAIMS, *slips.CLAIMS)
CLAIMS: dict[str, Claim] = {
    claim.key: claim for claim in sorted(_EVERY, key=lambda claim: CHAPTERS.index(claim.chapter))
}
