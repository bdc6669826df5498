"""A section of the page on information: the surprisal of each token of a text, and models beside compressors on it."""

import numpy as np
import streamlit as st

from pages.training.information import models as information_models
from pages.ui import cache, controls, fragments, links, notices, text
from pages.ui.frame import Panel, panel
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import say_nothing_read, text_box
from pages.ui.work import progress
from tfcore import shipped
from tfcore.measures.text_loss import TextBits
from tfcore.tokenizers.tokenizer import unmarked
from tfcore.views.training import information as views
from tfcore.views.training.information.measure.text_bits import cut_bytes
from tfcore.views.training.information.say.text_bits import (
    few_tokens,
    first_token,
    perplexity_landmarks,
    text_cost,
    token_surprisal,
)

CHARACTERS = 2_000
BYTES = 2_000  # of the text that are used
CHIPS = 600  # tokens that are drawn
NOTED = 160  # tokens up to which the bits are written under each
FULL = 12  # bits from which on a chip has its full colour
TEXT = (
    "Once upon a time, there was a little girl named Lily. She had a red ball. One day the ball rolled away, and a "
    "dragon ate it. Lily was very sad."
)
NEWS = (
    "Scientists announced on Tuesday that they had found a new species of frog. The scientists found the frog in a "
    "forest in the north of Madagascar, where the species lives in the crowns of trees."
)
METRICS = {
    "bits per token": "mean surprisal: the model's cross-entropy on this text",
    "perplexity": "2 to the power of bits per token",
    "bits per byte": "all bits over the bytes of the text in UTF-8",
    "bits in all": "what an arithmetic coder with this model would send",
    "tokens": "of the text, as this model cuts it",
    "bytes": "of the text in UTF-8",
}


def in_bits() -> None:
    """A text, the cost of its tokens, and the comparison."""
    with panel(None) as p:
        p.examples(
            {
                "a story": {"text": TEXT, "at": 29},
                "a sentence, repeated": {
                    "text": " ".join(["The old king Bartholomew kept nine purple owls."] * 2),
                    "at": 25,
                },
                "a newspaper": {
                    "text": "The committee postponed its decision on infrastructure subsidies until the next quarter.",
                    "at": 4,
                },
                "another language": {
                    "text": "Es war einmal ein kleines Mädchen, das wohnte in einem großen Haus.",
                    "at": 4,
                },
                "code": {"text": "def area(width, height):\n    return width * height\n", "at": 4},
                "random letters": {"text": "qzv kxw jqy pfz vbk xqj wzk fyv", "at": 4},
            }
        )
        left, right = st.columns([3, 1])
        with left:
            box = st.container()
        with right:
            model_name = information_models.choose()
        with box:
            pasted = choose_text(model_name)
        offer_real(model_name, pasted)
        text_bits = views.costs(model_name, pasted) if pasted else None
        if text_bits is None or not text_bits.ids:
            said = "There is no text yet: type or paste some, or press Ctrl+Z in the box."
            say_nothing_read(model_name, pasted, "text", said)
            return
        if not np.isfinite(text_bits.bits).all():
            st.info("This model gives no probability to a part of this text, or none that is a number: choose another.")
            return
        token_by_token(p, model_name, pasted, text_bits)
        names = [model_name, *(name for name in information_models.comparable() if name != model_name)]
        progress.in_turn(lambda name: views.costs(name, pasted), names, lambda name: text.escape(name, text.NAME))
        for place, shown in zip(
            st.columns(2, gap="large"), (views.adding_up(names, pasted), views.per_byte(names, pasted)), strict=True
        ):
            with place:
                st.subheader(shown.title, anchor=False)
                p.show(shown)
        p.what_to_see(
            f"Strong colour: high surprisal, −log₂ p. {few_tokens(text_bits)} A model with induction heads "
            "predicts a second copy of a sentence almost for free: try it. Perplexity and bits per token depend on the "
            "tokenizer, so models are compared by **bits per byte**. Compressors know nothing but the text itself, and "
            "a short text is little to learn from; a trained model brings its knowledge along, in weights that are not "
            "counted here."
        )
        p.question(
            "A model with a vocabulary ten times as large has a higher perplexity on the same text. Is it worse?",
            "That does not follow. Its tokens are mostly longer, so there are fewer of them, each with more "
            "information, and perplexity is per token. Divide the bits of the whole text by its bytes, which are the "
            "same for both, and compare these.",
        )


def choose_text(model_name: str) -> str:
    """The text, as far as it is used; at first a story where the model knows stories alone."""
    pasted = text_box(model_name, "Text", "text", TEXT if model_name in shipped() else NEWS, CHARACTERS, height=90)
    kept = cut_bytes(pasted, BYTES)
    size = len(unmarked(pasted).encode("utf-8", "surrogatepass"))
    said = f"The text has {size:,} bytes; the first {len(kept):,} characters are used here"
    notices.say("bytes", said if kept != pasted else None)
    return kept


@fragments.fragment
def token_by_token(p: Panel, model_name: str, pasted: str, text_bits: TextBits) -> None:
    """The coloured text, its numbers, and one token looked at."""
    n = len(text_bits.ids)
    picture = st.container()
    costliest = int(text_bits.bits[1:].argmax()) + 1 if n > 1 else 0
    first = 29 if model_name in shipped() or links.is_old() else costliest
    at = controls.place("Token looked at", "at", n, first, of=text_bits.ids)
    with picture:
        text.chips(
            text_bits.tokens[:CHIPS],
            key="chips",
            selected=at,
            shade=[float(bits) / FULL for bits in text_bits.bits[:CHIPS]],
            titles=[f"{bits:.2f} bits" for bits in text_bits.bits[:CHIPS]],
            notes=[f"{bits:.1f}" for bits in text_bits.bits[:CHIPS]] if n <= NOTED else None,
            on_select=lambda index: controls.set_values(at=index),
            label="The text, stronger where it surprised the model",
        )
    more = f" Only the first {CHIPS} tokens are drawn; all count." if n > CHIPS else ""
    start = text.escape(first_token(text_bits))
    st.caption(f"Bits of each token, given all before it; full colour from {FULL} bits on. {start}{more}")
    metrics = text_cost(text_bits).metrics
    with st.container(horizontal=True):
        for name, words in METRICS.items():
            st.metric(name, metrics[name], help=words, width=124)
    vocabulary = cache.model(model_name)[0].config.vocab_size
    st.caption(str(perplexity_landmarks(text_bits, vocabulary)))
    one_token(p, model_name, pasted, text_bits, at)


def one_token(p: Panel, model_name: str, pasted: str, text_bits: TextBits, at: int) -> None:
    """Show what was expected in the place of one token."""
    if at == 0 and not text_bits.start:
        st.info(
            f"“{text.escape(text.visible(text_bits.tokens[at]))}” is the first token, and this model reads nothing "
            "before it: there is no prediction to show."
        )
        return
    shown = views.guesses(model_name, pasted, at)
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.markdown(text.escape(token_surprisal(text_bits, at, shown.result.rank)))
    with right:
        p.show(shown)
