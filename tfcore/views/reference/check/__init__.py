"""Questions over all chapters: the map of a round, and figures that questions are read from."""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from tfcore.charts.guesses import guesses_figure
from tfcore.charts.tiles import tiles
from tfcore.measures.heads.kinds import score_heads
from tfcore.measures.heads.maps import AttentionMaps, attention_maps
from tfcore.measures.one_text import first_tokens
from tfcore.measures.text_loss import likeliest, next_tokens
from tfcore.measures.token_text import tick_labels
from tfcore.views.kept import kept
from tfcore.views.reference.check import draw, say
from tfcore.views.reference.check.draw import State
from tfcore.views.reference.check.measure.problem import Problem, guessed_right
from tfcore.views.sources import Source
from tfcore.views.view import View, view

SHORT = 24  # tokens of a map
LONG = 64  # tokens of a text that goes on


def _maps(model: Any, tokenizer: Any, text: str, seed: int) -> AttentionMaps:
    """Patterns and scores of all heads on a text, or (empty) on random tokens that are repeated."""
    if text:
        return attention_maps(model, first_tokens(model, tokenizer, text, SHORT).ids)
    once = Random(seed).sample(range(model.config.vocab_size), SHORT // 2)
    return attention_maps(model, once + once)


def _next_five(model: Any, tokenizer: Any, text: str) -> tuple[list[str], list[float]]:
    """The five likeliest next tokens, and their probabilities."""
    next_ones = next_tokens(model, first_tokens(model, tokenizer, text, LONG).ids, 5)
    return tokenizer.tokens(next_ones.ids.tolist()), next_ones.probabilities.tolist()


maps_of = kept(_maps, entries=24)
next_five_of = kept(_next_five, entries=24)


def scores_of(maps: AttentionMaps, score: say.Score) -> Any:
    """A score of each head, (layer, head)."""
    return maps.heads.entropy if score == "entropy" else maps.heads.scores[score]


@view
def round_map(number: int, chapters: Sequence[str], states: Sequence[State], current: int | None) -> View:
    """A round of questions: which are answered, and which of them right.

    Args:
        number: of the round.
        chapters, states: of each question.
        current: place of the question that is shown, from 0.
    """
    progress, rows = say.progress(chapters, states), len(set(chapters))
    return View(
        key="round",
        title=f"Round {number:,}",
        result=states,
        chart=draw.round_map(chapters, states, -1 if current is None else current, max(120, 40 * rows + 16)),
        described=progress,
        note=f"Round {number:,}: {progress}",
        table=lambda: pd.DataFrame({"question": range(1, len(states) + 1), "state": states}),
        code=(Problem, guessed_right),
    )


@view
def six_heads(
    model: Source, text: str, seed: int, heads: Sequence[tuple[int, int]], score: say.Score, key: str
) -> View:
    """Attention maps of some heads, which have letters for names.

    Args:
        model: with its tokenizer.
        text: that is read; empty for random tokens that are repeated.
        seed: of these.
        heads: layer and head of each.
        score: what is said of each.
        key: names the picture.
    """
    attention = maps_of(model, text, seed)
    letters = "ABCDEFGH"[: len(heads)]
    scores = scores_of(attention, score)
    maps = np.stack([attention.patterns[place] for place in heads])
    n = maps.shape[-1]
    return View(
        key=key,
        title="Six heads",
        result=attention,
        chart=tiles(
            maps, [f"<b>{letter}</b>" for letter in letters], 3, hovers=[f"head {one}" for one in letters], height=430
        ),
        min_width=330,
        described=say.heads_measured(score, {one: float(scores[at]) for one, at in zip(letters, heads, strict=True)}),
        note=f"Six of the model's heads, each a map (query, key) = ({n}, {n}); the darker on light paper, the more "
        "weight.",
        code=(score_heads,),
    )


@view
def likeliest_five(model: Source, text: str, key: str) -> View:
    """The five likeliest next tokens of a text.

    Args:
        model: with its tokenizer.
        key: names the picture.
    """
    tokens, probabilities = next_five_of(model, text)
    return View(
        key=key,
        title="The five likeliest next tokens",
        result=(tokens, probabilities),
        chart=guesses_figure(np.array(probabilities), tick_labels(tokens), height=220),
        min_width=330,
        described=say.likeliest_five(tokens, probabilities),
        note="Probability of the next token after the text, (vocab,), its five largest.",
        code=(likeliest,),
    )
