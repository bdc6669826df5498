"""All claims that are checked, by key, in the order of the chapters."""

from tfcore.analysis.reference import folklore_block, folklore_foundations, folklore_inference, folklore_model
from tfcore.analysis.reference.folklore import Claim

CHAPTERS = ("Foundations", "Block", "Model", "Training", "Inference", "Inside")
_EVERY = (*folklore_foundations.CLAIMS, *folklore_block.CLAIMS, *folklore_model.CLAIMS, *folklore_inference.CLAIMS)
CLAIMS: dict[str, Claim] = {
    claim.key: claim for claim in sorted(_EVERY, key=lambda claim: CHAPTERS.index(claim.chapter))
}
