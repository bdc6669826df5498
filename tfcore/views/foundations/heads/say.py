"""Findings on heads: what each does, how two compare, why one looks at a token, and what cutting a width does."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.config import ModelConfig
from tfcore.measures.heads.kinds import HeadScores, Place
from tfcore.measures.parameter_count import parameters
from tfcore.measures.token_text import shorten, visible
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.foundations.heads.measure.attention_maps import overlap
from tfcore.views.foundations.heads.measure.head_ranking import DISTANCE, ENTROPY, KIND, PAIR, Ranking
from tfcore.views.foundations.heads.measure.head_splits import LARGEST_SHARED, MOST_DRAWN, HeadSplit, SharedKV
from tfcore.views.foundations.heads.measure.score_parts import HeadSource, ScoreParts
from tfcore.views.foundations.heads.measure.score_table import LargestPairs

LETTERS = 12  # of a token in a sentence
NAMED = 8  # heads of a mosaic that a sentence names
FIRST = 4  # heads of a ranking that a sentence names


def _word(token: str) -> str:
    return f"'{shorten(visible(token), LETTERS)}'"


# ---- what heads do ----


@dataclass(frozen=True, slots=True)
class HeadKind(Finding):
    """The kind of one head and its score.

    Args:
        on: what the kind was told from, as in "this text".
    """

    layer: int
    head: int
    kind: str
    score: float
    on: str = "this text"

    @property
    def name(self) -> str:
        """The kind and the score: "induction 0.93"."""
        return f"{self.kind} {self.score:.2f}"

    @property
    def sentence(self) -> str:
        return f"Layer {self.layer}, head {self.head}: {self.name} on {self.on}."


def head_kind(scores: HeadScores, layer: int, head: int, on: str = "this text") -> HeadKind:
    """Describe what one head does.

    Args:
        on: what the scores are of; those of induction may be of repeated random tokens.
    """
    kind = str(scores.kind[layer, head])
    on = "repeated random tokens" if kind == "induction" and scores.is_tested else on
    return HeadKind(layer, head, kind, float(scores.score[layer, head]), on)


@dataclass(frozen=True, slots=True)
class HeadKinds(Finding):
    """The kinds of some heads, in their order, out of `total`."""

    heads: tuple[HeadKind, ...]
    total: int

    @property
    def sentence(self) -> str:
        named = ", ".join(f"{one.layer}.{one.head} {one.name}" for one in self.heads[:NAMED])
        more = f" and {len(self.heads) - NAMED} more" if len(self.heads) > NAMED else ""
        return f"Attention maps of {len(self.heads)} of {self.total} heads, each with its kind: {named}{more}."


def head_kinds(scores: HeadScores, places: Sequence[Place]) -> HeadKinds:
    """Describe what each of these heads does."""
    return HeadKinds(tuple(head_kind(scores, *place) for place in places), int(scores.attends.sum()))


def kinds_of_heads(kinds: HeadScores, others: Statement | None = None) -> Statement:
    """How many heads of each kind a model has, the most frequent first.

    Args:
        others: from other_layers, which is said besides.
    """
    own = kinds.kind[kinds.attends].astype(str)
    names, counts = np.unique(own, return_counts=True)
    named = ", ".join(f"{counts[i]} {names[i]}" for i in np.argsort(-counts, kind="stable"))
    words = "Kinds of the {total} heads: {named}." + ("" if others is None else " {others}")
    return state("kinds", words, total=len(own), named=named, others=others)


def strongest_heads(ranking: Ranking, queries: Sequence[str], keys: Sequence[str], query: int, key: int) -> Statement:
    """The first heads of a ranking; query and key are those of PAIR."""
    names = [_word(token) for token in (queries[query], keys[key])]
    what = {
        KIND: "score of their kind on the standard texts",
        PAIR: f"weight from {names[0]} ({query}) to {names[1]} ({key})",
        ENTROPY: "entropy of their weights on this text",
        DISTANCE: "mean distance from query to key on this text",
        "broad": "entropy of their weights on this text, as a share of what it can be at most",
        "local": "weight on the 5 tokens to either side on this text",
    }.get(ranking.by, f"score of “{ranking.by}” on this text")
    first = ranking.order[:FIRST]
    named = ", ".join(f"{layer}.{head} with {ranking.label((layer, head))}{ranking.unit}" for layer, head in first)
    template = "Of {total} heads, the largest {what}: {named}."
    total = int((~np.isnan(ranking.values)).sum())
    return state("strongest heads", template, total=total, what=what, named=named, heads=first)


@dataclass(frozen=True, slots=True)
class RolloutOnFirst(Finding):
    """How much of a rollout ends on the first token that a causal model sees, and why.

    Args:
        query: the token that is followed back.
        first, position: the first token that is seen, and its place.
        share: of the query's rollout that lies on it.
        layers: multiplied.
    """

    query: str
    first: str
    position: int
    share: float
    layers: int

    @property
    def moved(self) -> float:
        """The share of what is elsewhere that a layer moves there, the same for all layers: 1 - (1 - share)^(1/n)."""
        return float(1 - max(0.0, 1 - self.share) ** (1 / self.layers))

    @property
    def sentence(self) -> str:
        query, first = (shorten(visible(token), LETTERS) for token in (self.query, self.first))
        over = "in one layer" if self.layers == 1 else f"over {self.layers} layers"
        share = f"{min(self.share, 0.9999):.2%}" if self.share > 0.99 else f"{self.share:.0%}"
        return (
            f"Rollout of '{query}' {over}: {share}{' or more' if self.share > 0.9999 else ''} on '{first}' "
            f"({self.position}), the first token that is seen. Under the causal mask it sees itself alone, so what "
            f"comes there stays: {self.moved:.0%} a layer is enough. Fewer layers show more, and so does hiding the "
            "first token."
        )


def rollout_on_first(
    rolled: Float[ndarray, "query key"], query: int, tokens: Sequence[str], hidden: Bool[ndarray, " key"], layers: int
) -> RolloutOnFirst | None:
    """State the share of one query of a rollout; None where a query sees later tokens, or where this one sees no other.

    Args:
        rolled: the rollout of so many layers.
        hidden: keys that are left out of its maps.
    """
    first = int((~hidden).argmax())
    if np.triu(rolled, 1).any() or query <= first:
        return None
    return RolloutOnFirst(tokens[query], tokens[first], first, float(rolled[query, first]), layers)


def rollout_without_sinks() -> Statement:
    """The statement that a rollout leaves out the weight on learned sinks."""
    return state("rollout without sinks", "What learned sinks take moves no token: each row is divided by its sum.")


# ---- layers of hybrids ----


def other_layers(config: ModelConfig) -> Statement | None:
    """What layers of a hybrid have in the place of attention or beside it, of which no weights are shown; None where
    all have attention alone."""
    kinds = [config.mixer_of(layer) for layer in range(config.n_layers)]
    words = {"attention+ssm": "a state beside attention", "conv": "a convolution", "none": "no mixing of tokens"}
    what = {layer: words.get(kind, "a state") for layer, kind in enumerate(kinds) if kind != "attention"}
    if not what:
        return None
    groups = {
        said: ", ".join(str(i) for i, one in what.items() if one == said) for said in dict.fromkeys(what.values())
    }
    listed = "; ".join(f"{said} in layer{'s' if ',' in layers else ''} {layers}" for said, layers in groups.items())
    template = "No attention weights are shown of: {listed}."
    if any(said == "a state" for said in groups):
        template += " Choose a layer with a state to see the matrix that it implies."
    return state("other layers", template, listed=listed)


def implied_rows(
    matrix: Float[ndarray, "query key"], layer: int, head: int, queries: Sequence[str], keys: Sequence[str]
) -> Statement:
    """The sums of the rows of a matrix that a state implies, how many of its entries are negative, and the largest by
    size between two different tokens."""
    sums, seen = matrix.sum(1), np.tril(np.ones(matrix.shape, dtype=bool))
    apart = np.where(np.tril(seen, -1), np.abs(matrix), 0.0)
    query, key = (int(i) for i in np.unravel_index(apart.argmax(), apart.shape))
    told = "" if np.allclose(sums, 1, atol=1e-3) and (matrix >= 0).all() else ": no probabilities"
    farthest = "" if len(matrix) < 2 else " Largest between two tokens: {weight:+.2f}, of {key} ({at}) for {query}."
    return state(
        "implied",
        "Layer {layer}, head {head} carries a state in the place of attention; this is the matrix that the state "
        "implies. Its rows sum to {low:.2f} to {high:.2f}, {negative:.0%} of its entries are below 0"
        f"{told}.{farthest}",
        layer=layer,
        head=head,
        low=float(sums.min()),
        high=float(sums.max()),
        negative=float((matrix[seen] < 0).mean()),
        weight=float(matrix[query, key]),
        query=_word(queries[query]),
        key=_word(keys[key]),
        at=key,
    )


# ---- two heads side by side ----


def shared_weight(one: Float[ndarray, "query key"], other: Float[ndarray, "query key"]) -> Statement:
    """The share of their weight that two heads put on the same tokens of a text."""
    return state(
        "shared weight", "The two heads put {share:.0%} of their weight on the same tokens.", share=overlap(one, other)
    )


@dataclass(frozen=True, slots=True)
class SameKind(Finding):
    """The kind of one head on two texts."""

    one: str
    other: str

    @property
    def verdict(self) -> str:
        return "the same on both" if self.one == self.other else f"{self.one} on one, {self.other} on the other"

    @property
    def sentence(self) -> str:
        return f"Kind of the head: {self.verdict}."


def same_kind(one: HeadScores, other: HeadScores, layer: int, head: int) -> SameKind:
    """Compare the kind of a head on two texts."""
    return SameKind(str(one.kind[layer, head]), str(other.kind[layer, head]))


@dataclass(frozen=True, slots=True)
class HeadsOfModels(Finding):
    """A head of each of two models on the same text: what kind each is there."""

    models: tuple[str, str]
    heads: tuple[HeadKind, HeadKind]

    @property
    def verdict(self) -> str:
        one, other = (head.kind for head in self.heads)
        return one if one == other else f"{one}, {other}"

    @property
    def sentence(self) -> str:
        one, other = (
            f"head {head.layer}.{head.head} of {model} is {head.name}"
            for model, head in zip(self.models, self.heads, strict=True)
        )
        return f"On this text {one}; {other}."


def heads_of_models(
    models: tuple[str, str], scores: tuple[HeadScores, HeadScores], places: tuple[Place, Place]
) -> HeadsOfModels:
    """Compare a head of one model with one of another, each on its own tokens of the text."""
    one, other = (head_kind(scored, *place) for scored, place in zip(scores, places, strict=True))
    return HeadsOfModels(models, (one, other))


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
        """The difference between sum and score: rounding."""
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


def score_sum(parts: ScoreParts) -> ScoreSum:
    """The score, and what it adds up from."""
    places = [parts.key] if parts.against is None else [parts.key, parts.against]
    rows, columns = parts.values.shape
    return ScoreSum(
        layer=parts.layer,
        head=parts.head,
        query=parts.query,
        key=parts.key,
        against=parts.against,
        tokens=(parts.queries[parts.query], *(parts.keys[place] for place in places)),
        score=parts.score,
        total=parts.total,
        shape=(rows, columns),
        weight=float(parts.weights[parts.key]),
        other=0.0 if parts.against is None else float(parts.weights[parts.against]),
        bias=parts.bias,
    )


def pairs(largest: LargestPairs) -> Statement:
    """The largest pairs, by name."""
    named = ", ".join(f"{one} × {other} {value:+.2f}" for one, other, value in largest.pairs)
    template = "Largest pairs (query × key): {named}; the other {others:,} together {rest:+.2f}."
    return state("largest pairs", template, named=named, others=largest.others, rest=largest.rest)


@dataclass(frozen=True, slots=True)
class StrongestWriters(Finding):
    """The strongest writers for a score on each side, and what the strongest head on each side attends to.

    Args:
        at_query, at_key: name and sum of the strongest writer.
        tokens: at which they wrote.
        sources: the strongest head at the query and the one at the key, where there are any.
    """

    at_query: tuple[str, float]
    at_key: tuple[str, float]
    tokens: tuple[str, str]
    sources: tuple[HeadSource, ...]

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


def strongest_writers(parts: ScoreParts) -> StrongestWriters:
    """The writers with the largest sums, by size."""
    rows, columns = parts.values.sum(1), parts.values.sum(0)
    row, column = int(np.abs(rows).argmax()), int(np.abs(columns).argmax())
    first = [next((s for s in parts.sources if s.side == side), None) for side in ("query", "key")]
    return StrongestWriters(
        (parts.at_query[row].name, float(rows[row])),
        (parts.at_key[column].name, float(columns[column])),
        (parts.queries[parts.query], parts.keys[parts.key]),
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
    without_sinks: bool = False

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
            + (" The learned sinks of its own heads are left out." if self.without_sinks else "")
            + (f" Drawn: the first {self.drawn}." if self.drawn < self.n_heads else "")
        )


def split_maps(split: HeadSplit) -> SplitMaps:
    """Describe the maps of a split."""
    return SplitMaps(split.layer, split.n_heads, split.d_head, split.trained_heads, split.largest, split.without_sinks)


def sharing_loss(variants: Sequence[SharedKV]) -> Statement:
    """State the loss when all KV heads are merged into one."""
    own, fewest = (end(variants, key=lambda variant: variant.kv_heads).loss for end in (max, min))
    template = "The loss goes from {own:.2f} to {fewest:.2f} nats per token when KV heads are merged without further "
    return state("sharing loss", template + "training.", own=own, fewest=fewest)


def sharing_variants(variants: Sequence[SharedKV]) -> Statement:
    """How many KV heads the query heads of each variant share."""
    each = "; ".join(f"{one.kind}: {one.kv_heads} for {one.n_heads}" for one in variants)
    return state("sharing variants", "Which query heads share KV heads: {each}.", each=each)


def sharing_refusal(config: ModelConfig) -> str | None:
    """Why sharing is not shown for a model; None where it is."""
    if not config.scores_tokens:
        return "This model predicts no tokens, so there is no loss that sharing could change: shown for stories alone."
    if (count := parameters(config).total) > LARGEST_SHARED:
        return f"Sharing is shown on copies of the model; for {count:,} parameters that would take too long here."
    return None


def trained_sharing(config: ModelConfig) -> str:
    """How many query heads of a model read each of its KV heads."""
    if (each := config.attention.n_heads // config.attention.kv_heads) == 1:
        return f"In this model each of the {config.attention.n_heads} query heads has a KV head of its own."
    return (
        f"In this model {config.attention.n_heads} query heads read {config.attention.kv_heads} KV heads, {each} each."
    )
