"""The page on architectures: each kind at its own work, by a model that ships with the app."""

import streamlit as st

from pages.ui import controls, fragments, head_links, text
from pages.ui.components.figure import Event
from pages.ui.frame import panel
from pages.ui.loading import models
from tfcore.views.model import architectures as views
from tfcore.views.model.architectures import BLANK, MOST, NEW, TOP

CHARACTERS = 400  # of a text
ONE_HEAD = f"Choose one head, of a sentence of at most {MOST} tokens, to open why it looks where it does."
TEXTS = {
    "translate": "She gave me a red book yesterday.",
    "fill": "The dog was very ___ because he had lost his bone.",
    "stories": "Once upon a time there was a little girl named Lily. She liked to",
}


@fragments.fragment
def translate_job() -> None:
    """Read a sentence, write another, and show where each word came from."""
    with panel(None) as p, p.picture:
        models.only("translate", "of those that ship, it alone was trained to translate.")
        sentence = controls.text_area("English sentence", "sentence", TEXTS["translate"], CHARACTERS, height=68)
        if not sentence.strip():
            st.info("There is no sentence yet: type one in English, short and plain.")
            return
        translated = views.translated_of("translate", sentence, MOST, TOP)
        layers, heads, n, _ = translated.writing.patterns.shape
        picture, beside = st.columns([3, 2], gap="large")
        with beside:
            layer = controls.place("Layer", "layer", layers, layers - 1)
            whose = controls.select(
                "Head", "head", ["mean", *map(str, range(heads))], "mean", {"mean": "mean of all heads"}
            )
            head = None if whose == "mean" else int(whose)
            step = controls.place("Target token", "step", n, 6)
            p.show(views.target_token("translate", sentence, step))
        with picture:
            text.chips(
                translated.target,
                key="translation",
                selected=step,
                label="The translation, token by token",
                on_select=lambda index: controls.set_values(step=index),
            )
            there = None if head is None else head_links.HeadOfText("translate", sentence, layer, head, part="cross")
            there = None if translated.source[MOST:] else there  # the page on heads reads the whole sentence
            weights = translated.weights(layer, head)
            p.show(
                views.translation("translate", sentence, layer, head, step),
                on_click=head_links.on_cell(there, weights),
                hint=head_links.caption("", there, ONE_HEAD),
            )
            if there is not None:
                there.link(step, int(weights[step].argmax()), translated.target, translated.source)
        p.show(
            views.every_head("translate", sentence, layer, head), on_click=choose_head, hint="Click one to enlarge it."
        )
        p.what_to_see(
            "In the mean of the last layer the strong cells follow the diagonal where both languages have the same "
            "order of words, and leave it where they have not: in the first example *red book* becomes *livre rouge*, "
            "*gave me* becomes *me donna*. No alignment of words was given in training; it was learned from pairs of "
            "sentences."
        )


def choose_head(event: Event) -> None:
    """A click on one of the small maps."""
    match event["customdata"]:
        case [int(layer), int(head)]:
            controls.set_values(layer=layer, head=str(head))


@fragments.fragment
def fill_job() -> None:
    """Both sides of a blank, against the left side alone."""
    with panel(None) as p, p.picture:
        models.only("fill and stories", "they were trained on the same stories, one bidirectional and one causal.")
        pasted = controls.text_area(
            f"Text with {BLANK} for each masked token", "blanks", TEXTS["fill"], CHARACTERS, height=80
        )
        masked = views.masked_of("fill", pasted, BLANK, TOP)
        if not masked.places:
            st.info(f"There is no masked token yet: write {BLANK}, three underscores, in place of a word.")
            return
        chosen = controls.place("Masked token", "blank", len(masked.places))
        before = pasted.split(BLANK)
        left = "".join(before[: chosen + 1]).removesuffix(" ")
        text.chips(
            masked.tokens, key="text with blanks", selected=masked.places[chosen], label="The text, token by token"
        )
        one, other = st.columns(2, gap="large")
        with one:
            st.markdown("**The encoder: bidirectional**")
            p.show(views.both_sides("fill", pasted, chosen))
        with other:
            st.markdown("**The decoder: causal**")
            if views.continued_of("stories", left, 0, NEW, TOP).prediction is not None:
                p.show(views.left_side("stories", left, masked.places[chosen]))
            else:
                st.info("Nothing comes before this token, so a decoder has nothing to predict it from.")
        p.what_to_see(
            "Change the words *after* the masked token, say *because he had lost his bone* into *and ate all the "
            "food*: the encoder's prediction changes; the decoder's cannot, because it attends only to what comes "
            "before. The encoder, in turn, is not trained to generate text from left to right."
        )


@fragments.fragment
def continue_job() -> None:
    """One token after the other."""
    with panel(None) as p, p.picture:
        models.only("stories", "it stands for its kind beside the other two; the page on generation lets yours write.")
        pasted = controls.text_area("Beginning of a story", "beginning", TEXTS["stories"], CHARACTERS, height=80)
        new = controls.slider("Max new tokens", "new", 0, NEW, 12)
        continued = views.continued_of("stories", pasted, new, NEW, TOP)
        if continued.prediction is None:
            st.info("There is no beginning yet: type a few words.")
            return
        left, right = st.columns(2, gap="large")
        with left:
            st.markdown(f"{text.escape(pasted)}**{text.escape(''.join(continued.tokens))}**")
            text.chips(continued.tokens, key="continuation", label="The continuation, token by token")
            st.caption(f"{new} tokens, each the likeliest one (greedy), appended before the next is predicted.")
        with right:
            p.show(views.continuation("stories", pasted, new))
        p.what_to_see(
            "A decoder predicts the next token, and generates text by appending one and predicting again "
            "(autoregressive). In training every token of a text is predicted from those before it, all in one pass."
        )


SHOW = {"translate": translate_job, "fill": fill_job, "stories": continue_job}
