"""The panels on byte-pair encoding: the shipped merges replayed on a word, and merges learned from a text."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.foundations.tokens import experiments
from pages.foundations.tokens.text_tokens import CHIPS, readers
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from tfcore.analysis.foundations import bpe
from tfcore.analysis.foundations.bpe import LearnedMerges, WordMerges
from tfcore.analysis.foundations.embedding_table import published_vocabularies
from tfcore.config import ModelConfig
from tfcore.tokenizers.tokenizer import ByteLevelBPE

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


def no_merges(_: ModelConfig, tokenizer: Any) -> str | None:
    """Why merges of a tokenizer cannot be replayed."""
    if isinstance(tokenizer, ByteLevelBPE):
        return None
    return "its tokenizer is no byte-level BPE, so it has no merges of bytes."


@cache.data(max_entries=64)
def word_merges(model_name: str, word: str) -> WordMerges:
    return bpe.word_merges(cache.model(model_name)[1], word)


@cache.data(max_entries=16)
def learn(corpus: str) -> LearnedMerges:
    return bpe.learn_from(cache.model(MODEL)[1], corpus, MOST)


def replayed() -> None:
    """The panel that replays merges on a word."""
    st.markdown(
        "**Start from single bytes. Of all neighbouring pairs, merge the one that was learned first; repeat** until no "
        "pair is on the list."
    )
    page.try_this(TRY)
    left, right = st.columns([1, 3], gap="medium")
    with left:
        word = controls.text_area(
            "Word", "word", WORD, LETTERS, height=68, help="A space typed first counts: it belongs to the word."
        )
        fitting = {name: name for name in models.fitting(why_not=no_merges) if name in readers()}
        model_name = models.choose(label="Tokenizer of", default=MODEL, why_not=no_merges, options=fitting)
    if not word:
        st.info("There is no word yet: type one, or pick an example.")
        return
    found = word_merges(model_name, word)
    last = len(found.steps) - 1
    if st.session_state.get("_tokens_word", word) != word:
        controls.set_values(step=last)  # another word is shown from the beginning to its end
    st.session_state["_tokens_word"] = word
    with left:
        now = controls.slider("Merges done", "step", 0, last, last)
        _now(model_name, found, now)
    with right:
        _merges(found, now)
    page.what_to_see(
        f"Each row is one merge; on its left its rank in the list of {bpe.pieces_by_merges(found).known_text} merges "
        "and the two pieces it joins. Frequent pairs were learned "
        "first, so they are merged first, also across the parts of a word: BPE counts pairs and knows no prefixes."
    )
    page.question(
        "“unhappiness” is un + happy + ness. Why has the tokenizer of stories no token for “happi”?",
        "Merges were learned from counts, not from grammar. Of this word, “app” and “iness” are merged first, and no "
        "merge joins “h” to “app”. “ happy” with its space is one token, but here no space stands before it.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.merges, made(bpe.word_merges, model_name, word), now),
        formula=r"(a, b) \leftarrow \arg\min_{\text{neighbours}} \mathrm{rank}(a, b), \qquad a\;b \to ab",
        code=(bpe.replay, bpe.merge_pair),
        papers="Neural Machine Translation of Rare Words with Subword Units, section 3.2, arXiv:1508.07909",
    )


def _now(model_name: str, found: WordMerges, now: int) -> None:
    """The pieces after some merges, and the next merge."""
    pieces = found.steps[now].pieces
    ids = {token: i for i, token in enumerate(_vocabulary(model_name))}
    st.markdown(f"**{len(pieces)} pieces now**")
    text.chips(
        pieces,
        key="pieces",
        hues=[i % 3 for i in range(len(pieces))],
        label="Pieces now",
        notes=[str(ids[piece]) for piece in pieces],
    )
    st.caption(text.escape(bpe.next_merge(found, now)))


@cache.data(max_entries=2)
def _vocabulary(model_name: str) -> list[bytes]:
    """The bytes of every id; of special tokens, which no merge makes, none."""
    tokenizer = cache.model(model_name)[1]
    special = set(tokenizer.special_tokens.values())
    return [b"" if i in special else tokenizer.token_bytes(i) for i in range(tokenizer.vocab_size)]


def _merges(found: WordMerges, now: int) -> None:
    shown = experiments.merges(found, now)
    figure(
        shown.figure,
        key="merges",
        height=430,
        min_width=420,
        alt=shown.alt,
        caption=f"{shown.caption} Filled: made in this step." if now else shown.caption,
        table=lambda: pd.DataFrame(
            [
                {"merge": i, "rank": step.rank, "pieces": " ".join(map(text.visible, step.pieces))}
                for i, step in enumerate(found.steps)
            ]
        ),
    )
    shown = experiments.known_merges(found, now)
    figure(
        shown.figure,
        key="vocabulary",
        height=240,
        alt=shown.alt,
        caption=f"{shown.caption} A vocabulary is a choice: shorter sequences, or a smaller table.",
    )


def learned() -> None:
    """The panel that learns merges from a text."""
    st.markdown(
        "**Byte-pair encoding: count all neighbouring pairs, make the most frequent one a new token, count again.** "
        "Here it is trained on your text."
    )
    page.try_this(TRY_LEARNING)
    left, right = st.columns(2, gap="large")
    with left:
        corpus = controls.text_area("Text to learn from", "corpus", CORPUS, CHARACTERS, height=110)
        found = learn(corpus)
        if not found.merges:
            st.info("No pair of letters stands twice in this text: type more, or repeat something.")
            return
        now = controls.slider("Merges learned", "learned", 0, MOST, 12)
        if now > len(found.merges):
            now = len(found.merges)
            st.caption(f"After {now} merges no pair stands twice, so it ends there.")
        pieces = bpe.replay(found.words, {one.pair: rank for rank, one in enumerate(found.merges[:now])})[-1].pieces
        st.markdown(f"**The text in {bpe.learned_length(found, now).tokens_text} tokens**")
        shown = pieces[:CHIPS]
        hues = [i % 3 for i, _ in enumerate(shown)]
        text.chips(shown, key="learned pieces", hues=hues, label="The text in tokens")
    with right:
        _learning(found, now)
    page.what_to_see(
        f"{text.escape(bpe.shortening(found, now))} Suffixes and whole words become tokens where they are frequent. "
        "Grammar plays no part: the text is only split at spaces and punctuation first, and no merge reaches across."
    )
    page.question(
        "Why not learn merges until every word is one token?",
        "Each token needs a row in the embedding table and enough examples to train it. The row of a word seen twice "
        "would hardly differ from its initial values, and a new word would still fall into pieces. "
        f"{published_vocabularies()}",
    )
    page.how_it_is_computed(
        page.experiment(experiments.learning, made(bpe.learn_from, MODEL, corpus, MOST), now),
        formula=r"(a, b)_{k} = \arg\max_{\text{pairs}} \mathrm{count}(a, b), \qquad V_{k+1} = V_k \cup \{ab\}",
        code=(bpe.learn, bpe.replay),
        papers="Algorithm 1 of arXiv:1508.07909; the shipped list was learned the same way from children's stories",
    )


def _learning(found: LearnedMerges, now: int) -> None:
    shown = experiments.pairs(found, now)
    figure(shown.figure, key="pairs", height=250, alt=shown.alt, caption=shown.caption)
    shown = experiments.learning(found, now)
    figure(
        shown.figure,
        key="learning",
        height=280,
        alt=shown.alt,
        caption=shown.caption,
        table=lambda: pd.DataFrame(
            [
                {"merge": i, "pair": " + ".join(map(text.visible, one.pair)), "count": one.count, "tokens": one.tokens}
                for i, one in enumerate(found.merges, start=1)
            ]
        ),
    )
