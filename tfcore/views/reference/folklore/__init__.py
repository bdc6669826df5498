"""Figures that are often quoted, each computed again."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tfcore.views.finding import state
from tfcore.views.kept import kept
from tfcore.views.reference.folklore import draw, say
from tfcore.views.reference.folklore.measure import ALL, CLAIMS, matching
from tfcore.views.reference.folklore.measure.claim import Checked, Claim, compare
from tfcore.views.sources import Source
from tfcore.views.view import View, view


def _checked(model: Any, tokenizer: Any, key: str) -> Checked:
    return CLAIMS[key].check(model, tokenizer)


checked_of = kept(_checked, entries=64)  # a claim, checked


@view
def claims(model: Source, chosen: str, chapter: str = ALL, verdict: str = ALL, words: str = "") -> View:
    """Figures that everybody quotes, computed again; what computes one is CLAIMS[key].compute.

    Args:
        model: on which what is said of trained models is measured.
        chosen: key of the claim that stands out.
        chapter, verdict, words: of the claims that are shown; the words stand anywhere in what is said of them.
    """
    results = {key: checked_of(model, key) for key in CLAIMS}
    shown = matching(results, chapter, verdict, words)
    counts = say.verdict_counts(results[claim.key] for claim in shown)
    return View(
        key="ratios",
        title="Computed over quoted",
        result=results,
        chart=draw.ratios_figure(shown, results, chosen),
        min_width=340,
        described=state(
            "claims", "{counts} {verdict}", counts=counts, verdict=say.verdict(CLAIMS[chosen], results[chosen])
        ),
        note=f"{counts} Several marks in a row: several cases. Beyond a fifth or five times: at the edge. Shaded: off "
        f"by up to {say.ROUGH_TEXT}.",
        table=lambda: _cases_table(shown, results),
        code=(compare, CLAIMS[chosen].compute),
    )


def _cases_table(shown: list[Claim], results: Mapping[str, Checked]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            (claim.said, case, ratio, results[claim.key].computed, results[claim.key].verdict, claim.where)
            for claim in shown
            for case, ratio in results[claim.key].ratios.items()
        ],
        columns=["claim", "case", "computed / quoted", "computed", "verdict", "where"],
    )
