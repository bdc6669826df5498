"""The experiment of the page on folklore."""

from tfcore import load
from tfcore.analysis.reference.folklore_table import CLAIMS
from tfcore.figures.reference.folklore import ratios_figure
from tfcore.figures.theme import Figure


def checked(claim: str, others: list[str]) -> Figure:
    """A figure that everybody quotes, computed again."""
    model, tokenizer = load("stories")
    # What computes it is CLAIMS[claim].compute; the others are there for the picture.
    claims = [CLAIMS[key] for key in others]
    findings = {one.key: one.check(model, tokenizer) for one in claims}
    print(f"“{CLAIMS[claim].said}” ({CLAIMS[claim].where})")
    print(f"computed: {findings[claim].found}: {findings[claim].verdict}. {CLAIMS[claim].why}")
    for case, ratio in findings[claim].ratios.items():
        print(f"{case}: {ratio:.4f} times what is said")

    return ratios_figure(claims, findings, claim)
