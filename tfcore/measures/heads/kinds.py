"""Kinds of heads, by where their weight goes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from tfcore.inspection.capture import layer_of
from tfcore.model import Transformer

# In the order of the scores; the last two say how spread out a head is that does nothing definite.
KINDS = ("previous token", "next token", "first token", "self", "duplicate", "induction", "local", "broad")
NO_ATTENTION = "no attention"  # the kind of a head in a layer of a hybrid that has none
CROSS_KINDS = ("same place", "first token", "last token", "local", "broad")
THRESHOLD = 0.4  # a definite behaviour names the head from this mean weight on
LEAST = 1e-6  # weight that must be left in a row; less is rounding
WHOLE = 0.999  # a row that sums to less, but to something, has a learned sink
NEAR = 5  # "local": the keys at most this many tokens away
SMALL_VOCABULARY = 8_192  # up to which the logits of 8 rows of random tokens fit into memory
Place = tuple[int, int]  # layer, head


@dataclass(frozen=True, slots=True)
class HeadScores:
    """Scores of all heads on one text, each array (layer, head).

    Args:
        scores: kind -> score, 0 to 1. Mean attention weight, over the queries where the kind can occur at all, on
            previous token, next token: the one just before or after; first token: position 0 (an attention sink,
            arXiv:2309.17453); self: the query's own position; duplicate: other occurrences of the same token;
            induction: the tokens right after those (arXiv:2209.11895); local: the 5 tokens to either side.
            Only tokens that the query may see count. broad: entropy of the weights over its largest possible value.
            Of cross-attention: same place: the token as far along its text as the query is along its own;
            first token, last token; local: the 5 tokens to either side of the same place; broad.
            Where learned sinks take a part of the weight, entropy and distance are of what falls on tokens.
        kind: the name that fits best. Induction, if the head does that on repeated random tokens, where nothing else
            can be copied; else the largest definite score if it is at least 0.4; else local or broad. NO_ATTENTION,
            with scores of 0, where all weights of a layer are 0: in a hybrid, one without attention.
        score: what belongs to kind: the weight in that test for induction heads, for others the score on the text.
        entropy: mean entropy of the weights, bits.
        distance: mean distance from query to key, weighted by attention, tokens.
        is_tested: whether induction was told from repeated random tokens.
    """

    scores: dict[str, Float[ndarray, "layer head"]]
    kind: ndarray
    score: Float[ndarray, "layer head"]
    entropy: Float[ndarray, "layer head"]
    distance: Float[ndarray, "layer head"]
    is_tested: bool = False

    @property
    def attends(self) -> Bool[ndarray, "layer head"]:
        """Which heads are attention's; the others stand for layers of a hybrid that have none."""
        return self.kind != NO_ATTENTION


def score_heads(patterns: Float[ndarray, "layer head query key"], ids: Int[ndarray, " key"]) -> HeadScores:
    """Scores of every head from its attention pattern on one text.

    Args:
        patterns: attention weights, rows summing to 1 (to less with learned sinks), queries and keys the same tokens.
        ids: the token ids, which tell what is a repetition.

    Query 0 of a causal pattern can only see itself and is left out everywhere.
    """
    n = len(ids)
    target = targets(ids, ahead=bool(np.triu(patterns, 1).any()))  # one look ahead tells that there is no causal mask
    return _scored(patterns[:, :, 1:], {kind: where[1:] for kind, where in target.items()}, np.arange(1, n))


def mean_scores(measured: Sequence[HeadScores], inducing: Float[ndarray, "layer head"] | None) -> HeadScores:
    """The scores of the same heads on several texts: each score is the mean over the texts, and the kinds follow.

    Args:
        inducing: RepeatedTokens.induction of the model; None leaves it to the texts what is an induction head.
    """
    scores = {kind: np.mean([one.scores[kind] for one in measured], axis=0) for kind in next(iter(measured)).scores}
    entropy, distance = (np.mean([getattr(one, name) for one in measured], axis=0) for name in ("entropy", "distance"))
    lacking = ~measured[0].attends
    mean = _without(HeadScores(scores, *_name(scores), entropy, distance), lacking)
    if inducing is None:
        return mean
    is_inducing = (inducing >= THRESHOLD) & ~lacking
    kind = np.where(is_inducing, "induction", mean.kind)
    return replace(mean, kind=kind, score=np.where(is_inducing, inducing, mean.score), is_tested=True)


def targets(ids: Int[ndarray, " key"], ahead: bool = False) -> dict[str, Bool[ndarray, "query key"]]:
    """The keys that a head of each kind would look at, on a text.

    Args:
        ahead: queries see what comes after them.
    """
    n = len(ids)
    query, key = np.arange(n)[:, None], np.arange(n)[None, :]
    may_see = (key <= query) | ahead
    same = (ids[:, None] == ids[None, :]) & (key != query) & may_see
    after = np.zeros_like(same)
    after[:, 1:] = same[:, :-1]
    return {
        "previous token": key == query - 1,
        "next token": (key == query + 1) & may_see,
        "first token": (key == 0) & (query > 0),
        "self": (key == query) & (query > 0),
        "duplicate": same,
        "induction": after & (key != query) & may_see,
        "local": (key != query) & (np.abs(key - query) <= NEAR) & may_see,
    }


def score_cross(patterns: Float[ndarray, "layer head query key"]) -> HeadScores:
    """Scores of every head of cross-attention, where queries and keys are tokens of two texts."""
    _, _, n_query, n_key = patterns.shape
    key = np.arange(n_key)[None, :]
    place = np.round(np.arange(n_query) * (n_key - 1) / max(1, n_query - 1))  # as far along the keys
    columns = {
        "same place": key == place[:, None],
        "first token": np.broadcast_to(key == 0, (n_query, n_key)),
        "last token": np.broadcast_to(key == n_key - 1, (n_query, n_key)),
        "local": np.abs(key - place[:, None]) <= NEAR,
    }
    return _scored(patterns, columns, place)


def _scored(patterns: ndarray, target: dict[str, ndarray], place: ndarray) -> HeadScores:
    """Scores by their targets (query, key), with distances from each query's place among the keys. One layer after
    another: all maps of 512 tokens in 270 heads are 284 MB, and each step would make a copy."""
    seen = np.zeros(patterns.shape[2:], dtype=bool)
    for layer in patterns:
        seen |= (layer > 0).any(0)
    visible, away = np.maximum(seen.sum(1), 2), np.abs(place[:, None] - np.arange(patterns.shape[-1]))
    columns: dict[str, list[ndarray]] = {kind: [] for kind in (*target, "broad", "entropy", "distance")}
    for layer in patterns:
        one = layer[None]
        for kind, where in target.items():
            columns[kind].append(mean_weight(one, where))
        shares = _on_tokens(one)
        bits = -(shares * np.log2(np.maximum(shares, 1e-12))).sum(-1)  # (1, head, query)
        columns["broad"].append(_mean(bits / np.log2(visible)))
        columns["entropy"].append(_mean(bits))
        columns["distance"].append(_mean((shares * away).sum(-1)))
    scores = {kind: np.concatenate(rows) for kind, rows in columns.items()}
    entropy, distance = scores.pop("entropy"), scores.pop("distance")
    lacking = np.array([[layer.size > 0 and not layer.any()] * layer.shape[0] for layer in patterns])
    return _without(HeadScores(scores, *_name(scores), entropy, distance), lacking)


def _without(scores: HeadScores, lacking: Bool[ndarray, "layer head"]) -> HeadScores:
    """The same, the heads of layers without attention marked."""
    if not lacking.any():
        return scores
    return replace(
        scores, kind=np.where(lacking, NO_ATTENTION, scores.kind), score=np.where(lacking, 0.0, scores.score)
    )


def _on_tokens(patterns: ndarray) -> ndarray:
    """Weights divided by their sum in each row, where learned sinks take the rest; otherwise as they are."""
    total = patterns.sum(-1, keepdims=True)
    if not ((total > LEAST) & (total < WHOLE)).any():
        return patterns
    return np.divide(patterns, total, out=np.zeros_like(patterns), where=total > LEAST)


def _mean(values: Float[ndarray, "layer head query"]) -> Float[ndarray, "layer head"]:
    return values.mean(-1) if values.shape[-1] else np.zeros(values.shape[:2])


def mean_weight(patterns: ndarray, target: ndarray) -> Float[ndarray, "layer head"]:
    """Mean over the queries that have a target of the weight on it; 0 where no query has one."""
    queries = target.any(1)
    if not queries.any():
        return np.zeros(patterns.shape[:2])
    return np.einsum("lhqk,qk->lhq", patterns, target.astype(patterns.dtype))[..., queries].mean(-1)


def _name(scores: dict[str, ndarray]) -> tuple[ndarray, ndarray]:
    """The kind of each head and its score: all kinds but the last two are definite."""
    stacked = np.stack(list(scores.values()))  # (kind, layer, head)
    definite = stacked[:-2].argmax(0)
    spread = len(stacked) - 2 + stacked[-2:].argmax(0)
    best = np.where(stacked[:-2].max(0) >= THRESHOLD, definite, spread)
    (score,) = np.take_along_axis(stacked, best[None], 0)
    return np.array(list(scores), dtype=object)[best], score


@dataclass(frozen=True, slots=True)
class RepeatedTokens:
    """A model on repeated random tokens.

    Args:
        previous, induction: (layer, head), mean weight on the token before, and on the token after the earlier
            occurrence (over the second copy).
        first_loss, second_loss: nats per token on the first copy, where nothing can be predicted, and on the second.
    """

    previous: Float[ndarray, "layer head"]
    induction: Float[ndarray, "layer head"]
    first_loss: float
    second_loss: float

    @property
    def best(self) -> dict[str, float]:
        """The best head of each kind, and the loss on the second copy as a share of the first."""
        return {
            "previous_token_head": float(self.previous.max()),
            "induction_head": float(self.induction.max()),
            "second_over_first": self.second_loss / self.first_loss,
        }


@torch.no_grad()
def repeated_tokens(
    model: Transformer, seed: int = 0, length: int = 64, rows: int = 8, distinct: bool = False
) -> RepeatedTokens:
    """Measure heads on `rows` rows of `length` random tokens followed by the same tokens (arXiv:2209.11895). Layers of
    a hybrid without attention have 0.

    Args:
        distinct: no token twice in the first copy. Where the vocabulary is small, tokens that occur again by chance
            are copied from, in vain.
    """
    config = model.config
    length = min(length, config.max_seq_len // 2)
    generator = torch.Generator().manual_seed(seed)
    if distinct:
        length = min(length, config.vocab_size)
        once = torch.stack([torch.randperm(config.vocab_size, generator=generator)[:length] for _ in range(rows)])
    else:
        once = torch.randint(config.vocab_size, (rows, length), generator=generator)
    ids = torch.cat((once, once), dim=1).to(next(model.parameters()).device)
    names = [f"blocks.{i}.attn.pattern" for i in config.attention_layers]
    output = model(ids, capture=names)
    log_p = output.logits[:, :-1].float().log_softmax(-1)
    loss = -log_p.gather(2, ids[:, 1:, None]).mean((0, 2))  # (2 length - 1,)
    patterns = log_p.new_zeros(config.n_layers, rows, config.attention.n_heads, 2 * length, 2 * length)
    for name in names:
        patterns[layer_of(name)] = output.activations.pop(name)
    previous = patterns.diagonal(-1, -2, -1).mean((1, 3))  # (layer, head)
    induction = patterns.diagonal(1 - length, -2, -1)[..., 1:].mean((1, 3))
    return RepeatedTokens(
        previous.cpu().numpy(), induction.cpu().numpy(), float(loss[: length - 1].mean()), float(loss[length:].mean())
    )


def induction_scores(model: Transformer) -> Float[ndarray, "layer head"] | None:
    """The induction score of each head of a decoder on repeated random tokens; None for other models."""
    config = model.config
    if config.architecture != "decoder" or not config.scores_tokens or config.max_seq_len < 4:
        return None
    return repeated_tokens(model, rows=8 if config.vocab_size <= SMALL_VOCABULARY else 1).induction


def repeated_tokens_measure(model: Transformer, seed: int) -> dict[str, float]:
    """The best of repeated_tokens."""
    return repeated_tokens(model, seed).best


TEXTS = (  # a story, a program, a talk, a fact: written for this
    "The old lighthouse stood on a cliff above the sea. Every evening the keeper climbed the stairs, lit the lamp, and "
    "wrote the weather in a book.",
    "def mean(values):\n    total = 0\n    for value in values:\n        total += value\n"
    "    return total / len(values)\n",
    '"Where is the key?" asked Anna. "I gave the key to Peter," said Tom. '
    "Anna went to Peter and asked him for the key.",
    "Water boils at 100 degrees Celsius at sea level, but at higher altitudes the boiling point is lower because the "
    "air pressure is lower.",
)
