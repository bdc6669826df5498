"""The experiment of the page on folklore."""

from collections.abc import Mapping, Sequence

from tfcore.analysis.reference.folklore import CLAIMS
from tfcore.analysis.reference.folklore.claim import Checked, ClaimVerdict, verdict_counts
from tfcore.figures.reference.folklore import ratios_figure
from tfcore.figures.shown import Shown
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def recomputed(model: Transformer, tokenizer: Tokenizer, claims: Sequence[str]) -> dict[str, Checked]:
    """Each of these claims, computed again; what computes one is CLAIMS[key].compute."""
    return {key: CLAIMS[key].check(model, tokenizer) for key in claims}


def checked(results: Mapping[str, Checked], claims: Sequence[str], chosen: str) -> Shown:
    """A figure that everybody quotes, computed again, among others."""
    figure = ratios_figure([CLAIMS[key] for key in claims], results, chosen)
    verdict = ClaimVerdict(CLAIMS[chosen].said, results[chosen].verdict, results[chosen].found)
    return Shown(figure, (verdict_counts([results[key] for key in claims], len(CLAIMS)), verdict))
