"""The page on heads: one attention score as a sum over what wrote at the query and what wrote at the key."""

from typing import Any

import streamlit as st

from pages.foundations.heads import experiments
from pages.foundations.heads.reading import TIRED, Choice, first_view
from pages.ui import cache, controls, keys, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from tfcore.analysis.foundations.score_findings import parts_table
from tfcore.analysis.foundations.score_parts import ScoreParts, Source, score_parts, seen_keys, strongest_key
from tfcore.analysis.foundations.score_writers import StreamPass, stream_pass, written
from tfcore.figures.foundations.score_parts import HEIGHT, PAIRS_WIDTH, WIDTH
from tfcore.measures.heads.part_texts import Part

STRONGEST = -1  # in place of a key: the one that the query attends to most
NOTHING = -1  # in place of the other key
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


@cache.shared(max_entries=4)
def _pass(model_name: str, pasted: str, part: Part | None, bos: bool | None) -> StreamPass | None:
    return stream_pass(*cache.model(model_name), pasted, part, bos=bos)


def why(choice: Choice) -> None:
    """The section about one score."""
    model_name, reading = choice.model_name, choice.reading
    run = _pass(model_name, choice.pasted, choice.part, choice.bos)
    assert run is not None  # the page has stopped where there is no token
    with choice.tries:
        page.try_this(examples())
    model = cache.model(model_name)[0]
    layers, heads = reading.found.heads.kind.shape
    picture = st.container()
    first_layer, first_head, first_token = first_view(choice)
    one, two, three = st.columns(3, gap="medium")
    with one:
        layer = controls.place("Layer", "layer", layers, first_layer)
    with two:
        head = controls.place("Head", "head", heads, first_head)
    with three:
        query = controls.place("Query token", "token", len(run.text.queries), first_token)
    key, against = choose_keys(choice, run, layer, head, query)
    found = score_parts(model, run, layer, head, query, key, against)
    shown = experiments.why(found)
    with picture:
        draw(found, shown)
    st.caption(f"Weights of '{text.visible(run.text.queries[query])}' in head {layer}.{head}; click a key token:")
    text.chips(
        run.text.keys,
        key="key chips",
        selected=key,
        shade=found.weights.tolist(),
        label="Choose the key token",
        on_select=lambda i: controls.set_values(key=i),
    )
    follow(found, run)
    page.what_to_see(
        "Before it was a weight, it was a score: query times key. Both are read from the residual stream, a sum of all "
        "that was written there before, so the score is a sum over pairs: what wrote at the query by what wrote at the "
        "key. Look at the bars first. Of an induction head, look for the column of a previous-token head in a layer "
        "below, which put the token before the key into the key. Scores matter through their differences alone: under "
        "More settings subtract the score of another key, and see why it looks here and not there."
    )
    page.question(
        "Does a large cell mean that the head would look elsewhere without it?",
        "Not for certain. The cells add up to this score exactly, with the norms held at the values of this pass; "
        "without one of the writers the norms and all later layers would change, too. Zero ablation, on the page of "
        "interventions, measures that.",
    )
    given = made(
        experiments.take_apart, model_name, choice.pasted, choice.part, choice.bos, layer, head, query, key, against
    )
    page.how_it_is_computed(
        page.experiment(experiments.why, given),
        page.experiment_of("The largest pairs", experiments.pairs, given),
        formula=(
            r"s_{qk} = \sum_{i,j} \frac{\langle R_q W_Q a_i,\; R_k W_K b_j \rangle}{\sqrt{d_{head}}} + b_{qk}, \qquad "
            r"\mathrm{norm}(x_q) = \sum_i a_i, \quad \mathrm{norm}(x_k) = \sum_j b_j"
        ),
        code=(score_parts, written),
        papers=(
            "QK circuit and composition: Elhage et al. 2021, transformer-circuits.pub/2021/framework; the norm held "
            "fixed: arXiv:2211.00593, section 3.1; rotation: arXiv:2104.09864, equation 34."
        ),
        terms=("attention head", "induction head"),
    )


def examples() -> dict[str, dict[str, Any]]:
    """Scores worth a look, of the models that are here."""
    there = models.names()
    usual = {"than": NOTHING, "bos": "as usual"}
    return {name: {**usual, **values} for name, values in TRY.items() if values["model"] in there}


def choose_keys(choice: Choice, run: StreamPass, layer: int, head: int, query: int) -> tuple[int, int | None]:
    """Controls for the key, and for the other key that it is compared with."""
    model, keys = cache.model(choice.model_name)[0], run.text.keys
    seen = seen_keys(model, run, layer, head, query)
    names = {i: f"{i}: {text.visible(keys[i])}" for i in seen}
    with choice.more:
        key = controls.select(
            "Key token", "key", [STRONGEST, *seen], STRONGEST, {STRONGEST: "the one attended to most", **names}
        )
        than = controls.select(
            "Less the score of", "than", [NOTHING, *seen], NOTHING, {NOTHING: "nothing: the score itself", **names}
        )
    if key == STRONGEST:
        key = strongest_key(model, run, layer, head, query, choice.reading.sink.tolist())
    return key, None if than in (NOTHING, key) else than


def draw(found: ScoreParts, shown: Any) -> None:
    """The matrix, and the largest pairs beside it."""
    left, right = st.columns([13, 7], gap="medium")
    with left:
        figure(
            shown.figure,
            key="why",
            alt=shown.alt,
            height=HEIGHT,
            min_width=WIDTH,
            caption=shown.caption,
            table=lambda: parts_table(found),
            cursor=True,
        )
    with right:
        listed = experiments.pairs(found)
        figure(
            listed.figure,
            key="pairs",
            alt=listed.alt,
            height=HEIGHT,
            min_width=PAIRS_WIDTH,
            caption="The ten largest pairs, query × key, and all others together.",
            table=lambda: parts_table(found),
        )


def follow(found: ScoreParts, run: StreamPass) -> None:
    """Buttons that ask the same of the strongest heads that wrote at the query and at the key."""
    own = [source for source in found.sources if run.part != "cross" and source.writer.kind == "head"]
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


def _words(source: Source) -> str:
    one, other = text.visible(source.token), text.visible(source.key_token)
    return text.escape(f"{source.writer.name}: “{one}” → “{other}” ({source.weight:.2f}), adds {source.share:+.1f}")
