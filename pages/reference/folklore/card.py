"""The page on folklore: the card of a claim, the table of all, and clicks."""

import pandas as pd
import streamlit as st

from pages.reference import views as _views
from pages.ui import controls, places, text
from pages.ui.components.figure import Event, name_of
from tfcore.views.reference.folklore.measure import CLAIMS
from tfcore.views.reference.folklore.measure.claim import Checked, Claim

BADGES = {"true": "green", "roughly": "blue", "depends": "violet", "wrong": "orange"}


def click(event: Event) -> None:
    """A click on a row of the figure chooses its claim."""
    if (claim := name_of(event, CLAIMS)) is not None:
        controls.set_values(claim=claim)


def card(claim: Claim, finding: Checked) -> None:
    """One claim with all its cases, its link and its code."""
    with st.container(border=True):
        st.subheader(f"“{text.escape(claim.said)}”", anchor=False)
        st.caption(f"{text.escape(claim.where)} · {claim.chapter}")
        left, right = st.columns([3, 2], gap="large")
        with left:
            st.markdown(f"Computed: **{text.escape(finding.computed)}** {badge(finding.verdict)}")
            st.markdown(text.escape(claim.why))
            _views.links([claim.see], "folklore", "see")
        with right:
            cases = pd.DataFrame(finding.ratios.items(), columns=["case", "computed / quoted"])
            st.dataframe(
                cases,
                hide_index=True,
                height=min(38 + 35 * len(cases), 250),
                column_config={"computed / quoted": st.column_config.NumberColumn(format="%.4f")},
            )


def badge(verdict: str) -> str:
    """The verdict as a small coloured word."""
    return f":{BADGES[verdict]}-badge[{verdict}]"


def table(claims: list[Claim], findings: dict[str, Checked]) -> str:
    """Every claim shown, as a table in Markdown, each with a link to its view."""
    rows = ["| claim | verdict | computed | why |", "|---|---|---|---|"]
    for claim in claims:
        finding, name = findings[claim.key], _views.parts(claim.see)[0]
        link = f" [See it.]({claim.see.replace(' ', '+')})" if places.known(name) else ""
        said = f"{text.escape(claim.said)} :small[:gray[{text.escape(claim.where)}]]"
        cells = (said, badge(finding.verdict), text.escape(finding.computed), text.escape(claim.why) + link)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)
