"""The panels on byte-pair encoding: the shipped merges replayed on a word, and merges learned from a text."""

from typing import Any

import streamlit as st

from pages.foundations.tokens.text_tokens import CHIPS, readers
from pages.ui import controls, text
from pages.ui.frame import panel
from pages.ui.loading import models
from tfcore.config import ModelConfig
from tfcore.tokenizers.tokenizer import ByteLevelBPE
from tfcore.views.foundations import tokens as views
from tfcore.views.foundations.tokens.measure.bpe import WordMerges
from tfcore.views.foundations.tokens.say import text as say
from tfcore.views.foundations.tokens.say.embeddings import published_vocabularies

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


def replayed() -> None:
    """The shipped merges replayed on a word."""
    st.markdown(
        "**Start from single bytes. Of all neighbouring pairs, merge the one that was learned first; repeat** until no "
        "pair is on the list."
    )
    with panel() as p:
        p.examples(TRY)
        with p.controls:
            word = controls.text_area(
                "Word", "word", WORD, LETTERS, height=68, help="A space typed first counts: it belongs to the word."
            )
            fitting = {name: name for name in models.fitting(why_not=no_merges) if name in readers()}
            model_name = models.choose(
                label="Tokenizer of", default=MODEL, why_not=no_merges, options=fitting, reads="the stream"
            )
        if not word:
            st.info("There is no word yet: type one, or pick an example.")
            return
        merges = views.word_merges_of(model_name, word)
        last = len(merges.steps) - 1
        if st.session_state.get("_tokens_word", word) != word:
            controls.set_values(step=last)  # another word is shown from the beginning to its end
        st.session_state["_tokens_word"] = word
        with p.controls:
            now = controls.slider("Merges done", "step", 0, last, last)
            pieces_now(model_name, merges, now)
        with p.picture:
            p.show(views.merges(model_name, word, now))
            p.show(views.vocabulary(model_name, word, now))
        p.what_to_see(
            f"Each row is one merge; on its left its rank in the list of {merges.known:,} merges "
            "and the two pieces it joins. Frequent pairs were learned first, so they are merged first, also across the "
            "parts of a word: BPE counts pairs and knows no prefixes."
        )
        p.question(
            "“unhappiness” is un + happy + ness. Why has the tokenizer of stories no token for “happi”?",
            "Merges were learned from counts, not from grammar. Of this word, “app” and “iness” are merged first, and "
            "no merge joins “h” to “app”. “ happy” with its space is one token, but here no space stands before it.",
        )


def pieces_now(model_name: str, merges: WordMerges, now: int) -> None:
    """The pieces after some merges, and the next merge."""
    pieces, ids = merges.steps[now].pieces, views.ids_of(model_name)
    st.markdown(f"**{len(pieces)} pieces now**")
    text.chips(
        pieces,
        key="pieces",
        hues=[i % 3 for i in range(len(pieces))],
        label="Pieces now",
        notes=[str(ids[piece]) for piece in pieces],
    )
    st.caption(text.escape(say.next_merge(merges, now)))


def learned() -> None:
    """Merges learned from a text."""
    st.markdown(
        "**Byte-pair encoding: count all neighbouring pairs, make the most frequent one a new token, count again.** "
        "Here it is trained on your text."
    )
    with panel((1, 1)) as p:
        p.examples(TRY_LEARNING)
        with p.controls:
            corpus = controls.text_area("Text to learn from", "corpus", CORPUS, CHARACTERS, height=110)
            table = views.learned_of(MODEL, corpus)
            if not table.merges:
                st.info("No pair of letters stands twice in this text: type more, or repeat something.")
                return
            now = controls.slider("Merges learned", "learned", 0, views.MOST, 12)
            if now > len(table.merges):
                now = len(table.merges)
                st.caption(f"After {now} merges no pair stands twice, so it ends there.")
            pieces = table.pieces(now)
            st.markdown(f"**The text in {len(pieces):,} tokens**")
            shown = pieces[:CHIPS]
            hues = [i % 3 for i, _ in enumerate(shown)]
            text.chips(shown, key="learned pieces", hues=hues, label="The text in tokens")
        with p.picture:
            p.show(views.pairs(MODEL, corpus, now))
            p.show(views.learning(MODEL, corpus, now))
        p.what_to_see(
            f"{text.escape(say.shortening(table, now))} Suffixes and whole words become tokens where they are "
            "frequent. Grammar plays no part: the text is only split at spaces and punctuation first, and no merge "
            "reaches across."
        )
        p.question(
            "Why not learn merges until every word is one token?",
            "Each token needs a row in the embedding table and enough examples to train it. The row of a word seen "
            "twice would hardly differ from its initial values, and a new word would still fall into pieces. "
            f"{published_vocabularies()}",
        )
