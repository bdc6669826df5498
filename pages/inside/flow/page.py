"""The river: a text through all layers of a model at once, traced back from the next token."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.flow import experiments
from pages.inside.tokens import ranked
from pages.ui import cache, controls, page, text
from pages.ui import flow as river
from pages.ui.components.figure import figure
from pages.ui.flow import TOKENS, Drawn
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.program import made
from tfcore.analysis.inside import head_measures, information_flow
from tfcore.analysis.inside.information_flow import Flow
from tfcore.figures.shown import Shown

CHARACTERS = 1_500
ROWS = 30  # of the table of routes
REAL = "smollm2"
PRONOUN = "Sam was a little boy. One day, Sam said that"
BALL = "Once upon a time there was a little dog named Max. Max lost his red ball. One day Max found the red"
NAMES = "When Mary and John went to the store, John gave a drink to"
CAPITAL = "The capital of France is Paris. The capital of Italy is"
NONE = {"heads": "", "word": 0, "open": ""}
TRY: dict[str, dict[str, Any]] = {
    "he or she?": {**NONE, "model": "stories", "text": PRONOUN},
    "head 2.5 off": {**NONE, "model": "stories", "text": PRONOUN, "heads": "2.5*0"},
    "head 2.5 turned round": {**NONE, "model": "stories", "text": PRONOUN, "heads": "2.5*-2"},
    "a red ball again": {**NONE, "model": "stories", "text": BALL},
}
TRY_REAL: dict[str, dict[str, Any]] = {
    "Mary or John?": {**NONE, "model": REAL, "text": NAMES},
    "the capital of Italy": {**NONE, "model": REAL, "text": CAPITAL},
}


def compare(drawn: Drawn, token: int, effects: list[list[float]], is_exact: bool) -> pd.DataFrame | None:
    """Which heads come first by share of the state, by share of the logit and by effect, in a sentence; returns all
    three as a table. None where a head is changed, as effects are those of the model as it is, or has no share."""
    config, direct = models.config(drawn.model), written(drawn.model, drawn.pasted, TOKENS, token)
    if drawn.heads or direct is None:
        return None
    carried = head_measures.carried_by_head(drawn.flow, config.n_layers, config.n_heads)
    word = text.visible(cache.model(drawn.model)[1].tokens([token])[0])
    found = head_measures.compare(word, carried, direct, np.array(effects), is_exact=is_exact)
    st.markdown(f"**Three measures.** {text.escape(found)}")
    names = [f"{layer}.{head}" for layer, head in np.ndindex(carried.shape)]
    columns = {"share of the state": carried, "share of the logit": direct, "effect when off (nats)": np.array(effects)}
    table = pd.DataFrame({"head": names} | {name: values.ravel().round(4) for name, values in columns.items()})
    return table.sort_values("effect when off (nats)", ascending=False)


def explain(drawn: Drawn, shown: Shown, threshold: float, measures: pd.DataFrame | None) -> None:
    """What to see, the same as numbers, the equations, the code, the program, a question."""
    page.what_to_see(
        "Follow the golden stream at the bottom from the right to the left: it is the state that predicts. Where a "
        "ribbon joins it, a head brought something from another token; its colour is the kind of the head. The words "
        "below the stream are what the model would say if it stopped there (logit lens). Each dot above a layer is a "
        "head, as large as the effect of switching it off: click it, or drag it up and down. Width and effect are "
        "different things: a wide ribbon may carry what later layers do not use, and a thin one what all depends on."
    )
    with st.expander("The same as numbers"):
        table = route_table(drawn.flow, drawn.read.tokens)
        figure(
            shown.figure,
            key="shares",
            height=shown.figure.layout.height,
            min_width=420,
            alt=shown.alt,
            caption=shown.caption,
            table=lambda: table,
        )
        routes, heads = st.columns(2, gap="medium")
        routes.dataframe(table.head(ROWS), hide_index=True)
        if measures is not None:
            heads.dataframe(measures, hide_index=True, height=35 * ROWS)
    given = drawn.model, drawn.pasted, TOKENS
    page.question(
        "Switch off the head of the widest ribbon. Does the prediction change as much as the ribbon is wide?",
        "Often not. The width says how much of the state came that way, not whether later layers use it, and where a "
        "head is missing, others may take its place. The dot's size is the honest answer to that question: it is "
        "measured with the head really off.",
    )
    page.how_it_is_computed(
        page.experiment(
            experiments.routes,
            *given,
            made(information_flow.read_flow, *given, threshold, drawn.heads),
            made(information_flow.read_guesses, *given, drawn.heads),
            drawn.heads,
        ),
        formula=(
            r"\begin{gathered} x_i^{mid} = x_i + \sum_{h,j} A^h_{ij}\, v^h_j W_O^h \\ "
            r"\text{share}(z) = \frac{\max(0,\, "
            r"\lVert y \rVert_1 - \lVert z - y \rVert_1)}{\sum_{z'} \max(0,\, \lVert y \rVert_1 - \lVert z' - y "
            r"\rVert_1)} \end{gathered}"
        ),
        code=(information_flow.trace, information_flow.layer_guesses, head_measures.direct_by_head),
        papers=(
            "Information flow routes: arXiv:2403.00824, section 2; logit lens: arXiv:2303.08112, section 2; direct "
            "logit attribution: arXiv:2211.00593, section 3.1; estimates of effects: arXiv:2310.10348."
        ),
    )


def route_table(flow: Flow, tokens: list[str]) -> pd.DataFrame:
    """The widest routes, one a row."""
    rows = [
        (f"{route.layer}.{route.head}", tokens[route.key], tokens[route.query], round(route.share, 4))
        for route in flow.routes
    ]
    return pd.DataFrame(rows, columns=["head", "from", "to", "share"])


written = cache.of_model(max_entries=64)(head_measures.direct_by_head)

page.begin(
    "Where does the next word come from?",
    "Each token is a stream through the layers, and attention carries ribbons from one to another. Widths are shares "
    "of the last state, traced back from the end: switch a head off, and see the river and the next token change.",
    always=models.always(),
)
box, beside = st.columns([4, 1], vertical_alignment="bottom")
with beside:
    model = models.choose("decoder", why_not=models.silent, default=models.first())
with box:
    pasted = controls.text_area("Text", "text", NAMES if model == REAL else PRONOUN, CHARACTERS, height=68, named=False)
offer_real(model, pasted)
real = TRY_REAL if REAL in models.fitting("decoder", why_not=models.silent) else {}
page.try_this({**real, **TRY})
reading = _reading.checked(model, pasted, TOKENS)
opened = river.asked_layers(model)
stage = st.container()
row = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
with row, page.more_settings():
    threshold = controls.slider(
        "Follow routes of at least (% of a sum)",
        "threshold",
        0.0,
        5.0,
        0.0,
        0.5,
        help="0 follows everything, and the streams of every layer add up to 1; arXiv:2403.00824 prunes routes",
    )
drawn = river.read(model, pasted, threshold / 100)
with row:
    with st.container(width=240):
        options = ranked(cache.model(model)[1].tokens(drawn.ranked))
        rank = controls.select("Heads are measured on", "word", list(options), 0, options)
    with st.container(width=240):
        temperature = controls.slider("Temperature", "temperature", 0.0, 2.0, 0.0, 0.1, help="0: the most probable")
    river.write(drawn, temperature)
    river.restore(drawn)
shown = experiments.routes(*cache.model(model), pasted, TOKENS, drawn.flow, drawn.guesses, drawn.heads)
with stage:
    effects, is_exact = river.show(drawn, opened, rank, shown.alt, lambda place: controls.set_values(word=place))
measures = compare(drawn, drawn.ranked[rank], effects, is_exact)
explain(drawn, shown, threshold / 100, measures)
