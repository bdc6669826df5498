"""Parts of the page on history: the timeline, the families, and the card of an entry."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.reference import views as _views
from pages.reference.history import experiments
from pages.ui import controls, keys, page, text
from pages.ui.components.figure import Event, figure, name_of
from pages.ui.program import made
from tfcore.analysis.reference import history
from tfcore.analysis.reference.history import ALL, FAMILIES, FIELDS, Milestone
from tfcore.figures.reference import history as figures

LONGEST = 60  # characters of a search
NARROWEST = 960  # pixels of the picture
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
    f"{len(history.milestones()['transformer'].after)} lines come in.",
)


def choose_filter() -> tuple[str, str, str]:
    """The controls of the filter: field, family, words."""
    left, middle, right = st.columns(3, gap="medium")
    with left:
        field = controls.select("Field", "field", [ALL, *FIELDS], ALL, {ALL: "All", **FIELDS})
    with middle:
        family = controls.select("Family", "family", [ALL, *FAMILIES], ALL, {ALL: "All families", **FAMILIES})
    with right:
        words = controls.text_line("Search: a name, a year, a word", "words", "", LONGEST)
    return field, family, words


def choose_entry(shown: list[str]) -> str:
    """A slider through the entries that are shown."""
    entries = history.milestones()
    default = DEFAULT if DEFAULT in shown else shown[0]
    names = {key: f"{entries[key].year} {entries[key].name}" for key in shown}
    return controls.stops("Entry (or click one)", "entry", shown, default, names)


def panel(families: bool) -> None:
    """The timeline by fields, or by families with who builds on whom."""
    page.try_this(TRY)
    wanted, entries = choose_filter(), history.milestones()
    shown, by = history.matching(*wanted), "family" if families else "field"
    layout = history.timeline(by)
    picture = st.container()
    chosen = choose_entry(shown) if shown else None
    figured = experiments.lineage(layout, shown, chosen, families)
    with picture:
        figure(
            figured.figure,
            key="timeline",
            height=figures.height_of(layout),
            min_width=NARROWEST,
            alt=figured.alt,
            on_click=_click,
            at=figures.place_of(layout, chosen, NARROWEST) if chosen else None,
            caption=f"{figured.caption} A year is as wide as it has entries. Click one.",
            table=lambda: pd.DataFrame([_row(one) for one in entries.values()])[[key in shown for key in entries]],
        )
    if chosen is not None:
        _card(entries[chosen])
    else:
        st.info("No entry has all of this: take a word or a filter away.")
    if families:
        page.what_to_see(
            "Lines lead from an entry to those that build on it; those of the chosen one are strong. Three old lines "
            "meet in 2017: recurrent translators with attention, convolutional networks with residuals, and parts such "
            "as normalisation and Adam. From there on it fans out: encoders that read, decoders that write, experts. "
            "State spaces come from the recurrent side and meet attention again in Mamba-2."
        )
    else:
        page.what_to_see(
            f"{history.recent_share(2020)} Until 2017 each "
            "field had networks of its own: recurrent for language, convolutional for images. Then one colour after "
            "the other moves into every lane, because whatever can be cut into tokens can be read by the same "
            "architecture."
        )
    st.caption(
        "Years are those of the first public version: of arXiv papers, that of their number. The Transformer is "
        "arXiv:1706.03762. An entry is here because a page of this app shows its idea, or because another entry builds "
        "on it; many good works are missing."
    )
    page.question(*QUESTION)
    programs = []
    if chosen is not None:
        layout_made, shown_made = made(history.timeline, by), made(history.matching, *wanted)
        programs.append(page.experiment(experiments.lineage, layout_made, shown_made, chosen, families))
    of_view = (history.ancestors, history.rows_without_overlap) if families else (history.matching, history.year_starts)
    page.how_it_is_computed(*programs, code=(history.timeline, *of_view))


def _click(event: Event) -> None:
    if (entry := name_of(event, history.milestones())) is not None:
        controls.set_values(entry=entry)


def _row(entry: Milestone) -> dict[str, Any]:
    return {
        "year": entry.year,
        "name": entry.name,
        "who": entry.who,
        "what it brought": entry.brought,
        "field": FIELDS[entry.field],
        "family": FAMILIES[entry.family],
        "source": entry.source,
        "builds on": ", ".join(history.milestones()[key].name for key in entry.after),
    }


def _card(entry: Milestone) -> None:
    """What an entry brought, its paper, its neighbours in the lineage, and where to see the idea."""
    entries = history.milestones()
    with st.container(border=True):
        st.subheader(f"{entry.year} · {entry.name}", anchor=False)
        st.markdown(text.escape(entry.brought))
        source = text.escape(entry.source)
        if entry.arxiv is not None:
            source = f"[{source}](https://arxiv.org/abs/{entry.arxiv})"
        st.caption(f"{text.escape(entry.who)} · {source} · {FIELDS[entry.field]} · {FAMILIES[entry.family]}")
        led_to = [key for key, other in entries.items() if entry.key in other.after]
        for label, others in (("Builds on", entry.after), ("Led to", led_to)):
            if others:
                with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                    st.caption(f"{label}:", width="content")
                    for key in others:
                        values = {**NOTHING, "entry": key}
                        st.button(
                            history.with_year(entries[key]),
                            key=keys.own("button", f"go {label} {key}"),
                            type="tertiary",
                            on_click=controls.set_values,
                            kwargs=values,
                        )
        _views.links(entry.see, "history", "see")
