"""Schemes compared: on shuffled words, on one head of a trained model, and beyond the trained length."""

from typing import Any

import streamlit as st

from pages.ui import controls, notices
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from tfcore.config import ModelConfig
from tfcore.input_checks import other_mixer
from tfcore.views.foundations import positions as views
from tfcore.views.foundations.positions.say import NAMES, TITLES, losses_and_rises

# ---- shuffled words ----

SHUFFLED = "the dog bites the man and runs away"
WORDS = 24  # of a text that is shuffled


def none() -> None:
    """Without positions: shuffle the words and see whether the model notices."""
    st.markdown(
        "**Without positions a bidirectional Transformer cannot tell “dog bites man” from “man bites dog”** "
        "(permutation equivariance): shuffle the words, and the outputs are the same vectors, shuffled."
    )
    with panel() as p:
        p.examples(
            {
                "without positions": {"look": "none", "causal": False},
                "with RoPE": {"look": "rope"},
                "with a causal mask": {"look": "none", "causal": True},
                "repeated words": {"text": "no no no yes no no"},
            }
        )
        with p.controls:
            pasted = controls.text_area("Text", "text", SHUFFLED, 300, height=80)
            number = controls.slider("Shuffle number", "shuffle", 1, 20, 1)
            look = controls.select("Positions of the outputs shown", "look", list(TITLES), "none", TITLES)
            is_causal = controls.toggle(
                "Causal mask", "causal", False, help="Each token attends only to itself and those before it"
            )
        words = tuple(pasted.split()[:WORDS])
        with p.picture:
            if len(words) < 2:
                st.info("One word cannot be shuffled: type at least two, with a space between them.")
            if pasted.split()[WORDS:]:
                st.caption(f"The first {WORDS} words are used.")
            p.show(views.shuffled(words, number, is_causal, look))
        p.show(views.outputs(words, number, is_causal, look))
        p.what_to_see(
            "Without positions and without a mask the left and the right table are the same to the last digits: what "
            "is left is the order in which the sums are rounded. With a scheme they differ where the shuffle changes "
            "what it measures: ALiBi, which here counts distances in both directions, cannot tell a text from its "
            "reverse. With a causal mask even the model without positions notices, because each token attends to "
            "another number of tokens. Computed by a Transformer of two layers, four heads and random weights (the "
            "same seed for every scheme)."
        )
        p.question(
            "Two equal words in a text: can a model without positions give them different outputs?",
            "Not without a causal mask: the same embedding and the same keys and values give the same output. Try "
            "“repeated words” and compare the rows. With positions they differ.",
        )


# ---- one head ----

MODEL = "stories"
CHARACTERS = 2_000
TEXT = (
    "Once upon a time there was a little dog named Max. Max had a red ball. One day the little dog lost the red ball."
)


def no_use(config: ModelConfig, _: object) -> str | None:
    """Why a model is of no use here."""
    if config.mixer_of(0) != "attention":
        return f"{other_mixer(config)}, which knows the order of tokens before any position is given."
    if config.positions.kind in ("rope", "learned"):
        return None
    return f"its positions are {config.positions.kind}, and the experiment needs a model with RoPE or learned ones."


def together() -> None:
    """Every scheme in turn on one head of a trained model."""
    st.markdown(
        "**One head, one text, every scheme in turn**: queries and keys of a trained model before they know any "
        "position, then with each scheme's own positions. Learned position embeddings belong to the model that learned "
        "them: choose one that did, and they are the fifth."
    )
    with panel() as p:
        p.examples(
            {
                "a local head": {"model": MODEL, "of_head": 1},
                "a head that reaches farther": {"model": MODEL, "of_head": 4},
                "hardly changed by RoPE": {"model": MODEL, "of_head": 5},
                "with learned positions": {"model": "stories-learned", "of_head": 0},
                "one word repeated": {"said": "no no no no no no no no no no no no"},
            }
        )
        with p.controls:
            row = controls.text_row()
            model_name = models.choose("decoder", default=MODEL, why_not=no_use, reads="the stream")
            pasted = text_box(model_name, "Text", "said", TEXT, CHARACTERS, height=120, row=row, end="first")
            head = controls.place("Head of the first layer", "of_head", models.config(model_name).attention.n_heads)
        if not pasted:
            st.info("There is no text yet: type or paste some.")
            return
        read = first_tokens(model_name, pasted, views.TOKENS)
        notices.tokens(read.total, len(read.ids), which="first")
        if not read.ids:
            said = "The tokenizer of this model makes no token of this text: type something else."
            say_nothing_read(model_name, pasted, "said", said)
            return
        shown = views.together(model_name, pasted, head)
        with p.picture:
            p.show(views.added(model_name, pasted, head))
            p.show(shown)
            st.dataframe(shown.numbers(), hide_index=True)
        trained = NAMES[models.config(model_name).positions.kind]
        p.what_to_see(
            "ALiBi adds the same biases to every text. RoPE's change depends on the content of both tokens and on the "
            "distance. Sinusoidal vectors go through W_Q and W_K like any other input, so their change depends on both "
            f"positions and on the content. This model was trained with {trained} positions, so only that picture is "
            "what the head computes; the others show what each scheme would do to the same head."
        )
        p.question(
            "Take a text of one word repeated. With which schemes do the weights of a row still differ?",
            "With all of them: only without positions is every row of weights uniform. With ALiBi and RoPE the weights "
            "depend on the distance, with position embeddings on both positions: try it with the last button.",
        )


# ---- beyond the trained length ----

TRY: dict[str, dict[str, Any]] = {
    "the rise of all schemes": {"shown": [], "rise": True},
    "learned against ALiBi": {"shown": ["learned", "alibi"], "rise": True},
    "RoPE against none": {"shown": ["rope", "none"], "rise": False},
    "the losses themselves": {"shown": [], "rise": False},
}


def beyond() -> None:
    """How far each scheme carries beyond the length it was trained at."""
    losses = views.measured()
    if losses is None or set(losses.loss) != set(NAMES):
        st.info("The models of this panel are not trained yet: their recipe is ladder-positions.")
        return
    with panel(None) as p:
        p.examples(TRY)
        schemes = controls.several("Schemes", "shown", list(losses.loss), NAMES)
        rise = controls.toggle("Rise of the loss over the trained length", "rise", default=False)
        with p.picture:
            p.show(views.beyond(schemes, rise))
        st.markdown(
            f"**Length extrapolation.** {len(NAMES)} decoders, alike in all but their positions, were trained on "
            f"sequences of {losses.trained} tokens, with {len(losses.loss['none'])} seeds each, and then evaluated on "
            f"sequences of {int(losses.ends[-1])}."
        )
        p.what_to_see(
            f"{losses_and_rises(losses, NAMES)} Right of the dotted line sinusoids and "
            "rotations come in combinations that were not in the training data. Learned position embeddings beyond it "
            "were never trained: they are still random. ALiBi's bias goes on as a straight line."
        )
        p.question(
            "A model without positions has no information about order, has it? Why is its loss not far worse?",
            "Under a causal mask it has: the first token attends to itself alone, the tenth to ten, and a head with "
            "uniform weights depends on how many there are (arXiv:2203.16634). The order of those before is harder to "
            "infer.",
        )
