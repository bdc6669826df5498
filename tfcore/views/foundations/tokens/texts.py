"""Tokens: what a tokenizer makes of a text, merges replayed on a word, and merges learned from a text."""

from collections.abc import Mapping

import pandas as pd

from tfcore.measures.token_pieces import TextPieces, cut_text
from tfcore.measures.token_text import visible
from tfcore.tokenizers.tokenizer import BPETokenizer, Tokenizer
from tfcore.views.foundations.tokens.draw.merges import (
    density_figure,
    learning_figure,
    merges_figure,
    pairs_figure,
    vocabulary_figure,
)
from tfcore.views.foundations.tokens.measure import bpe
from tfcore.views.foundations.tokens.measure.bpe import LearnedMerges, MergingTokenizer, WordMerges
from tfcore.views.foundations.tokens.measure.text_pieces import Density, densities, piece_label
from tfcore.views.foundations.tokens.say import text as say
from tfcore.views.kept import kept
from tfcore.views.sources import Source
from tfcore.views.view import View, view

MOST = 120  # merges learned from a text


# ---- a text ----


def _pieces(model: object, tokenizer: Tokenizer, text: str) -> TextPieces:  # noqa: ARG001 - by whose name it is kept
    return cut_text(text, tokenizer)


def _densities(
    model: object,  # noqa: ARG001 - by whose name it is kept
    tokenizer: Tokenizer,
    texts: tuple[tuple[str, str], ...],
) -> list[Density]:
    return densities(tokenizer, dict(texts))


pieces_of = kept(_pieces, entries=32)
densities_of = kept(_densities, entries=32)


@view
def text(model: Source, texts: Mapping[str, str]) -> View:
    """How densely a tokenizer packs a text, and others beside it.

    Args:
        model: whose tokenizer it is.
        texts: by name, the one that matters first.
    """
    each = densities_of(model, tuple(texts.items()))
    return View(
        key="density",
        title="Characters per token",
        result=each,
        chart=density_figure(each, height=430),
        findings=(say.characters_per_token(each),),
        note="Your text is on top. Below 1 there are more tokens than characters.",
        table=lambda: pd.DataFrame(
            [
                {
                    "text": one.name,
                    "characters": one.characters,
                    "bytes": one.data_bytes,
                    "tokens": one.tokens,
                    "parts of characters": one.parts,
                }
                for one in each
            ]
        ),
        formula=r"\text{text} \to (t_1, \dots, t_n), \quad t_i \in \{0, \dots, |V| - 1\}, \qquad x_i = E[t_i]",
        papers="Byte-pair encoding: arXiv:1508.07909; on bytes, as here: GPT-2's report (2019), section 2.2",
        code=(cut_text, densities),
    )


# ---- merges of a word ----


def _word_merges(model: object, tokenizer: MergingTokenizer, word: str) -> WordMerges:  # noqa: ARG001 - as above
    return bpe.word_merges(tokenizer, word)


def _ids(model: object, tokenizer: Tokenizer) -> dict[bytes, int]:  # noqa: ARG001 - as above
    """The id of every token, by its bytes; special tokens, which no merge makes, have none."""
    special = set(tokenizer.special_tokens.values())
    return {b"" if i in special else tokenizer.token_bytes(i): i for i in range(tokenizer.vocab_size)}


word_merges_of = kept(_word_merges, entries=64)
ids_of = kept(_ids, entries=2)


@view
def merges(model: Source, word: str, now: int) -> View:
    """The merges of a word, one by one: of all neighbours, join the pair learned first (arXiv:1508.07909).

    Args:
        model: whose tokenizer it is.
        now: the last merge that is done.
    """
    replayed = word_merges_of(model, word)
    return View(
        key="merges",
        title="The merges",
        result=replayed,
        chart=merges_figure(replayed.steps, now, piece_label, height=430),
        min_width=420,
        findings=(say.merge_result(replayed),),
        note="Filled: made in this step." if now else "",
        table=lambda: pd.DataFrame(
            [
                {"merge": i, "rank": step.rank, "pieces": " ".join(map(visible, step.pieces))}
                for i, step in enumerate(replayed.steps)
            ]
        ),
        formula=r"(a, b) \leftarrow \arg\min_{\text{neighbours}} \mathrm{rank}(a, b), \qquad a\;b \to ab",
        papers="Neural Machine Translation of Rare Words with Subword Units, section 3.2, arXiv:1508.07909",
        code=(bpe.replay, bpe.merge_pair),
    )


@view
def vocabulary(model: Source, word: str, now: int) -> View:
    """The same word with only the first merges of the list: a vocabulary is a choice. See merges."""
    replayed = word_merges_of(model, word)
    return View(
        key="vocabulary",
        title="Pieces by merges known",
        result=replayed,
        chart=vocabulary_figure(replayed.steps, now, replayed.known, height=240),
        findings=(say.pieces_by_merges(replayed),),
        note="A vocabulary is a choice: shorter sequences, or a smaller table.",
    )


# ---- merges learned from a text ----


def _learned(model: object, tokenizer: BPETokenizer, corpus: str) -> LearnedMerges:  # noqa: ARG001 - as above
    return bpe.learn_from(tokenizer, corpus, MOST)


learned_of = kept(_learned, entries=16)


@view
def pairs(model: Source, corpus: str, now: int) -> View:
    """The counts of neighbouring pairs that decide the next merge. See learning."""
    learned = learned_of(model, corpus)
    return View(
        key="pairs",
        title="Pairs counted",
        result=learned,
        chart=pairs_figure(learned.merges[min(now, len(learned.merges) - 1)], piece_label, height=250),
        findings=(say.pair_chosen(learned, now),),
    )


@view
def learning(model: Source, corpus: str, now: int) -> View:
    """Learning merges: make the most frequent pair of neighbours a token, and count again (arXiv:1508.07909).

    Args:
        model: whose tokenizer says where words end; no more of it is used.
        corpus: the text to learn from, at most MOST merges.
        now: merges that are done.
    """
    learned = learned_of(model, corpus)
    return View(
        key="learning",
        title="The length of the text",
        result=learned,
        chart=learning_figure(learned.tokens, now, height=280),
        findings=(say.learned_length(learned, now),),
        table=lambda: pd.DataFrame(
            [
                {"merge": i, "pair": " + ".join(map(visible, one.pair)), "count": one.count, "tokens": one.tokens}
                for i, one in enumerate(learned.merges, start=1)
            ]
        ),
        formula=r"(a, b)_{k} = \arg\max_{\text{pairs}} \mathrm{count}(a, b), \qquad V_{k+1} = V_k \cup \{ab\}",
        papers="Algorithm 1 of arXiv:1508.07909; the shipped list was learned the same way from children's stories",
        code=(bpe.learn, bpe.replay),
    )
