"""The panels on byte-pair encoding: the shipped merges replayed on a word, and merges learned from a text."""

import pandas as pd
import streamlit as st

from pages.foundations.tokens import experiments as experiments
from pages.foundations.tokens.text_tokens import READERS, changes_text
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models
from tfcore.analysis.foundations import bpe
from tfcore.analysis.foundations.bpe import Learned, MergeStep
from tfcore.analysis.foundations.embedding_table import published_vocabularies
from tfcore.figures.foundations import bpe as figures

MODEL = "stories"
WORD = "unhappiness"
LETTERS = 32  # of a word
CORPUS = (
    "The lowest house on the hill was the newest, and the oldest was the highest. In the newest house lived the "
    "youngest girl; in the oldest house lived the oldest man. The girl was happy, singing and running down the hill. "
    "The man was unhappy, for the hill was the highest hill and he was slower every winter. Running is faster than "
    "walking, the girl was singing. Walking is slower, but it is longer, the man was saying, and a longer walk is "
    "a happier one. The winter was the coldest and the longest, but the man was happier, walking and singing with the "
    "youngest girl on the highest hill. Her happiness was his happiness, and there was no more unhappiness."
)
CHARACTERS = 2_000  # of the text to learn from
MOST = 120  # merges learned
TRY = {
    "unhappiness": {"word": WORD},
    "inside a sentence": {"word": " grandmother"},
    "no capital": {"word": "once Once"},
    "a typing error": {"word": "beautifull"},
    "another script": {"word": "привет"},
    "curly quotes": {"word": "“don’t”"},
    "a number": {"word": "1234567"},
}
TRY_LEARNING = {
    "the first merge": {"corpus": CORPUS, "learned": 1},
    "endings appear": {"corpus": CORPUS, "learned": 13},
    "whole words": {"corpus": CORPUS, "learned": 80},
    "a song": {"corpus": "la la la, tra la la, la la la, tra la la la la", "learned": 5},
    "another language": {"corpus": "der die das, des Hauses, die Häuser, der Häuser, das Häuschen", "learned": 9},
}


@cache.data(max_entries=64)
def replay(model_name: str, word: str) -> tuple[list[MergeStep], bool]:
    """The merges of a word, and whether they end where the tokenizer's own encoding does."""
    tokenizer = cache.model(model_name)[1]
    steps = bpe.replay(tokenizer.words(word), {pair: rank for rank, pair in enumerate(tokenizer.merges)})
    return steps, list(steps[-1].pieces) == [tokenizer.token_bytes(i) for i in tokenizer.encode(word)]


@cache.data(max_entries=16)
def learn(corpus: str) -> tuple[list[Learned], list[bytes]]:
    """Merges of a text, and the words they were counted in."""
    words = cache.model(MODEL)[1].words(corpus)
    return bpe.learn(words, MOST), words


def replayed() -> None:
    """The panel that replays merges on a word."""
    st.markdown(
        "**Start from single bytes. Of all neighbouring pairs, merge the one that was learned first; repeat** until no "
        "pair is on the list."
    )
    st.latex(r"(a, b) \leftarrow \arg\min_{\text{neighbours}} \mathrm{rank}(a, b), \qquad a\;b \to ab")
    page.try_this(TRY)
    left, right = st.columns([1, 3], gap="medium")
    with left:
        word = controls.text_area(
            "Word", "word", WORD, LETTERS, height=68, help="A space typed first counts: it belongs to the word."
        )
        model_name = models.choose(label="Tokenizer of", default=MODEL, why_not=changes_text, options=READERS)
    if not word:
        st.info("There is no word yet: type one, or pick an example.")
        return
    steps, same = replay(model_name, word)
    if st.session_state.get("_tokens_word", word) != word:
        controls.set_values(step=len(steps) - 1)  # another word is shown from the beginning to its end
    st.session_state["_tokens_word"] = word
    with left:
        now = controls.slider("Merges done", "step", 0, len(steps) - 1, len(steps) - 1)
        _said(model_name, steps, now, same)
    with right:
        _merges(model_name, word, steps, now)
    page.what_to_see(
        f"Each row is one merge; on its left its rank in the list of {len(cache.model(model_name)[1].merges):,} merges "
        "and the two pieces it joins. Frequent pairs were learned "
        "first, so they are merged first, also across the parts of a word: BPE counts pairs and knows no prefixes."
    )
    page.source(bpe.replay, bpe.join)
    page.experiment(experiments.merges, model_name, word, now)
    st.caption("Neural Machine Translation of Rare Words with Subword Units, section 3.2, arXiv:1508.07909")
    page.question(
        "“unhappiness” is un + happy + ness. Why is there no token for “happi”?",
        "Merges were learned from counts, not from grammar. With the tokenizer of stories, “app” and “iness” are "
        "merged first, and no merge joins “h” to “app”. “ happy” with its space is one token, but here no space "
        "stands before it.",
    )


def _said(model_name: str, steps: list[MergeStep], now: int, same: bool) -> None:
    """The pieces now, what the next merge will be, and that the end is the tokenizer's own."""
    pieces = steps[now].pieces
    ids = {token: i for i, token in enumerate(_vocabulary(model_name))}
    st.markdown(f"**{len(pieces)} pieces now**")
    text.chips(
        pieces,
        key="pieces",
        hues=[i % 3 for i in range(len(pieces))],
        label="Pieces now",
        notes=[str(ids[piece]) for piece in pieces],
    )
    if now < len(steps) - 1:
        a, b = steps[now + 1].pair or (b"", b"")
        st.caption(f"Next: {text.escape(text.visible(a))} + {text.escape(text.visible(b))}, rank {steps[now + 1].rank}")
    else:
        end = "the same as the tokenizer's own encoding" if same else "not what the tokenizer itself gives"
        st.caption(f"No pair is on the list any more. The result is {end}.")


@cache.data(max_entries=2)
def _vocabulary(model_name: str) -> list[bytes]:
    """The bytes of every id; of the separator, which no text can hold, none."""
    tokenizer = cache.model(model_name)[1]
    return [b"" if i == tokenizer.separator_id else tokenizer.token_bytes(i) for i in range(tokenizer.vocab_size)]


def _label(piece: bytes) -> str:
    """A piece for a figure; what is only part of a character as the numbers of its bytes."""
    return text.label(piece if bpe.is_text(piece) else piece.hex(" ").upper())


def _merges(model_name: str, word: str, steps: list[MergeStep], now: int) -> None:
    pieces = [text.visible(piece) for piece in steps[-1].pieces]
    figure(
        figures.merges_figure(steps, now, _label, 430),
        key="merges",
        height=430,
        min_width=420,
        alt=f"'{text.visible(word)}' goes from {len(steps[0].pieces)} bytes to {len(pieces)} pieces in "
        f"{len(steps) - 1} merges: {' | '.join(pieces)}.",
        caption=f"{len(steps[0].pieces)} bytes, {len(steps) - 1} merges, {len(pieces)} tokens: {' | '.join(pieces)}. "
        + ("Filled: made in this step." if now else ""),
        table=lambda: pd.DataFrame(
            [
                {"merge": i, "rank": step.rank, "pieces": " ".join(map(text.visible, step.pieces))}
                for i, step in enumerate(steps)
            ]
        ),
    )
    merges = len(cache.model(model_name)[1].merges)
    figure(
        figures.vocabulary_figure(steps, now, merges, 240),
        key="vocabulary",
        height=240,
        alt=f"With more merges known the word has fewer pieces: {len(steps[0].pieces)} with none, {len(pieces)} with "
        f"all {merges:,}.",
        caption=f"The same word with only the first merges of the list: from {len(steps[0].pieces)} pieces to "
        f"{len(pieces)} with all {merges:,}. A vocabulary is a choice: shorter sequences, or a smaller table.",
    )


def learned() -> None:
    """The panel that learns merges from a text."""
    st.markdown(
        "**Byte-pair encoding: count all neighbouring pairs, make the most frequent one a new token, count again.** "
        "Here it is trained on your text."
    )
    st.latex(r"(a, b)_{k} = \arg\max_{\text{pairs}} \mathrm{count}(a, b), \qquad V_{k+1} = V_k \cup \{ab\}")
    page.try_this(TRY_LEARNING)
    left, right = st.columns(2, gap="large")
    with left:
        corpus = controls.text_area("Text to learn from", "corpus", CORPUS, CHARACTERS, height=110)
        merges, words = learn(corpus)
        if not merges:
            st.info("No pair of letters stands twice in this text: type more, or repeat something.")
            return
        now = controls.slider("Merges learned", "learned", 0, MOST, 12)
        if now > len(merges):
            st.caption(f"After {len(merges)} merges no pair stands twice, so it ends there.")
            now = len(merges)
        ranks = {one.pair: rank for rank, one in enumerate(merges[:now])}
        pieces = bpe.replay(words, ranks)[-1].pieces
        st.markdown(f"**The text in {len(pieces):,} tokens**")
        text.chips(
            pieces[:240],
            key="learned pieces",
            hues=[i % 3 for i in range(min(len(pieces), 240))],
            label="The text in tokens",
        )
    with right:
        _learning(merges, now, sum(map(len, words)))
    page.what_to_see(
        f"{_pieces(merges, now, sum(map(len, words)))} Suffixes and whole words become tokens where they are frequent; "
        "nothing in the algorithm knows what a word is."
    )
    page.source(bpe.learn, bpe.replay)
    low, high = published_vocabularies()
    page.experiment(experiments.learning, MODEL, corpus, MOST, now)
    st.caption("Algorithm 1 of arXiv:1508.07909; the shipped list was learned the same way from children's stories")
    page.question(
        "Why not learn merges until every word is one token?",
        "Each token needs a row in the embedding table and enough examples to train it. The row of a word seen twice "
        "would hardly differ from its initial values, and a new word would still fall into pieces. Published models "
        f"have vocabularies of {low:,} to {high:,} tokens.",
    )


def _pieces(merges: list[Learned], now: int, size: int) -> str:
    """How much the first and the last merge shorten the text, and the longest tokens so far."""
    lengths = [size, *(one.tokens for one in merges)]
    if not now:
        return f"The first merge shortens the text by {lengths[0] - lengths[1]} tokens."
    longest = ", ".join(f"“{text.escape(text.visible(piece))}”" for piece in bpe.longest(merges[:now], 4))
    last = lengths[now - 1] - lengths[now]
    return (
        f"The first merge shortens the text by {lengths[0] - lengths[1]} tokens, merge {now} by {last}. The longest "
        f"tokens after {now}: {longest}."
    )


def _learning(merges: list[Learned], now: int, size: int) -> None:
    shown = merges[min(now, len(merges) - 1)]
    name = " + ".join(text.visible(side) for side in shown.pair)
    left = size if now == 0 else merges[now - 1].tokens
    ties = sum(count == shown.count for _, count in shown.runners_up)
    rivals = "no more often than others, but it comes first in order" if ties else "more often than any other pair"
    which = "The next merge" if now < len(merges) else "The last merge"
    figure(
        figures.pairs_figure(shown, _label, 250),
        key="pairs",
        height=250,
        alt=f"{which} joins {name}, which stands {shown.count} times in the text, {rivals}.",
        caption=f"{which} joins {name}: it stands there {shown.count} times, {rivals}.",
    )
    figure(
        figures.learning_figure(size, merges, now, 280),
        key="learning",
        height=280,
        alt=f"After {now} merges the text of {size} bytes has {left} tokens; after {len(merges)}, {merges[-1].tokens}.",
        caption=f"{size} bytes become {left} tokens after {now} merges, {size / left:.2f} bytes in one.",
        table=lambda: pd.DataFrame(
            [
                {"merge": i, "pair": " + ".join(map(text.visible, one.pair)), "count": one.count, "tokens": one.tokens}
                for i, one in enumerate(merges, start=1)
            ]
        ),
    )
