"""Panel of the page on information: the surprisal of each token of a text, and models beside compressors on it."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.training.information import experiments as experiments
from pages.training.information import models as information_models
from pages.ui import cache, controls, fragments, notices, page, text
from pages.ui.components.figure import figure
from pages.ui.work import progress
from tfcore.analysis.quantities import power
from tfcore.analysis.training import information, text_bits
from tfcore.analysis.training.entropy import perplexity
from tfcore.analysis.training.likeliest import Likeliest
from tfcore.analysis.training.text_bits import Peer, TextBits
from tfcore.figures.guesses import guesses_figure
from tfcore.figures.training import text_bits as figures

CHARACTERS, BYTES = 2_000, 2_000
CHIPS, NOTED, GUESSES = 600, 160, 6
FULL = 12.0  # bits at which a chip is as strong as it gets
TEXT = (
    "Once upon a time, there was a little girl named Lily. She had a red ball. One day the ball rolled away, and a "
    "dragon ate it. Lily was very sad."
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


@cache.data(max_entries=64)
def costs(model_name: str, pasted: str) -> TextBits:
    return text_bits.text_bits(*cache.model(model_name), pasted)


@cache.data(max_entries=64)
def plain_peers(pasted: str) -> list[Peer]:
    return text_bits.peers(pasted.encode("utf-8", "surrogatepass"))


@cache.data(max_entries=256)
def expected(model_name: str, pasted: str, at: int) -> tuple[Likeliest, list[str], int]:
    """What a model expected in the place of a token: ids with chances, pieces, and the rank of what came."""
    network, tokenizer = cache.model(model_name)
    found, rank = text_bits.expected(network, tokenizer, pasted, at, GUESSES)
    return found, tokenizer.tokens(found.ids.tolist()), rank


def panel() -> None:
    """A text, the cost of its tokens, and the comparison."""
    st.latex(
        r"\text{bits}_t = -\log_2 p(x_t \mid x_{<t}), \qquad "
        r"\text{perplexity} = 2^{\frac{1}{T}\sum_t \text{bits}_t}, \qquad "
        r"\text{bits per byte} = \tfrac{1}{B}\sum_t \text{bits}_t"
    )
    page.try_this(TRY)
    left, right = st.columns([3, 1])
    with left:
        pasted = _text()
    with right:
        model_name = information_models.choose()
    found = costs(model_name, pasted) if pasted else None
    if found is None or not found.ids:
        st.info("There is no text yet: type or paste some, or press Ctrl+Z in the box.")
        return
    if not np.isfinite(found.bits).all():
        st.info("This model gives no probability to a part of this text, or none that is a number: choose another.")
        return
    _token_by_token(model_name, pasted, found)
    all_found = _everyone(model_name, pasted)
    left, right = st.columns(2, gap="large")
    with left:
        _adding_up(model_name, all_found)
    with right:
        _compared(model_name, all_found, plain_peers(pasted))
    page.what_to_see(
        f"Strong colour: high surprisal, −log₂ p. {text_bits.concentration(found)} A model with induction heads "
        "predicts a second copy of a sentence almost for free: try it. Perplexity and bits per token depend on the "
        "tokenizer, so models are compared by **bits per byte**. Compressors know nothing but the text itself, and a "
        "short text is little to learn from; a trained model brings its knowledge along, in weights that are not "
        "counted here."
    )
    page.source(text_bits.text_bits, text_bits.framed, information.surprisal, text_bits.peers)
    page.experiment(experiments.text, model_name, list(all_found), pasted)
    st.caption(
        "A model with an arithmetic coder is a compressor, and the other way round: arXiv:2309.10668, section 2, which "
        "also counts the weights. English predicted by people: about 0.6 to 1.3 bits per letter (Shannon 1951). Left "
        "out are encoders, which see the tokens on both sides of a mask, so that their probabilities do not multiply "
        "to that of the text; encoder-decoders, whose probability is that of an output given an input; and models "
        "without a text tokenizer."
    )
    page.question(
        "A model with a vocabulary ten times as large has a higher perplexity on the same text. Is it worse?",
        "That does not follow. Its tokens are longer, so there are fewer of them, each with more information, and "
        "perplexity is per token. Divide the bits of the whole text by its bytes, which are the same for both, and "
        "compare these.",
    )


def _text() -> str:
    """The text, as far as it is used."""
    pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=90)
    kept = text_bits.cut_bytes(pasted, BYTES)
    size = len(pasted.encode("utf-8", "surrogatepass"))
    if kept == pasted:
        notices.drop("bytes")
    else:
        notices.add("bytes", f"The text has {size:,} bytes; the first {len(kept):,} characters are used here")
    return kept


@fragments.fragment
def _token_by_token(model_name: str, pasted: str, found: TextBits) -> None:
    """The coloured text, its numbers, and one token looked at."""
    n = len(found.ids)
    with st.container(horizontal=True):
        for name, value, words in (
            ("bits per token", f"{found.per_token:.3f}", "mean surprisal: the model's cross-entropy on this text"),
            ("perplexity", f"{perplexity(found.per_token):,.2f}", "2 to the power of bits per token"),
            ("bits per byte", f"{found.per_byte:.3f}", "all bits over the bytes of the text in UTF-8"),
            ("bits in all", f"{found.total:,.1f}", "what an arithmetic coder with this model would send"),
            ("tokens", f"{n:,}", "of the text, as this model cuts it"),
            ("bytes", f"{found.n_bytes:,}", "of the text in UTF-8"),
        ):
            st.metric(name, value, help=words, width=124)
    at = int(controls.slider("Token looked at", "at", 0, n - 1, min(29, n - 1)))
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
    st.caption(f"Bits of each token, given all before it; full colour from {FULL:g} bits on. {_start(found)}{more}")
    _one(model_name, pasted, found, at)


def _start(found: TextBits) -> str:
    """How the first token is counted, and what the tokenizer does to the text (Markdown)."""
    if found.start:
        sign = text.escape(text.visible(found.start))
        said = (
            f"The first token has no text before it: it is counted as read after {sign}, the sign that a text begins."
        )
    else:
        said = (
            "Nothing stands before the first token, so it is counted as if all tokens of the vocabulary were equally "
            f"likely: {found.bits[0]:.1f} bits."
        )
    if not found.whole:
        said += (
            " This tokenizer does not give the text back to the letter, so bits per byte are not quite of this text."
        )
    return said


def _one(model_name: str, pasted: str, found: TextBits, at: int) -> None:
    """What was expected in the place of one token."""
    piece, bits = text.escape(text.visible(found.tokens[at])), float(found.bits[at])
    if at == 0 and not found.start:
        st.info(
            f"“{piece}” is the first token, and this model reads nothing before it: there is no prediction to show."
        )
        return
    guess, pieces, rank = expected(model_name, pasted, at)
    left, right = st.columns([2, 3], gap="large")
    with left:
        many = f"{2**bits:,.{0 if bits > 6 else 1}f}" if bits < 30 else f"2^{bits:.0f}"
        st.markdown(
            f"Token {at}, “**{piece}**”, came with probability **{_chance(2.0**-bits)}**: **{bits:.2f} bits**, as "
            f"surprising as one of {many} equally likely tokens. Its rank in the model's prediction is **{rank:,}**, "
            f"and it is {bits / max(found.total, 1e-9):.1%} of the cost of the text."
        )
    with right:
        best = text.visible(pieces[0])
        figure(
            guesses_figure(guess.chance, text.tick_labels(pieces), 200),
            key="guesses",
            height=200,
            table=lambda: pd.DataFrame({"token": pieces, "probability": guess.chance}),
            alt=f"The model's prediction there: first '{best}' with {guess.chance[0]:.1%}; the token of the text has "
            f"rank {rank:,}.",
            caption=f"Predicted there: first '{best}' with {guess.chance[0]:.1%}. The token of the text has rank "
            f"{rank:,}.",
        )
    page.experiment(experiments.surprise, model_name, pasted, at, GUESSES)


def _chance(value: float) -> str:
    """0.12, or 4.9 × 10⁻⁶ where there would be many zeros."""
    return f"{value:.2g}" if value >= 1e-3 else power(value)


def _everyone(model_name: str, pasted: str) -> dict[str, TextBits]:
    """The text by each model; the chosen one, already there, first."""
    names = [model_name, *(name for name in information_models.comparable() if name != model_name)]
    found = progress.in_turn(lambda name: costs(name, pasted), names, lambda name: text.escape(name, 60))
    return {name: one for name, one in zip(names, found, strict=True) if np.isfinite(one.bits).all()}


def _adding_up(model_name: str, found: dict[str, TextBits]) -> None:
    own = found[model_name]
    dear = int(own.bits.argmax())
    piece = text.visible(own.tokens[dear])
    order = np.sort(own.bits)[::-1].cumsum()
    half = int(np.searchsorted(order, own.total / 2)) + 1
    st.subheader("Adding up", anchor=False)
    figure(
        figures.adding_up_figure(
            found, {name: text.label(name, 40) for name in found}, model_name, text.tick_labels(own.tokens), 330
        ),
        key="adding",
        height=330,
        table=lambda: pd.DataFrame({"token": own.tokens, "bytes": own.sizes, "bits": own.bits}),
        alt=f"Bits of the text so far: {own.total:.1f} in the end over {own.n_bytes:,} bytes. The largest step, "
        f"{own.bits[dear]:.1f} bits, is '{piece}'.",
        caption=f"{half} of {len(own.bits)} tokens make half of the {own.total:.1f} bits; the largest step is "
        f"'{piece}' with {own.bits[dear]:.1f}. Shape (token,) = ({len(own.bits)},).",
    )


def _compared(model_name: str, found: dict[str, TextBits], peers: list[Peer]) -> None:
    """Bits per byte of all whose tokens are the text, and of the peers."""
    rows = [
        (
            text.label(name, 40),
            one.per_byte,
            "chosen" if name == model_name else "model",
            f"{text.label(name, 60)}: {one.total:.1f} bits over {one.n_bytes:,} bytes",
        )
        for name, one in found.items()
        if one.whole
    ]
    rows += [(peer.name, peer.per_byte, "peer", peer.how) for peer in peers]
    rows.sort(key=lambda row: row[1])
    names, values, kinds, hovers = (list(column) for column in zip(*rows, strict=True))
    best = text.visible(names[0])
    changed = [name for name, one in found.items() if not one.whole]
    left_out = f" Not compared, as the tokenizer changes the text: {', '.join(changed)}." if changed else ""
    st.subheader("The same text, every model", anchor=False)
    figure(
        figures.per_byte_figure(names, values, kinds, hovers, 330),
        key="everyone",
        height=330,
        min_width=330,
        table=lambda: pd.DataFrame({"who": names, "bits per byte": values, "how": hovers}),
        alt=f"Bits per byte: {', '.join(f'{name} {value:.3f}' for name, value in zip(names, values, strict=True))}.",
        caption=f"Least: {best} with {values[0]:.3f} bits per byte; 8 is a uniform guess. The table of “byte counts” "
        f"is not counted.{left_out}",
    )
