"""What is said of heads: why one looks at a token, and what cutting a width into heads does."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.analysis.finding import Finding, Statement, state
from tfcore.analysis.model.parameter_count import parameters
from tfcore.analysis.token_text import shorten, visible
from tfcore.config import ModelConfig
from tfcore.views.foundations.heads.measure.head_splits import LARGEST_SHARED, MOST_DRAWN, HeadSplit, SharedKV
from tfcore.views.foundations.heads.measure.score_parts import ScoreParts, Source
from tfcore.views.foundations.heads.measure.score_table import LargestPairs

LETTERS = 12  # of a token in a sentence


def _word(token: str) -> str:
    return f"'{shorten(visible(token), LETTERS)}'"


# ---- why a head looks there ----


@dataclass(frozen=True, slots=True)
class ScoreSum(Finding):
    """A score, or the difference of two, and the sum over all pairs of writers.

    Args:
        layer, head: of the head.
        query, key, against: positions; `against` is None where nothing is taken away.
        tokens: of these positions.
        score: of the pass.
        total: the sum over all pairs, and the bias of positions.
        shape: how many writers there are at the query and at the key.
        weight, other: attention weights of both keys.
        bias: what the scheme of positions adds to the score itself.
    """

    layer: int
    head: int
    query: int
    key: int
    against: int | None
    tokens: tuple[str, ...]
    score: float
    total: float
    shape: tuple[int, int]
    weight: float
    other: float
    bias: float

    @property
    def error(self) -> float:
        """By how much sum and score differ: rounding."""
        return abs(self.total - self.score)

    @property
    def sentence(self) -> str:
        query, key = _word(self.tokens[0]), _word(self.tokens[1])
        pairs = f"{self.shape[0]} × {self.shape[1]} pairs of writers add up to it within {max(self.error, 1e-7):.0e}"
        bias = f", {self.bias:+.2f} of position bias included" if self.bias else ""
        if self.against is None:
            return (
                f"Head {self.layer}.{self.head} scores {key} ({self.key}) with {self.score:+.2f} for {query} "
                f"({self.query}), and gives it a weight of {self.weight:.2f}; {pairs}{bias}."
            )
        ratio = math.exp(min(abs(self.score), 30))
        times = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"
        than = "as large as" if self.score >= 0 else "as small as"
        return (
            f"For {query} ({self.query}), head {self.layer}.{self.head} scores {key} ({self.key}) {self.score:+.2f} "
            f"against {_word(self.tokens[2])} ({self.against}): its weight, {self.weight:.2f}, is {times} times "
            f"{than} that, {self.other:.2f}; {pairs}{bias}."
        )


def score_sum(found: ScoreParts) -> ScoreSum:
    """The score, and what it adds up from."""
    places = [found.key] if found.against is None else [found.key, found.against]
    rows, columns = found.values.shape
    return ScoreSum(
        layer=found.layer,
        head=found.head,
        query=found.query,
        key=found.key,
        against=found.against,
        tokens=(found.queries[found.query], *(found.keys[place] for place in places)),
        score=found.score,
        total=found.total,
        shape=(rows, columns),
        weight=float(found.weights[found.key]),
        other=0.0 if found.against is None else float(found.weights[found.against]),
        bias=found.bias,
    )


def pairs(found: LargestPairs) -> Statement:
    """The largest pairs, by name."""
    named = ", ".join(f"{one} × {other} {value:+.2f}" for one, other, value in found.pairs)
    template = "Largest pairs (query × key): {named}; the other {others:,} together {rest:+.2f}."
    return state("largest pairs", template, named=named, others=found.others, rest=found.rest)


@dataclass(frozen=True, slots=True)
class StrongestWriters(Finding):
    """What wrote most for a score on each side, and what the strongest head on each side attends to.

    Args:
        at_query, at_key: name and sum of the strongest writer.
        tokens: at which they wrote.
        sources: the strongest head at the query and the one at the key, where there are any.
    """

    at_query: tuple[str, float]
    at_key: tuple[str, float]
    tokens: tuple[str, str]
    sources: tuple[Source, ...]

    @property
    def sentence(self) -> str:
        sides = zip(("query", "key"), self.tokens, (self.at_query, self.at_key), strict=True)
        sums = "; ".join(f"at the {side} {_word(token)} {one}, {total:+.2f}" for side, token, (one, total) in sides)
        heads = " ".join(
            f"At {_word(one.token)}, {one.writer.name} attends most to {_word(one.key_token)} ({one.key}), with weight "
            f"{one.weight:.2f}, and adds {one.share:+.2f}."
            for one in self.sources
        )
        return f"Most is added by what wrote: {sums}. {heads}".rstrip()


def strongest_writers(found: ScoreParts) -> StrongestWriters:
    """The writers with the largest sums, by size."""
    rows, columns = found.values.sum(1), found.values.sum(0)
    row, column = int(np.abs(rows).argmax()), int(np.abs(columns).argmax())
    first = [next((s for s in found.sources if s.side == side), None) for side in ("query", "key")]
    return StrongestWriters(
        (found.at_query[row].name, float(rows[row])),
        (found.at_key[column].name, float(columns[column])),
        (found.queries[found.query], found.keys[found.key]),
        tuple(source for source in first if source is not None),
    )


# ---- how heads are cut ----


@dataclass(frozen=True, slots=True)
class SplitMaps(Finding):
    """The attention of one layer split into a number of heads.

    Args:
        layer: of the model.
        n_heads, d_head: of the split.
        trained_heads: how many heads the model was trained with.
        largest: mean largest weight of a query token.
    """

    layer: int
    n_heads: int
    d_head: int
    trained_heads: int
    largest: float

    @property
    def drawn(self) -> int:
        """How many of the heads a picture shows, which is no higher than a window then."""
        return min(self.n_heads, MOST_DRAWN)

    @property
    def trained(self) -> str:
        if self.n_heads == self.trained_heads:
            return "as it was trained"
        return f"it was trained with {self.trained_heads}"

    @property
    def sentence(self) -> str:
        return (
            f"softmax(q kᵀ / √{self.d_head}) of layer {self.layer}, cut into {self.n_heads}: {self.trained}. The same "
            f"queries and keys every time; the largest weight of a query token is {self.largest:.2f} on average."
            + (f" Drawn: the first {self.drawn}." if self.drawn < self.n_heads else "")
        )


def split_maps(split: HeadSplit) -> SplitMaps:
    """What the maps of a split show."""
    return SplitMaps(split.layer, split.n_heads, split.d_head, split.trained_heads, split.largest)


def sharing_loss(variants: Sequence[SharedKV]) -> Statement:
    """What merging all KV heads into one does to the loss."""
    own, fewest = (end(variants, key=lambda variant: variant.kv_heads).loss for end in (max, min))
    template = "The loss goes from {own:.2f} to {fewest:.2f} nats per token when KV heads are merged without further "
    return state("sharing loss", template + "training.", own=own, fewest=fewest)


def sharing_variants(variants: Sequence[SharedKV]) -> Statement:
    """How many KV heads the query heads of each variant share."""
    each = "; ".join(f"{one.kind}: {one.kv_heads} for {one.n_heads}" for one in variants)
    return state("sharing variants", "Which query heads share KV heads: {each}.", each=each)


def sharing_refusal(config: ModelConfig) -> str | None:
    """Why sharing is not shown for a model; None where it is."""
    if config.head == "none":
        return "This model predicts no tokens, so there is no loss that sharing could change: shown for stories alone."
    if (count := parameters(config).total) > LARGEST_SHARED:
        return f"Sharing is shown on copies of the model; for {count:,} parameters that would take too long here."
    return None


def trained_sharing(config: ModelConfig) -> str:
    """How many query heads of a model read each of its KV heads."""
    if (each := config.n_heads // config.kv_heads) == 1:
        return f"In this model each of the {config.n_heads} query heads has a KV head of its own."
    return f"In this model {config.n_heads} query heads read {config.kv_heads} KV heads, {each} each."
