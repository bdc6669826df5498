"""The page on folklore: figures often quoted, each computed again when the page is opened."""

from functools import partial
from typing import Any

import streamlit as st

from pages.reference.folklore.card import BADGES, card, click, table
from pages.reference.folklore.facts import FACTS
from pages.ui import controls, page
from pages.ui.frame import panel
from pages.ui.work import progress
from tfcore.views.reference import folklore as views
from tfcore.views.reference.folklore import say
from tfcore.views.reference.folklore.measure import ALL, CHAPTERS, CLAIMS, matching

LONGEST = 60  # characters of a search
DEFAULT = "twelve"
MODEL = "stories"  # the one that measured claims are measured on
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


page.begin(FACTS)
findings = dict(
    zip(
        CLAIMS,
        progress.in_turn(partial(views.checked_of, MODEL), list(CLAIMS), lambda key: f"“{CLAIMS[key].name}”"),
        strict=True,
    )
)
verdict = controls.segmented("Verdict", "verdict", [ALL, *BADGES], ALL, {ALL: "All", **{key: key for key in BADGES}})
with panel(None) as p:
    p.examples(TRY)
    with p.controls:
        chapter = controls.select("Chapter", "chapter", [ALL, *CHAPTERS], ALL, {ALL: "All chapters"})
        words = controls.text_line("Search", "words", "", LONGEST)
    claims = matching(findings, chapter, verdict, words)
    with p.picture:
        picture = st.container()
        if claims:
            keys = [claim.key for claim in claims]
            names = {claim.key: claim.name for claim in claims}
            chosen = controls.stops(
                "Claim (or click one)", "claim", keys, DEFAULT if DEFAULT in keys else keys[0], names
            )
            with picture:
                p.show(views.claims(MODEL, chosen, chapter, verdict, words), click, "Click a row.")
            card(CLAIMS[chosen], findings[chosen])
            with st.expander(f"All of them in words: {len(claims)}"):
                st.markdown(table(claims, findings))
        else:
            st.info("No claim has all of this: take a word or a filter away.")
        st.caption(
            f"A number is true if it is off by at most {say.EXACT_TEXT}, roughly true up to {say.ROUGH_TEXT}, unless "
            "the claim itself says how exact it is (a count: by its own rounding; a random draw: by its error). "
            "Measured on a model: on stories, which ships, with its vocabulary of 2,048; characters and words per "
            "token are others with the usual 32,000 to 256,000. Sources stand with each claim, such as "
            "arXiv:2001.08361 and arXiv:2203.15556."
        )
    p.what_to_see(
        f"Marks in the shaded strip are off by at most {say.ROUGH_TEXT}; the sign says whether that is near enough for "
        "what is claimed. It is not for a count: GPT-2's 117 M lies in the strip and is wrong. Several marks in a row "
        "are several cases. A diamond depends on them: often the claim was true of the model it was made for, and is "
        "quoted of others. 12 N d² assumes d_ff = 4 d, two thirds assumes MHA, 6 N D leaves attention out. "
        f"{say.all_verdicts(findings.values())}"
    )
    p.question(
        "Why is “12 N d²” right within a per cent for LLaMA 2 7B, whose feed-forward layers have three matrices?",
        "Because each of the three is about 8/3 d wide instead of 4 d, so together they have the same 8 d². LLaMA 3 "
        "made them wider (3.5 d) and uses fewer KV heads: it is off by 8 %. Gemma's are 8 d wide: there the blocks are "
        "two and a half times what the formula says.",
    )
