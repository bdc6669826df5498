"""Two models on one text: tokens, heads, weights, and the layers at which the difference comes in."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from pages.model.compare import choices
from pages.model.compare.facts import FACTS
from pages.ui import controls, fragments, notices, page, text
from pages.ui.components.figure import Event
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.reading import say_nothing_read, text_box
from pages.ui.work import progress
from tfcore import available
from tfcore.views.model import compare as views
from tfcore.views.sources import Reading

CHARACTERS = 1_000
STORY = (
    "Once upon a time there was a little dog named Max. Max had a red ball. One day the little dog lost the red ball."
)
TEXT = "The Amazon rainforest covers most of Brazil. In 1953, James Watson and Francis Crick described the structure of"
AGAIN = "Nine purple owls flew over the old barn. Nine purple owls flew over the old barn."
SINK = "It takes much of the weight in many models, whatever it is (an attention sink)."
FULL = 1.0  # nats of KL divergence from which on a chip has its full colour
TRY: dict[str, dict[str, Any]] = {
    "tuned on a play": {"model": "stories", "other": "stories@play", "text": STORY},
    "four bits": {"model": "smollm2", "other": "smollm2@int4/32", "text": TEXT},
    "two bits": {"model": "stories", "other": "stories@int2/32", "text": STORY},
    "chat template": {"model": "smollm2", "other": "smollm2@chat", "text": "What is the capital of France?"},
    "before induction": {"model": "induction@300", "other": "induction", "text": AGAIN},
    "other tokens": {"model": "smollm2", "other": "stories", "text": STORY, "look": "tokens"},
}


def tokens(p: Panel, reading: Reading, other: str) -> None:
    """The text coloured by KL divergence, its course, and the next token in both."""
    if (why := views.why_not_by_token(reading.model, other)) is not None:
        with p.picture:
            st.caption(text.escape(why))
            p.show(views.spans(reading, other))
        p.what_to_see(
            "Each piece of the text ends where both models end a token, so that both have said the same characters "
            "when they are compared. A piece costs the sum of the surprise of its tokens: a model that cuts it into "
            "many tokens may be sure of each, and one that has a single token for it pays once."
        )
    else:
        with p.picture:
            one_token(p, reading, other)
        p.what_to_see(
            "Colour and bars are the KL divergence of what both expect **after** each token, over the whole "
            "vocabulary. The surprise below is of the one token that came: it can be the same in both where the "
            "distributions differ, and may fall as well as rise. A mean hides this: most of the divergence falls on "
            "few tokens, often those where the first model was undecided."
        )
    p.question(
        "The mean surprise of both models on a text is the same. Do they predict the same?",
        "No. The surprise looks at one token per place, and gains in one place can balance losses in another. KL "
        "divergence is 0 only where all probabilities are the same, which is why what quantisation changes is measured "
        "by it.",
    )


@fragments.fragment
def one_token(p: Panel, reading: Reading, other: str) -> None:
    """The text, and one of its tokens looked at."""
    read = views.compared(reading, other)
    n = len(read.tokens)
    picture = st.container()
    token = controls.place("Token", "token", n, int(read.kl.argmax()), of=(reading, other))
    with picture:
        text.chips(
            read.tokens,
            key="kl",
            selected=token,
            shade=[float(kl) / FULL for kl in read.kl],
            titles=[f"KL {kl:.3g} nats" for kl in read.kl],
            on_select=lambda index: controls.set_values(token=index),
            label="The text, stronger where the two models expect different tokens next",
        )
        left, right = st.columns([3, 2], gap="medium")
        with left:
            p.show(views.tokens(reading, other, token), on_click=partial(take_token, n))
        with right:
            p.show(views.next_tokens(reading, other, token))


def take_token(count: int, event: Event) -> None:
    """A click on a bar chooses its token."""
    match event:
        case {"x": int(token)} if 0 <= token < count:
            controls.set_values(token=token)


def heads(p: Panel, reading: Reading, other: str) -> None:
    """Every head, and the two maps of one."""
    with p.picture:
        if (why := views.why_not_by_head(reading.model, other)) is not None:
            st.info(text.escape(why))
            return
        one_head(p, reading, other)
    p.what_to_see(
        "A field is the share of a head's attention weight that lies on other tokens in the second model, as a mean "
        "over the queries (total variation distance). A head may move a lot of weight and stay of its kind, when it "
        "only spreads wider; a dot marks those of another kind. Heads with little distance may still do something "
        "else: what they read and write from there is in W_V and W_O."
    )
    p.question(
        "Every head's map is the same in both models. Can their predictions differ?",
        "Yes. Maps say from where something is carried, not what: values, W_O and the feed-forward layers may all have "
        "changed. “Layers” measures all of it together.",
    )


@fragments.fragment
def one_head(p: Panel, reading: Reading, other: str) -> None:
    """The fields of all heads, and one of them looked at."""
    read = views.compared_heads(reading, other)
    (layers, n_heads), (layer, head) = read.distance.shape, read.furthest
    left, right = st.columns([3, 8], gap="medium")
    with right:
        maps = st.columns(2, gap="medium")
        with st.container(horizontal=True, gap="medium"):
            for key in ("layer", "head"):
                if controls.is_new(key, (reading, other)):
                    controls.renew(key, layer if key == "layer" else head)
            layer = controls.place("Layer", "layer", layers, layer)
            head = controls.place("Head", "head", n_heads, head)
    with left:
        p.show(views.heads(reading, other, layer, head), on_click=partial(take_head, layers, n_heads))
    with maps[0]:
        p.show(views.first_map(reading, other, layer, head))
    with maps[1]:
        p.show(views.second_map(reading, other, layer, head))


def take_head(layers: int, n_heads: int, event: Event) -> None:
    """A click on a field chooses its head."""
    match event:
        case {"x": int(head), "y": int(layer)} if 0 <= head < n_heads and 0 <= layer < layers:
            controls.set_values(layer=layer, head=head)


def weights(p: Panel, reading: Reading, other: str) -> None:
    """Every matrix: how far it moved, and on how many directions."""
    with p.picture:
        if (why := views.why_not_by_matrix(reading.model, other)) is not None:
            st.info(text.escape(why))
            return
        left, right = st.columns(2, gap="medium")
        with left:
            p.show(views.moved(reading.model, other))
        with right:
            p.show(views.ranks(reading.model, other))
    p.what_to_see(
        "Left, how large the difference is against the matrix itself; right, on how many directions it lies, as a "
        "share of all there are. Rounding errors are noise: they lie on about half of all directions, whatever the "
        "matrix does. An adapter of rank r cannot move more than r, and often most of its change is on fewer."
    )
    p.question(
        "Two changes of a matrix have the same norm: one is rounding noise, the other has rank 4. Which changes the "
        "predictions more?",
        "As a rule the second: training has chosen its directions so that what comes in there matters, and all of the "
        "norm lies on them. Noise is spread over all directions, and most of it meets little in the activations.",
    )


def layers(p: Panel, reading: Reading, other: str) -> None:
    """Streams of the first model in the second, layer by layer."""
    with p.picture:
        if (why := views.why_not_exchanged(reading.model, other)) is not None:
            st.info(text.escape(why))
            return
        progress.in_turn(
            lambda place: views.exchange_at(reading, other, place), views.exchange_places(other), "layer {}".format
        )
        one_prediction(p, reading, other)
    p.what_to_see(
        "The second model runs with the **first model's stream** before a block, at all tokens of the text, and from "
        "there on computes by itself. Put in early, everything above is still the second model's, and most of the "
        "divergence is left; put in late, nearly nothing is. Where the line falls, the block between does something "
        "else. It may rise as well: a block of the second model is made for a stream of its own."
    )
    p.question(
        "The line falls to 0 only after the last block. What does that say of the unembedding?",
        "That it is the same in both: with the first model's last stream in it the second predicts as the first does. "
        "If final norm and unembedding had changed, some divergence would be left.",
    )


@fragments.fragment
def one_prediction(p: Panel, reading: Reading, other: str) -> None:
    """The course over the layers, of the mean and of one token."""
    read = views.compared(reading, other)
    picture = st.container()
    token = controls.place("Token", "token", len(read.tokens), int(read.kl.argmax()), of=(reading, other))
    with picture:
        p.show(views.streams(reading, other, token))


SECTIONS: dict[str, Callable[[Panel, Reading, str], None]] = {
    "tokens": tokens,
    "heads": heads,
    "weights": weights,
    "layers": layers,
}

page.begin(FACTS, always=models.always())
box, beside = st.columns([2, 1], gap="medium")
with beside:
    first, second = choices.choose()
with box:
    usual = TEXT if choices.base_of(first) == models.REAL else STORY
    pasted = text_box(choices.base_of(first), "Text", "text", usual, CHARACTERS, height=110)
    section = controls.sections(FACTS.sections)
with panel(None) as p:
    there = {name: one for name, one in TRY.items() if choices.base_of(one["model"]) in available()}
    p.examples(there)
    hides = False
    if section == "heads":
        with p.controls, page.more_settings():
            hides = controls.toggle("Hide first token", "hide", help=SINK)
    reading = Reading(first, pasted, hide_sink=hides)
    try:
        read = views.begin(reading, second)
    except ValueError as problem:
        st.warning(text.escape(str(problem), text.MESSAGE))
        fragments.stop()
    notices.tokens(read.total, len(read.tokens))
    if not read.tokens:
        say_nothing_read(choices.base_of(first), pasted, "text", "There is no text yet: type or paste some.")
        fragments.stop()
    SECTIONS[section](p, reading, second)
