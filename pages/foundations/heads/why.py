"""The page on heads: one attention score as a sum over what wrote at the query and what wrote at the key."""

from typing import Any

import streamlit as st

from pages.foundations.heads.choices import NOTHING, TIRED, first_view, size
from pages.ui import controls, fragments, keys, text
from pages.ui.frame import Panel
from pages.ui.loading import models
from tfcore.views.foundations import heads as views
from tfcore.views.foundations.heads.measure.attention import attention, part_of
from tfcore.views.foundations.heads.measure.score_parts import (
    HeadSource,
    ScoreParts,
    key_to_ask_about,
    keys_seen,
    why_no_parts,
)
from tfcore.views.sources import Reading, opened

STRONGEST = -1  # in place of a key: the one that the query attends to most
BALL = (
    "Once upon a time there was a little dog named Max. Max had a red ball. One day the little dog lost the red ball."
)
MARY = "When Mary and John went to the store, John gave a drink to"
TRY: dict[str, dict[str, Any]] = {
    "“red” → “ball” (smollm2)": {"model": "smollm2", "text": BALL, "layer": 18, "head": 6, "token": 25, "key": 16},
    "“it” → “animal”, not “street”": {
        "model": "smollm2", "text": TIRED, "layer": 13, "head": 8, "token": 8, "key": 1, "than": 6
    },
    "“to” → “John”, not “Mary”": {
        "model": "smollm2", "text": MARY, "layer": 23, "head": 3, "token": 13, "key": 9, "than": 1
    },
    "“red” → “ball” (stories)": {"model": "stories", "text": BALL, "layer": 3, "head": 0, "token": 25, "key": 16},
    "an encoder": {"model": "minilm", "text": TIRED, "layer": 3, "head": 1, "token": 10, "key": 2},
}  # fmt: skip


def why(p: Panel, reading: Reading, more: Any) -> None:
    """Show what one score is made of.

    Args:
        more: the container of More settings.
    """
    if reason := why_no_parts(opened(reading.model)[0].config):
        st.info(f"A score cannot be taken apart here: {reason}")
        fragments.stop()
    there, usual = models.names(), {"than": NOTHING, "bos": "as usual"}
    p.examples({name: {**usual, **values} for name, values in TRY.items() if values["model"] in there})
    layers, heads = size(reading)
    first_layer, first_head, first_token = first_view(reading)
    one, two, three = st.columns(3, gap="medium")
    with one:
        layer = controls.layer_among(layers, first_layer)
    with two:
        head = controls.place("Head", "head", heads, first_head)
    with three:
        queries = attention(reading).queries
        query = controls.place("Query token", "token", len(queries), first_token, of=tuple(queries))
    with more:
        key, against = choose_keys(reading, layer, head, query)
    shown = views.why(reading, layer, head, query, key, against)
    with p.picture:
        left, right = st.columns([13, 7], gap="medium")
        with left:
            p.show(shown)
        with right:
            p.show(views.pairs(reading, layer, head, query, key, against))
    parts: ScoreParts = shown.result
    st.caption(f"Weights of '{text.visible(parts.queries[query])}' in head {layer}.{head}; click a key token:")
    text.chips(
        parts.keys,
        key="key chips",
        selected=key,
        shade=parts.weights.tolist(),
        label="Choose the key token",
        on_select=lambda i: controls.set_values(key=i),
    )
    if part_of(reading) != "cross":
        follow(parts)
    p.what_to_see(
        "Before it was a weight, it was a score: query times key. Both are read from the residual stream, a sum of all "
        "that was written there before, so the score is a sum over pairs: what wrote at the query by what wrote at the "
        "key. Look at the bars first. Of an induction head, look for the column of a previous-token head in a layer "
        "below, which put the token before the key into the key. Scores matter through their differences alone: under "
        "More settings subtract the score of another key, and see why it looks here and not there."
    )
    p.question(
        "Does a large cell mean that the head would look elsewhere without it?",
        "Not for certain. The cells add up to this score exactly, with the norms held at the values of this pass; "
        "without one of the writers the norms and all later layers would change, too. Zero ablation, on the page of "
        "interventions, measures that.",
    )


def choose_keys(reading: Reading, layer: int, head: int, query: int) -> tuple[int, int | None]:
    """The key, and the other key that it is compared with."""
    keys, seen = attention(reading).keys, keys_seen(reading, layer, head, query)
    names = {i: f"{i}: {text.visible(keys[i])}" for i in seen}
    key = controls.select(
        "Key token", "key", [STRONGEST, *seen], STRONGEST, {STRONGEST: "the one attended to most", **names}
    )
    than = controls.select(
        "Less the score of", "than", [NOTHING, *seen], NOTHING, {NOTHING: "nothing: the score itself", **names}
    )
    if key == STRONGEST:
        key = key_to_ask_about(reading, layer, head, query)
    return key, None if than in (NOTHING, key) else than


def follow(parts: ScoreParts) -> None:
    """Buttons that ask the same of the strongest heads that wrote at the query and at the key."""
    own = [source for source in parts.sources if source.writer.kind == "head"]
    if not own:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Follow what wrote there:", width="content")
        for source in own:
            st.button(
                _words(source),
                key=keys.own("button", f"follow {source.side} {source.writer.name}"),
                on_click=controls.set_values,
                kwargs={
                    "layer": source.writer.layer,
                    "head": source.writer.head,
                    "token": source.place,
                    "key": source.key,
                    "than": NOTHING,
                },
            )


def _words(source: HeadSource) -> str:
    one, other = text.visible(source.token), text.visible(source.key_token)
    return text.escape(f"{source.writer.name}: “{one}” → “{other}” ({source.weight:.2f}), adds {source.share:+.1f}")
