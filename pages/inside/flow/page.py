"""The river: a text through all layers of a model at once, traced back from the next token."""

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.flow.facts import FACTS
from pages.ui import beside, controls, fragments, head_links, in_your_text, keys, notices, page, text
from pages.ui import flow as river
from pages.ui.flow import DrawnFlow
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import say_nothing_read, text_box
from tfcore.config import Architecture, ModelConfig
from tfcore.measures.effect_metric import Kind, Quantity
from tfcore.views.inside import flow as views
from tfcore.views.inside.flow import TOKENS
from tfcore.views.inside.flow.measure.heads import HeadEffects
from tfcore.views.inside.flow.measure.passages import Passage
from tfcore.views.sources import Reading
from tfcore.views.view import View

CHARACTERS = 1_500
ROWS = 30  # of the table of routes
REAL = "smollm2"
PRONOUN = "Sam was a little boy. One day, Sam said that"
BALL = "Once upon a time there was a little dog named Max. Max lost his red ball. One day Max found the red"
NAMES = "When Mary and John went to the store, John gave a drink to"
CAPITAL = "The capital of France is Paris. The capital of Italy is"
TIRED = "The animal didn't cross the street because it was too tired."
MASKED = "The dog was very ___ because he had lost his bone."
BOOK = "She gave me a red book yesterday."
FIRST = {REAL: NAMES, "fill": MASKED, "translate": BOOK, "minilm": TIRED}
NONE = {"heads": "", "by": "prediction", "word": 0, "open": "", "zoom": "", "widths": river.STATE}
TRY: dict[str, dict[str, Any]] = {
    "he or she?": {**NONE, "model": "stories", "text": PRONOUN},
    "head 2.5 off": {**NONE, "model": "stories", "text": PRONOUN, "heads": "2.5*0"},
    "head 2.5 turned round": {**NONE, "model": "stories", "text": PRONOUN, "heads": "2.5*-2"},
    "a masked token": {**NONE, "model": "fill", "text": MASKED, "token": 5},
    "a translation": {**NONE, "model": "translate", "text": BOOK, "token": 4},
    "a red ball again": {**NONE, "model": "stories", "text": BALL},
}
TRY_REAL: dict[str, dict[str, dict[str, Any]]] = {
    REAL: {
        "Mary or John?": {**NONE, "model": REAL, "text": NAMES},
        "the capital of Italy": {**NONE, "model": REAL, "text": CAPITAL},
    },
    "minilm": {
        "what “it” takes in": {"heads": "", "open": "", "zoom": "", "model": "minilm", "text": TIRED, "token": 10}
    },
}

HEADS = (
    "Each dot at a layer is a head, as large as the effect of switching it off: click it, or drag it up and down. "
    "Width and effect are different things: a wide ribbon may carry what later layers do not use, and a thin one what "
    "all depends on. With + and − (or by pinching), go from the river to a layer, to what one head looks at, to "
    "the numbers of one of its weights, and back."
)
WORDS = (
    "Click one of the next tokens, and widths become shares of what raises its logit (with the Shift key: of what "
    "raises it above that of a second one); click it again, or press Escape, and they are shares of the state again."
)
WHAT_TO_SEE: dict[Architecture, str] = {
    "decoder": (
        "Follow the golden stream of the last token back from the next tokens: it is the state that predicts. Where a "
        "ribbon joins it, a head brought something from another token; its colour is the kind of the head. The words "
        "along the stream are what the model would say if it stopped there (logit lens). Click another token of the "
        f"text, and the prediction after that one is traced. {WORDS} {HEADS}"
    ),
    "encoder": (
        "Follow the golden stream of the token that is explained back from the last layer: ribbons may join it from "
        "both sides, as a token of an encoder can attend to those after it, too. Click another token to explain that "
        f"one. {HEADS}"
    ),
    "encoder-decoder": (
        "Above are the tokens that were read, below those written so far; the last of these predicts the next. "
        "In the encoder nothing goes from one part to the other; in the layers of cross-attention ribbons bring what "
        "was read to what is written. Choose another token of the translation, and see which words it is made from. "
        f"{HEADS}"
    ),
}
OF_CLASSES = (
    "Follow the golden stream back from the classes: it is the state of the token at which this model reads what class "
    "a text has. Where a ribbon joins it, a head brought something from another token; its colour is the kind of the "
    "head. The words along the stream are the class that the model would name if it stopped there. Click one of the "
    f"classes, and the heads are measured on it. {HEADS}"
)
OF_MIXERS = (
    " A layer that has a state or a convolution in the place of attention, or beside it, has one dot for that, its "
    "mixer; its ribbons are what it brings from the values of each token, with its gates held as they are."
)
OF_BOTH_STACKS = (
    "Above is the text as the encoder reads it, below as the decoder does, one place further on, and cross-attention "
    "brings from the one to the other. "
)
QUESTION = (
    "Switch off the head of the widest ribbon. Does the prediction change as much as the ribbon is wide?",
    "Often not. The width says how much of the state came that way, not whether later layers use it, and where a "
    "head is missing, others may take its place. The size of the dot answers that question: it is the effect of "
    "switching the head off, estimated at first where the model is large, and then measured.",
)


def why_not(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why a model cannot be shown, or None: a decoder has to say what comes next, or what class a text has."""
    if config.architecture == "decoder" and config.classes is None:
        return models.silent(config, tokenizer)
    return models.other_scores(config) or models.reads_mean(config)


def choose_token(passage: Passage, architecture: Architecture) -> int | None:
    """A control for the token that is explained; None: the last of a decoder."""
    labels = river.token_labels(passage)
    label = "Token of the translation" if passage.written else "Token explained"
    chosen = controls.select(label, river.TOKEN, list(labels), passage.choice, labels, of=passage.choices)
    return None if architecture == "decoder" and chosen == passage.choice else chosen


def choose_explained(drawn: DrawnFlow) -> Quantity | None:
    """Controls for what heads are measured on; nothing to choose of a model without a language head."""
    if not drawn.ranked:
        return None
    kinds: tuple[Kind, ...] = ("prediction", "difference", "text")
    name, config = None, views.network(drawn.reading).config
    if config.architecture == "decoder" and config.scores_tokens and config.mixer is None:
        if drawn.choice is None:
            name = metric.rival(drawn.model, drawn.pasted, TOKENS)
    else:
        kinds = kinds[:2]
    return metric.choose(metric.Candidates(drawn.model, tuple(drawn.ranked), name), kinds)


def compare(drawn: DrawnFlow, explained: Quantity | None, effects: HeadEffects) -> pd.DataFrame | None:
    """Which heads come first by share of the state, by share of the logit and by effect, in a sentence; returns all
    three as a table. None where a head is changed, as effects are those of the model as it is, where it has no share,
    and where the whole text is explained."""
    if explained is None or explained.kind == "text" or drawn.heads:
        return None
    comparison = views.compared(drawn.reading, drawn.flow, explained, effects)
    if comparison is None:
        return None
    said, table = comparison
    if effects.values.any():
        st.markdown(f"**Three measures.** {text.escape(said)}")
        head_links.sheets(drawn.model, head_links.largest(effects.values))
    return table


def explain_word(drawn: DrawnFlow, explained: Quantity | None, place: int) -> None:
    """A click on a next token: that one is explained."""
    alone = explained is None or explained.kind == "text" or drawn.ranked[place] == explained.against
    controls.set_values(word=place, **({"by": "prediction"} if alone else {}))


def compare_with(place: int) -> None:
    """A click on another with the Shift key: the difference of the two is explained."""
    controls.set_values(by="difference", against=place)


def show_numbers(p: Panel, shares: View, measures: pd.DataFrame | None) -> None:
    """The shares as a map, the widest routes and the three measures as tables."""
    p.show(shares)
    routes, heads = st.columns(2, gap="medium")
    routes.dataframe(shares.numbers().head(ROWS), hide_index=True)
    if measures is not None:
        heads.dataframe(measures, hide_index=True, height=35 * ROWS)


page.begin(FACTS, always=models.always())
box, menu = st.columns([4, 1], vertical_alignment="bottom")
with menu:
    model = models.choose(why_not=why_not, default=models.first(), reads="the stream")
with box:
    pasted = text_box(model, "Text", "text", FIRST.get(model, PRONOUN), CHARACTERS, height=68, named=False)
second = st.container(horizontal=True)
offer_real(model, pasted)
real = {name: does for one, group in TRY_REAL.items() if one in models.fitting() for name, does in group.items()}
with panel(None) as p:
    p.examples({**real, **TRY})
    reading = Reading(model, pasted)
    config = views.network(reading).config
    architecture: Architecture = config.architecture
    usual = views.passage_of(reading, None)
    notices.tokens(usual.total, len(usual.ids), which="first" if usual.written else "last")
    if not pasted.strip() or not usual.ids:
        say_nothing_read(model, pasted, "text", "There is no text yet: type or paste some above, or pick an example.")
        fragments.stop()
    opened = river.asked_layers(model)
    has_choice = len(usual.choices) > 1
    # else no highlights of it are looked for
    of_each = config.classes is not None and config.classes.place == "each"
    is_read_alike = not usual.written and usual.blank not in usual.ids and not of_each
    if is_read_alike:
        in_your_text.above(pasted)
    stage = st.container()
    if is_read_alike:
        in_your_text.reserve()
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    with row, page.more_settings():
        threshold = controls.slider(
            "Follow routes of at least (% of a sum)",
            "threshold",
            0.0,
            5.0,
            0.0,
            0.5,
            help="0 follows everything, and the streams of every layer add up to 1. Unlike in arXiv:2403.00824, shares "
            "are multiplied along a route, what is cut off is not shared out again, and the stream itself is always "
            "followed",
        )
        choice = choose_token(usual, architecture)
        other = beside.choose(reading, PRONOUN, CHARACTERS, TOKENS, place=second, of=architecture, why_not=why_not)
    with row:
        drawn = river.read(model, pasted, choice, threshold / 100)
        explained = choose_explained(drawn)
        sampling = None
        if architecture == "decoder" and config.scores_tokens:
            button = st.container(width="content")
            sampling = river.choose_sampling()
            with button:
                river.write(drawn, sampling)
        river.restore(drawn)
    state, drawn = drawn, river.toward(drawn, explained)
    with stage:
        effects = river.show(
            drawn,
            opened,
            explained,
            sampling,
            partial(explain_word, drawn, explained),
            compare_with,
            None if usual.written or not has_choice else river.choose_token,
            p.show,
        )
    if other is not None:
        p.show(views.beside(reading, choice, other, threshold / 100))
    measures = compare(state, explained, effects)
    # beside the river, before its numbers
    of_classes = f"{OF_BOTH_STACKS if config.reads_twice else ''}{OF_CLASSES}"
    of_mixers = "" if config.mixer is None else OF_MIXERS
    page.what_to_see((WHAT_TO_SEE[architecture] if config.classes is None else of_classes) + of_mixers)
    if explained is not None and architecture == "decoder" and config.scores_tokens:
        whole = _reading.read(model, pasted, TOKENS)
        metric.elsewhere("the flow of information", whole, explained, drawn.passage.target)
    shares = views.routes(reading, choice, threshold / 100, drawn.heads, drawn.flow.toward)
    p.views[shares.key] = shares  # computed as the river is, and drawn where it is opened: that need not wait for it
    numbers = st.expander("The same as numbers", page.OPEN, key=keys.own("expander", "numbers"), on_change="rerun")
    if numbers.open:
        with numbers:
            show_numbers(p, shares, measures)
    p.question(*QUESTION)
if is_read_alike:
    shows = river.in_river if has_choice else river.in_one_river
    in_your_text.fill(reading, TOKENS, shows, river.begins_with(pasted) if config.classes is None else None)
