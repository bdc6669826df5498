"""The page on architectures: each kind at its own work, by a model that ships with the app."""

import pandas as pd
import streamlit as st

from pages.model.architectures import experiments as experiments
from pages.ui import cache, controls, fragments, head_links, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.loading import models
from pages.ui.program import made
from tfcore.analysis.model import architectures
from tfcore.analysis.model.architectures import Prediction, Translated
from tfcore.figures.shown import Shown
from tfcore.generation.generate import generate
from tfcore.measures.masked_tokens import fill_masked, guesses
from tfcore.measures.translation import writing

CHARACTERS = 400  # of a text
BLANK = "___"
TOP = 8  # tokens of a prediction
MOST = 48  # tokens of a sentence that are translated
ONE_HEAD = f"Choose one head, of a sentence of at most {MOST} tokens, to open why it looks where it does."
NEW = 24  # tokens that a story is continued by at most
TEXTS = {
    "translate": "She gave me a red book yesterday.",
    "fill": "The dog was very ___ because he had lost his bone.",
    "stories": "Once upon a time there was a little girl named Lily. She liked to",
}

translated = cache.of_model(max_entries=64)(architectures.translated)
masked = cache.of_model(max_entries=64)(architectures.masked)
continued = cache.of_model(max_entries=64)(architectures.continued)


def numbered(tokens: tuple[str, ...]) -> list[str]:
    """Names of columns, no two the same."""
    return [f"{place} {token}" for place, token in enumerate(tokens)]


def bars(shown: Shown, found: Prediction, key: str) -> None:
    """One distribution."""
    figure(
        shown.figure,
        key=key,
        alt=shown.alt,
        height=280,
        caption=shown.caption,
        table=lambda: pd.DataFrame({"token": found.tokens, "probability": found.probabilities}),
    )


@fragments.fragment
def translate_job() -> None:
    """Read a sentence, write another, and show where each word came from."""
    models.only("translate", "of those that ship, it alone was trained to translate.")
    sentence = controls.text_area("English sentence", "sentence", TEXTS["translate"], CHARACTERS, height=68)
    if not sentence.strip():
        st.info("There is no sentence yet: type one in English, short and plain.")
        return
    found = translated("translate", sentence, MOST, TOP)
    layers, heads, n, _ = found.writing.patterns.shape
    picture, beside = st.columns([3, 2], gap="large")
    with beside:
        layer = controls.place("Layer", "layer", layers, layers - 1)
        views = ["mean", *map(str, range(heads))]
        view = controls.select("Head", "head", views, "mean", {"mean": "mean of all heads"})
        head = None if view == "mean" else int(view)
        step = controls.place("Target token", "step", n, 6)
        expected = found.predictions[step]
        bars(experiments.predicted(expected), expected, "next")
    with picture:
        text.chips(
            found.target,
            key="translation",
            selected=step,
            label="The translation, token by token",
            on_select=lambda index: controls.set_values(step=index),
        )
        shown = experiments.translation(found, layer, head, step)
        there = None if head is None else head_links.HeadOfText("translate", sentence, layer, head, part="cross")
        there = None if found.source[MOST:] else there  # the page on heads reads the whole sentence
        weights = found.weights(layer, head)
        figure(
            shown.figure,
            key="alignment",
            height=460,
            min_width=320,
            cursor=True,
            alt=shown.alt,
            on_click=head_links.on_cell(there, weights),
            caption=head_links.caption(shown.caption, there, ONE_HEAD),
            table=lambda: pd.DataFrame(weights, index=found.target, columns=numbered(found.source)).reset_index(
                names="written"
            ),
        )
        if there is not None:
            there.link(step, int(weights[step].argmax()), found.target, found.source)
    every_head(found, layer, head)
    page.what_to_see(
        "In the mean of the last layer the strong cells follow the diagonal where both languages have the same order "
        "of words, and leave it where they have not: in the first example *red book* becomes *livre rouge*, *gave me* "
        "becomes *me donna*. No alignment of words was given in training; it was learned from pairs of sentences."
    )
    given = made(architectures.translated, "translate", sentence, MOST, TOP)
    page.how_it_is_computed(page.experiment(experiments.translation, given, layer, head, step), code=(writing,))


def every_head(found: Translated, layer: int, head: int | None) -> None:
    """All maps of the cross-attention, small; a click chooses one."""
    shown = experiments.every_head(found, layer, head)
    figure(
        shown.figure,
        key="heads",
        height=420,
        min_width=460,
        on_click=choose_head,
        alt=shown.alt,
        caption=f"{shown.caption} Each as layer.head; rows are target tokens (queries), columns source tokens (keys). "
        "Click one to enlarge it.",
    )


def choose_head(event: Event) -> None:
    """A click on one of the small maps."""
    match event["customdata"]:
        case [int(layer), int(head)]:
            controls.set_values(layer=layer, head=str(head))


@fragments.fragment
def fill_job() -> None:
    """Both sides of a blank, against the left side alone."""
    models.only("fill and stories", "they were trained on the same stories, one bidirectional and one causal.")
    pasted = controls.text_area(
        f"Text with {BLANK} for each masked token", "blanks", TEXTS["fill"], CHARACTERS, height=80
    )
    found = masked("fill", pasted, BLANK, TOP)
    if not found.places:
        st.info(f"There is no masked token yet: write {BLANK}, three underscores, in place of a word.")
        return
    chosen = controls.place("Masked token", "blank", len(found.places))
    before = pasted.split(BLANK)
    left = "".join(before[: chosen + 1]).removesuffix(" ")
    text.chips(found.tokens, key="text with blanks", selected=found.places[chosen], label="The text, token by token")
    one, other = st.columns(2, gap="large")
    with one:
        st.markdown("**The encoder: bidirectional**")
        bars(experiments.blank(found, chosen), found.predictions[chosen], "both sides")
    with other:
        st.markdown("**The decoder: causal**")
        what = f"The decoder's prediction, from the {found.places[chosen]} tokens before it"
        alone = continued("stories", left, 0, NEW, TOP, what)
        if alone.prediction is not None:
            bars(experiments.continuation(alone), alone.prediction, "left side")
        else:
            st.info("Nothing comes before this token, so a decoder has nothing to predict it from.")
    page.what_to_see(
        "Change the words *after* the masked token, say *because he had lost his bone* into *and ate all the food*: "
        "the encoder's prediction changes; the decoder's cannot, because it attends only to what comes before. The "
        "encoder, in turn, is not trained to generate text from left to right."
    )
    page.how_it_is_computed(
        page.experiment(experiments.blank, made(architectures.masked, "fill", pasted, BLANK, TOP), chosen),
        code=(guesses, fill_masked),
    )


@fragments.fragment
def continue_job() -> None:
    """One token after the other."""
    models.only("stories", "it stands for its kind beside the other two; the page on generation lets yours write.")
    pasted = controls.text_area("Beginning of a story", "beginning", TEXTS["stories"], CHARACTERS, height=80)
    new = controls.slider("Max new tokens", "new", 0, NEW, 12)
    asked = (pasted, new, NEW, TOP, "The next token after the text")
    found = continued("stories", *asked)
    if found.prediction is None:
        st.info("There is no beginning yet: type a few words.")
        return
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"{text.escape(pasted)}**{text.escape(''.join(found.tokens))}**")
        text.chips(found.tokens, key="continuation", label="The continuation, token by token")
        st.caption(f"{new} tokens, each the likeliest one (greedy), appended before the next is predicted.")
    with right:
        bars(experiments.continuation(found), found.prediction, "next token")
    page.what_to_see(
        "A decoder predicts the next token, and generates text by appending one and predicting again (autoregressive). "
        "In training every token of a text is predicted from those before it, all in one pass."
    )
    page.how_it_is_computed(
        page.experiment(experiments.continuation, made(architectures.continued, "stories", *asked)), code=(generate,)
    )


SHOW = {"translate": translate_job, "fill": fill_job, "stories": continue_job}
