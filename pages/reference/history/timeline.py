"""Part of the page on history: the timeline, the families, and the card of an entry."""

from typing import Any

import streamlit as st

from pages.reference.views import links
from pages.ui import controls, keys, text
from pages.ui.components.figure import Event, name_of
from pages.ui.frame import panel
from tfcore.views.reference import history as views
from tfcore.views.reference.history import say
from tfcore.views.reference.history.measure import ALL, FAMILIES, FIELDS, Milestone, led_to, matching, milestones

LONGEST = 60  # characters of a search
DEFAULT = "transformer"
NOTHING: dict[str, Any] = {"field": ALL, "family": ALL, "words": ""}  # no filter
TRY: dict[str, dict[str, Any]] = {
    "attention arrives": {**NOTHING, "show": "time", "words": "attention", "entry": "bahdanau"},
    "proteins and genes": {**NOTHING, "show": "time", "field": "biology", "entry": "alphafold"},
    "robots that read": {**NOTHING, "show": "time", "field": "robots", "entry": "rt2"},
    "experts since 1991": {**NOTHING, "show": "time", "family": "experts", "entry": "experts"},
    "what GPT-3 builds on": {**NOTHING, "show": "families", "entry": "gpt3"},
    "what LSTM led to": {**NOTHING, "show": "families", "entry": "lstm"},
    "a film, cut up": {"show": "sequences", "kind": "video"},
}
QUESTION = (
    "Most parts of the Transformer were there before it: attention, residual connections, layer normalisation, "
    "subwords, Adam, even position vectors (ConvS2S, arXiv:1705.03122). What did it add?",
    "It left recurrence and convolution out: no position waits for the one before it, so all tokens of a sequence "
    "are trained in parallel. New were multi-head attention, self-attention as the only layer that mixes positions, "
    "and sinusoidal positions. Open the families and choose the Transformer: "
    f"{len(milestones()['transformer'].after)} lines come in.",
)


def show(families: bool) -> None:
    """The timeline by fields, or by families with who builds on whom."""
    with panel(None) as p:
        p.examples(TRY)
        with p.controls:
            field = controls.select("Field", "field", [ALL, *FIELDS], ALL, {ALL: "All", **FIELDS})
            family = controls.select("Family", "family", [ALL, *FAMILIES], ALL, {ALL: "All families", **FAMILIES})
            words = controls.text_line("Search: a name, a year, a word", "words", "", LONGEST)
        shown = matching(field, family, words)
        with p.picture:
            picture = st.container()
            chosen = choose_entry(shown) if shown else None
            with picture:
                p.show(
                    views.timeline("family" if families else "field", field, family, words, chosen),
                    _click,
                    "Click one.",
                )
            if chosen is not None:
                _card(milestones()[chosen])
            else:
                st.info("No entry has all of this: take a word or a filter away.")
            st.caption(
                "Years are those of the first public version: of arXiv papers, that of their number. The Transformer "
                "is arXiv:1706.03762. An entry is here because a page of this app shows its idea, or because another "
                "entry builds on it; many good works are missing."
            )
        if families:
            p.what_to_see(
                "Lines lead from an entry to those that build on it; those of the chosen one are strong. Three old "
                "lines meet in 2017: recurrent translators with attention, convolutional networks with residuals, and "
                "parts such as normalisation and Adam. From there on it fans out: encoders that read, decoders that "
                "write, experts. State spaces come from the recurrent side and meet attention again in Mamba-2."
            )
        else:
            p.what_to_see(
                f"{say.recent_share(2020)} Until 2017 each "
                "field had networks of its own: recurrent for language, convolutional for images. Then one colour "
                "after the other moves into every lane, because whatever can be cut into tokens can be read by the "
                "same architecture."
            )
        p.question(*QUESTION)


def choose_entry(shown: list[str]) -> str:
    """A slider through the entries that are shown."""
    entries = milestones()
    default = DEFAULT if DEFAULT in shown else shown[0]
    names = {key: f"{entries[key].year} {entries[key].name}" for key in shown}
    return controls.stops("Entry (or click one)", "entry", shown, default, names)


def _click(event: Event) -> None:
    if (entry := name_of(event, milestones())) is not None:
        controls.set_values(entry=entry)


def _card(entry: Milestone) -> None:
    """An entry: what it brought, its paper, its neighbours in the lineage, and where to see the idea."""
    entries = milestones()
    with st.container(border=True):
        st.subheader(f"{entry.year} · {entry.name}", anchor=False)
        st.markdown(text.escape(entry.brought))
        source = text.escape(entry.source)
        if entry.arxiv is not None:
            source = f"[{source}](https://arxiv.org/abs/{entry.arxiv})"
        st.caption(f"{text.escape(entry.who)} · {source} · {FIELDS[entry.field]} · {FAMILIES[entry.family]}")
        for label, others in (("Builds on", entry.after), ("Led to", led_to(entry.key))):
            if others:
                with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                    st.caption(f"{label}:", width="content")
                    for key in others:
                        values = {**NOTHING, "entry": key}
                        st.button(
                            say.with_year(entries[key]),
                            key=keys.own("button", f"go {label} {key}"),
                            type="tertiary",
                            on_click=controls.set_values,
                            kwargs=values,
                        )
        links(entry.see, "history", "see")
