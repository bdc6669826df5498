"""Views of the tokens of a text compared with each other: by their embeddings, and by one head."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from tfcore.attention import attention_scores
from tfcore.charts.tokens import token_heatmap
from tfcore.measures import one_text
from tfcore.measures.one_text import UsedTokens
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.finding import state
from tfcore.views.foundations.attention.measure.similarity import Measure, TokenSimilarity, token_similarity
from tfcore.views.foundations.attention.say import EmbeddingPair, ScorePair, embedding_pair, score_pair
from tfcore.views.kept import kept
from tfcore.views.sources import Source
from tfcore.views.view import View, view

TOKENS = 48  # of a text that are compared
MODEL = "stories"
WIDEST = 2.0  # where the colours of the embeddings' products end in this model; a word with itself is beyond that
SCORE = 10.0  # and those of a head's scores


def _tokens(model: Transformer, tokenizer: Tokenizer, text: str) -> UsedTokens:
    return one_text.first_tokens(model, tokenizer, text, TOKENS)


def _similarity(model: Transformer, tokenizer: Tokenizer, text: str) -> TokenSimilarity:
    return token_similarity(model, _tokens(model, tokenizer, text).ids)


tokens_of = kept(_tokens, entries=64)
similarity_of = kept(_similarity, entries=12)


class Compared(NamedTuple):
    """Tokens compared with each other, and two of them.

    Args:
        values: of all pairs.
        pair: what is said of the two.
    """

    values: Float[ndarray, "seq seq"]
    pair: EmbeddingPair | ScorePair


@view
def embeddings(model: Source, text: str, first: int, second: int, measure: Measure) -> View:
    """Two words of a text, compared by their embeddings.

    Args:
        first, second: their positions.
    """
    similarity, tokens = similarity_of(model, text), tokens_of(model, text).tokens
    n, pair = len(tokens), embedding_pair(similarity, tokens, first, second, measure)
    if measure == "cosine":
        values, limit = similarity.cosines, 1.0
    else:  # tables are as large as they were trained
        values, limit = similarity.products, WIDEST if model == MODEL else similarity.largest_between
    return View(
        key="embeddings",
        title="Words compared by their embeddings",
        result=Compared(values, pair),
        chart=token_heatmap(
            values,
            tick_labels(tokens),
            scale="@signed",
            zmin=-limit,
            zmax=limit,
            height=460,
            hover=f"{measure} of %{{y}} and %{{x}}: %{{z:.2f}}",
        ),
        min_width=420,
        cursor=True,
        described=state("map", "The embeddings of {n} tokens compared with each other. {pair}", n=n, pair=pair),
        findings=(state("embeddings", "Embeddings, shape ({n}, {n}). {pair}", n=n, pair=pair),),
        table=lambda: _rows(values, tokens, measure),
        code=(token_similarity, attention_scores),
    )


@view
def scores(model: Source, text: str, first: int, second: int, layer: int, head: int) -> View:
    """Two words of a text, compared by one head: what a query looks for is not what its own key offers.

    Args:
        first, second: positions of the query and of the key.
    """
    similarity, tokens = similarity_of(model, text), tokens_of(model, text).tokens
    n, pair = len(tokens), score_pair(similarity, tokens, first, second, layer, head)
    values = similarity.scores[layer, head].copy()
    return View(
        key="scores",
        title="Words compared by one head",
        result=Compared(values, pair),
        chart=token_heatmap(
            values,
            tick_labels(tokens),
            scale="@signed",
            zmin=-SCORE,
            zmax=SCORE,
            height=460,
            hover="query %{y}, key %{x}: %{z:.2f}",
        ),
        min_width=420,
        cursor=True,
        described=state("map", "The scores of a head for {n} tokens. {pair}", n=n, pair=pair),
        findings=(state("scores", "Scores, (query, key) = ({n}, {n}). {pair}", n=n, pair=pair),),
        table=lambda: _rows(values, tokens, "score"),
        formula=r"s_{ij} = \frac{(W_Q x_i) \cdot (W_K x_j)}{\sqrt{d_k}}",
        papers="Queries and keys: arXiv:1706.03762, section 3.2. The scores come before the mask, and in models with "
        "RoPE (arXiv:2104.09864) after the rotation by position.",
        code=(token_similarity, attention_scores),
    )


def _rows(matrix: Float[ndarray, "seq seq"], tokens: Sequence[str], name: str) -> pd.DataFrame:
    """A matrix as rows of two tokens and a value."""
    rows = pd.DataFrame(matrix).stack().rename(name).rename_axis(["row", "column"]).reset_index()
    return rows.assign(row_token=[tokens[i] for i in rows["row"]], column_token=[tokens[i] for i in rows["column"]])
