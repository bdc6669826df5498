"""The page on folklore: figures often quoted, each computed again when the page is opened."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.reference.folklore import experiments
from pages.reference.folklore.card import BADGES, card, click, table
from pages.reference.folklore.facts import FACTS
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import progress
from tfcore.analysis.reference.folklore import CHAPTERS, CLAIMS
from tfcore.analysis.reference.folklore.claim import EXACT_TEXT, ROUGH_TEXT, Checked, Claim, all_verdicts, compare
from tfcore.figures.reference import folklore as figures

ALL = "all"
LONGEST = 60  # characters of a search
DEFAULT = "twelve"
MODEL = "stories"  # the one that measured claims are measured on
TABLE = 640  # pixels; the table scrolls in them
EVERY: dict[str, Any] = {"chapter": ALL, "verdict": ALL, "words": ""}
TRY: dict[str, dict[str, Any]] = {
    "117 M?": {**EVERY, "claim": "gpt2"},
    "8 × 7 = 56?": {**EVERY, "claim": "mixtral"},
    "20 tokens per parameter": {**EVERY, "claim": "twenty"},
    "is it quadratic?": {**EVERY, "claim": "quadratic"},
    "all that is wrong": {**EVERY, "verdict": "wrong", "claim": "softmax"},
    "all that depends": {**EVERY, "verdict": "depends", "claim": "two_thirds"},
    "about the cache": {**EVERY, "words": "cache", "claim": "gib"},
}


@cache.data(max_entries=64)
def found(key: str) -> Checked:
    """One claim, checked."""
    return CLAIMS[key].check(*cache.model(MODEL))


def fits(claim: Claim, finding: Checked, chapter: str, verdict: str, words: str) -> bool:
    """Whether a claim passes the filter."""
    everything = " ".join((claim.name, claim.said, claim.where, claim.why, finding.found)).casefold()
    return (
        chapter in (ALL, claim.chapter)
        and verdict in (ALL, finding.verdict)
        and all(word in everything for word in words.casefold().split())
    )


page.begin(FACTS)
findings = dict(zip(CLAIMS, progress.in_turn(found, list(CLAIMS), lambda key: f"“{CLAIMS[key].name}”"), strict=True))
verdict = controls.segmented("Verdict", "verdict", [ALL, *BADGES], ALL, {ALL: "All", **{key: key for key in BADGES}})
page.try_this(TRY)
left, right = st.columns(2, gap="medium")
with left:
    chapter = controls.select("Chapter", "chapter", [ALL, *CHAPTERS], ALL, {ALL: "All chapters"})
with right:
    words = controls.text_line("Search", "words", "", LONGEST)
claims = [claim for claim in CLAIMS.values() if fits(claim, findings[claim.key], chapter, verdict, words)]
picture, programs = st.container(), []
if claims:
    keys = [claim.key for claim in claims]
    default = DEFAULT if DEFAULT in keys else keys[0]
    chosen = controls.stops("Claim (or click one)", "claim", keys, default, {key: CLAIMS[key].name for key in keys})
    shown = experiments.checked(findings, keys, chosen)
    with picture:
        figure(
            shown.figure,
            key="ratios",
            height=figures.height_of(len(claims)),
            min_width=340,
            on_click=click,
            alt=shown.caption,
            caption=f"{shown.alt} Several marks in a row: several cases. Beyond a fifth or five times: at the edge. "
            f"Shaded: off by up to {ROUGH_TEXT}. Click a row.",
            table=lambda: pd.DataFrame(
                [
                    (c.said, case, ratio, findings[c.key].found, findings[c.key].verdict, c.where)
                    for c in claims
                    for case, ratio in findings[c.key].ratios.items()
                ],
                columns=["claim", "case", "computed / quoted", "computed", "verdict", "where"],
            ),
        )
    card(CLAIMS[chosen], findings[chosen])
    programs = [page.experiment(experiments.checked, made(experiments.recomputed, MODEL, keys), keys, chosen)]
    st.subheader("All of them", anchor=False)
    with st.container(height=TABLE):
        st.markdown(table(claims, findings))
else:
    st.info("No claim has all of this: take a word or a filter away.")
page.what_to_see(
    f"Marks in the shaded strip are off by at most {ROUGH_TEXT}; the sign says whether that is near enough for what is "
    "claimed. It is not for a count: GPT-2's 117 M lies in the strip and is wrong. Several marks in a row are several "
    "cases. A diamond depends on them: often the claim was true of the model it was made for, and is quoted of others. "
    "12 N d² assumes d_ff = 4 d, two thirds assumes MHA, 6 N D leaves attention out. "
    f"{all_verdicts(findings.values())}"
)
st.caption(
    f"A number is true if it is off by at most {EXACT_TEXT}, roughly true up to {ROUGH_TEXT}, unless the claim itself "
    "says how exact it is (a count: by its own rounding; a random draw: by its error). Measured on a model: on "
    "stories, which ships, with its vocabulary of 2,048; characters and words per token are others with the usual "
    "32,000 to 256,000. Sources stand with each claim, such as arXiv:2001.08361 and arXiv:2203.15556."
)
page.question(
    "Why is “12 N d²” right within a per cent for LLaMA 2 7B, whose feed-forward layers have three matrices?",
    "Because each of the three is about 8/3 d wide instead of 4 d, so together they have the same 8 d². LLaMA 3 made "
    "them wider (3.5 d) and uses fewer KV heads: it is off by 8 %. Gemma's are 8 d wide: there the blocks are two and "
    "a half times what the formula says.",
)
page.how_it_is_computed(*programs, code=(compare, *((CLAIMS[chosen].compute,) if claims else ())))
