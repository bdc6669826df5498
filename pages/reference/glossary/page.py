"""The glossary: the field's terms as these pages use them, with a sentence, a formula and the view that shows each."""

from itertools import groupby
from typing import Any

import streamlit as st

from pages import facts
from pages.reference import views as _views
from pages.reference.glossary.facts import FACTS
from pages.ui import controls, links, page, places, text
from tfcore.views.reference.glossary.measure import ALL, Term, letters, matching, terms

LONGEST, DEFAULT = 60, "attention"
EVERY: dict[str, Any] = {"letter": ALL, "find": ""}
TRY: dict[str, dict[str, Any]] = {
    "attention": {**EVERY, "term": "attention"},
    "KV cache": {**EVERY, "term": "KV cache"},
    "induction head": {**EVERY, "term": "induction head"},
    "all about experts": {**EVERY, "find": "expert", "term": "expert"},
    "all about tokens": {**EVERY, "find": "token", "term": "token"},
}


def card(term: Term) -> None:
    """One term, with its formula and the page that shows it."""
    with st.container(border=True):
        st.subheader(term.name[0].upper() + term.name[1:], anchor=False)
        st.markdown(text.escape(term.means))
        if term.formula:
            st.latex(term.formula)
        with st.container(horizontal=True, vertical_alignment="center"):
            name, settings = _views.parts(facts.views_of_terms()[term.name])
            place = places.place(name)
            links.to(place.file, settings, f"See it: **{place.facts.title}**", ":material/arrow_outward:")
            if term.source:
                st.caption(term.source, width="content")


def line(term: Term) -> str:
    """A term in the list (Markdown)."""
    formula = f" ${term.formula}$" if term.formula else ""
    see = facts.views_of_terms()[term.name]
    place = places.place(_views.parts(see)[0])
    return f"- **{text.escape(term.name)}**: {text.escape(term.means)}{formula} [{place.facts.title}]({see})"


page.begin(FACTS)
page.try_this(TRY)
left, right = st.columns([1, 3], gap="medium")
with left:
    words = controls.text_line("Search", "find", "", LONGEST)
with right:
    letter = controls.segmented("Letter", "letter", [ALL, *letters()], ALL, {ALL: "All"})
matches = matching(letter, words)
if matches:
    names = [term.name for term in matches]
    chosen = controls.select("Term", "term", names, DEFAULT if DEFAULT in names else names[0])
    card(terms()[chosen])
    few = len(matches) < len(terms())
    with st.expander(f"{len(matches)} of {len(terms())} terms, and what they mean", expanded=few):
        for first, group in groupby(matches, key=lambda term: term.letter):
            st.markdown(f"##### {first}\n\n" + "\n".join(line(term) for term in group))
else:
    st.info("No term has all of this: take a word away, or choose another letter.")
page.what_to_see(
    "The names are those of the papers, so that you can search for them. Where two are in use, the sentence gives the "
    "other one too. Papers that introduced or measured something stand with it, such as arXiv:1706.03762 for attention."
)
page.question(
    "Query, key and value: which of them decides how much a token attends to another, and which what it gets?",
    "The query of the one and the key of the other decide the weight; the value is what is summed with it.",
)
page.how_it_is_computed(code=(matching,))
