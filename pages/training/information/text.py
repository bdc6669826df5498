"""Panel of the page on information: the surprisal of each token of a text, and models beside compressors on it."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.training.information import experiments
from pages.training.information import models as information_models
from pages.ui import cache, controls, fragments, links, notices, page, text
from pages.ui.components.figure import figure
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.program import made
from pages.ui.reading import say_nothing_read, text_box
from pages.ui.work import progress
from tfcore import shipped
from tfcore.analysis.training import compression, text_bits
from tfcore.analysis.training.compression import Coder
from tfcore.measures import text_loss
from tfcore.measures.text_loss import TextBits, surprisal
from tfcore.tokenizers.tokenizer import unmarked

CHARACTERS = 2_000
BYTES = 2_000  # of the text that are used
CHIPS = 600  # tokens that are drawn
NOTED = 160  # tokens up to which the bits are written under each
GUESSES = 6
FULL = 12  # bits from which on a chip has its full colour
TEXT = (
    "Once upon a time, there was a little girl named Lily. She had a red ball. One day the ball rolled away, and a "
    "dragon ate it. Lily was very sad."
)
NEWS = (
    "Scientists announced on Tuesday that they had found a new species of frog. The scientists found the frog in a "
    "forest in the north of Madagascar, where the species lives in the crowns of trees."
)
TRY: dict[str, dict[str, Any]] = {
    "a story": {"text": TEXT, "at": 29},
    "a sentence, repeated": {"text": " ".join(["The old king Bartholomew kept nine purple owls."] * 2), "at": 25},
    "a newspaper": {
        "text": "The committee postponed its decision on infrastructure subsidies until the next quarter.",
        "at": 4,
    },
    "another language": {"text": "Es war einmal ein kleines Mädchen, das wohnte in einem großen Haus.", "at": 4},
    "code": {"text": "def area(width, height):\n    return width * height\n", "at": 4},
    "random letters": {"text": "qzv kxw jqy pfz vbk xqj wzk fyv", "at": 4},
}


METRICS = {
    "bits per token": "mean surprisal: the model's cross-entropy on this text",
    "perplexity": "2 to the power of bits per token",
    "bits per byte": "all bits over the bytes of the text in UTF-8",
    "bits in all": "what an arithmetic coder with this model would send",
    "tokens": "of the text, as this model cuts it",
    "bytes": "of the text in UTF-8",
}

costs = cache.of_model(max_entries=64)(text_loss.text_bits)
plain_peers = cache.data(max_entries=64)(compression.peers)
window_of = cache.of_model(max_entries=256)(text_bits.window_of)
predicted = cache.of_model(max_entries=16)(text_bits.predict_window)  # a pass tells them all


def panel() -> None:
    """A text, the cost of its tokens, and the comparison."""
    page.try_this(TRY)
    left, right = st.columns([3, 1])
    with left:
        box = st.container()
    with right:
        model_name = information_models.choose()
    with box:
        pasted = _text(model_name)
    offer_real(model_name, pasted)
    found = costs(model_name, pasted) if pasted else None
    if found is None or not found.ids:
        said = "There is no text yet: type or paste some, or press Ctrl+Z in the box."
        say_nothing_read(model_name, pasted, "text", said)
        return
    if not np.isfinite(found.bits).all():
        st.info("This model gives no probability to a part of this text, or none that is a number: choose another.")
        return
    latest = page.Latest()
    _token_by_token(model_name, pasted, found, latest)
    every, peers = _everyone(model_name, pasted), plain_peers(pasted)
    left, right = st.columns(2, gap="large")
    with left:
        _adding_up(model_name, every, peers)
    with right:
        _compared(model_name, every, peers)
    page.what_to_see(
        f"Strong colour: high surprisal, −log₂ p. {text_bits.concentration(found).half_of_bits} A model with induction "
        "heads predicts a second copy of a sentence almost for free: try it. Perplexity and bits per token depend on "
        "the tokenizer, so models are compared by **bits per byte**. Compressors know nothing but the text itself, and "
        "a short text is little to learn from; a trained model brings its knowledge along, in weights that are not "
        "counted here."
    )
    page.question(
        "A model with a vocabulary ten times as large has a higher perplexity on the same text. Is it worse?",
        "That does not follow. Its tokens are mostly longer, so there are fewer of them, each with more information, "
        "and perplexity is per token. Divide the bits of the whole text by its bytes, which are the same for both, and "
        "compare these.",
    )
    page.how_it_is_computed(
        page.experiment_of(
            "All models",
            experiments.text,
            made(experiments.every_text, list(every), pasted),
            made(compression.peers, pasted),
            model_name,
        ),
        latest,
        formula=(
            r"\text{bits}_t = -\log_2 p(x_t \mid x_{<t}), \qquad "
            r"\text{perplexity} = 2^{\frac{1}{T}\sum_t \text{bits}_t}, \qquad "
            r"\text{bits per byte} = \tfrac{1}{B}\sum_t \text{bits}_t"
        ),
        code=(text_loss.text_bits, text_loss.framed, surprisal, compression.peers),
        papers=(
            "A model with an arithmetic coder is a compressor, and the other way round: arXiv:2309.10668, section 2, "
            "which also counts the weights. English predicted by people: about 0.6 to 1.3 bits per letter (Shannon "
            "1951). Left out are encoders, which see the tokens on both sides of a mask, so that their probabilities "
            "do not multiply to that of the text; encoder-decoders, whose probability is that of an output given an "
            "input; and models without a text tokenizer."
        ),
    )


def _text(model_name: str) -> str:
    """The text, as far as it is used; at first a story where the model knows stories alone."""
    pasted = text_box(model_name, "Text", "text", TEXT if model_name in shipped() else NEWS, CHARACTERS, height=90)
    kept = text_bits.cut_bytes(pasted, BYTES)
    size = len(unmarked(pasted).encode("utf-8", "surrogatepass"))
    said = f"The text has {size:,} bytes; the first {len(kept):,} characters are used here"
    notices.say("bytes", said if kept != pasted else None)
    return kept


@fragments.fragment
def _token_by_token(model_name: str, pasted: str, found: TextBits, latest: page.Latest) -> None:
    """The coloured text, its numbers, and one token looked at."""
    n = len(found.ids)
    picture = st.container()
    costliest = int(found.bits[1:].argmax()) + 1 if n > 1 else 0
    first = 29 if model_name in shipped() or links.is_old() else costliest
    at = controls.place("Token looked at", "at", n, first)
    with picture:
        shown = found.tokens[:CHIPS]
        text.chips(
            shown,
            key="chips",
            selected=at,
            shade=[float(bits) / FULL for bits in found.bits[:CHIPS]],
            titles=[f"{bits:.2f} bits" for bits in found.bits[:CHIPS]],
            notes=[f"{bits:.1f}" for bits in found.bits[:CHIPS]] if n <= NOTED else None,
            on_select=lambda index: controls.set_values(at=index),
            label="The text, stronger where it surprised the model",
        )
    more = f" Only the first {CHIPS} tokens are drawn; all count." if n > CHIPS else ""
    start = text.escape(text_bits.first_token(found))
    st.caption(f"Bits of each token, given all before it; full colour from {FULL} bits on. {start}{more}")
    metrics = text_bits.text_cost(found).metrics
    with st.container(horizontal=True):
        for name, words in METRICS.items():
            st.metric(name, metrics[name], help=words, width=124)
    vocabulary = cache.model(model_name)[0].config.vocab_size
    st.caption(str(text_bits.perplexity_landmarks(found, vocabulary)))
    _one(model_name, pasted, found, at, latest)


def _one(model_name: str, pasted: str, found: TextBits, at: int, latest: page.Latest) -> None:
    """What was expected in the place of one token."""
    if at == 0 and not found.start:
        st.info(
            f"“{text.escape(text.visible(found.tokens[at]))}” is the first token, and this model reads nothing before "
            "it: there is no prediction to show."
        )
        return
    asked = model_name, pasted, at, GUESSES
    prediction = predicted(model_name, pasted, window_of(*asked[:3]), GUESSES)[at]
    shown = experiments.surprise(found, prediction, at)
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.markdown(text.escape(text_bits.token_surprisal(found, at, prediction.rank)))
    with right:
        figure(
            shown.figure,
            key="guesses",
            height=200,
            table=lambda: pd.DataFrame({"token": prediction.tokens, "probability": prediction.probabilities}),
            alt=shown.alt,
            caption=shown.alt,
        )
    read = made(text_loss.text_bits, model_name, pasted)
    latest.offer(experiments.surprise, read, made(text_bits.predict_token, *asked), at)


def _everyone(model_name: str, pasted: str) -> dict[str, TextBits]:
    """The text by each model; the chosen one, already there, first."""
    names = [model_name, *(name for name in information_models.comparable() if name != model_name)]
    found = progress.in_turn(lambda name: costs(name, pasted), names, lambda name: text.escape(name, text.NAME))
    return {name: one for name, one in zip(names, found, strict=True) if np.isfinite(one.bits).all()}


def _adding_up(model_name: str, every: dict[str, TextBits], peers: list[Coder]) -> None:
    own, shown = every[model_name], experiments.text(every, peers, model_name)
    st.subheader("Adding up", anchor=False)
    figure(
        shown.figure,
        key="adding",
        height=330,
        table=lambda: pd.DataFrame({"token": own.tokens, "bytes": own.sizes, "bits": own.bits}),
        alt=f"Bits of the text so far. {shown.alt} {shown.findings[1]}",
        caption=f"{shown.alt} Shape (token,) = {own.bits.shape}.",
    )


def _compared(model_name: str, every: dict[str, TextBits], peers: list[Coder]) -> None:
    """Bits per byte of all whose tokens are the text, and of the peers."""
    shown, found = experiments.coders(every, peers, model_name), compression.per_byte(every, peers)
    rows = [{"who": one.name, "bits per byte": one.per_byte, "how": one.how} for one in found.coders]
    st.subheader("The same text, every model", anchor=False)
    figure(
        shown.figure,
        key="everyone",
        height=330,
        min_width=330,
        table=lambda: pd.DataFrame(rows),
        alt=shown.alt,
        caption=f"{found.least} 8 is a uniform guess. The table of “byte counts” is not counted.",
    )
