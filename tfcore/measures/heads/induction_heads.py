"""Induction heads: repeated texts through a model with any heads ablated, scores and tests of every head."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.input_checks import check_every_head
from tfcore.inspection.edits import Edit
from tfcore.measures.heads.kinds import mean_weight, targets
from tfcore.measures.lenses import unembedding
from tfcore.measures.text_loss import next_losses
from tfcore.model import Transformer

Place = tuple[int, int]  # layer, head
MEASURED = ("induction", "previous token", "duplicate")
STRONG = 1 / 3  # a head is counted among its kind from this mean weight on
ROWS = 8  # rows of random tokens that a measure is averaged over
ROWS_OF_LARGE = 2  # of a model of LARGE weights, of which each row takes long
LARGE = 50e6
TESTED = 32  # random tokens of one copy by which heads are counted among their kinds


@dataclass(frozen=True, slots=True)
class Copying:
    """Attention, head scores and losses of a model on rows of tokens that repeat.

    Args:
        ids: the first row.
        patterns: attention weights on the first row.
        scores: kind -> mean weight over the rows, see tfcore.measures.heads.kinds.HeadScores.
        losses: nats, of the token after each position, mean over the rows.
        new, repeated: which of these tokens come for the first time, and which can be predicted from the text before.
            Where a text is repeated as a whole, the step from one copy to the next is neither.
    """

    ids: Int[ndarray, " seq"]
    patterns: Float[ndarray, "layer head query key"]
    scores: dict[str, Float[ndarray, "layer head"]]
    losses: Float[ndarray, " token"]
    new: Bool[ndarray, " token"]
    repeated: Bool[ndarray, " token"]

    @property
    def first_loss(self) -> float:
        """Mean loss of new tokens: of the first copy."""
        return float(self.losses[self.new].mean()) if self.new.any() else 0.0

    @property
    def second_loss(self) -> float:
        """Mean loss of repeated tokens: of the second copy."""
        return float(self.losses[self.repeated].mean()) if self.repeated.any() else 0.0

    def strong(self, kind: str) -> list[Place]:
        """The heads of a kind, the strongest first."""
        scores = self.scores[kind]
        return [place for place in ranked(scores) if scores[place] >= STRONG]


def ranked(scores: Float[ndarray, "layer head"]) -> list[Place]:
    """All heads, the highest score first."""
    places = [(int(layer), int(head)) for layer, head in np.ndindex(scores.shape)]
    return sorted(places, key=lambda place: -scores[place])


def random_rows(vocab_size: int, length: int, rows: int, seed: int) -> Int[Tensor, "rows seq"]:
    """Rows of random tokens, each token at most once in a row: only a repetition of the row can be predicted."""
    generator = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randperm(vocab_size, generator=generator)[:length] for _ in range(rows)])


def rows_for(config: ModelConfig) -> int:
    """How many rows a measure is averaged over."""
    in_blocks = config.n_layers * config.d_model * (4 * config.d_model + 2 * config.ff_size)
    weights = in_blocks + config.d_model * config.vocab_size  # a large vocabulary takes as long: its logits
    return ROWS if weights < LARGE else ROWS_OF_LARGE


def twice(once: Int[Tensor, "rows seq"]) -> Int[Tensor, "rows twice"]:
    """Each row followed by itself."""
    return torch.cat((once, once), dim=1)


def foreseeable(ids: Int[ndarray, " seq"]) -> Bool[ndarray, " token"]:
    """Whether each pair (token i, token i + 1) has occurred before and can be copied."""
    pairs = list(zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True))
    first = {pair: i for i, pair in reversed(list(enumerate(pairs)))}
    return np.array([first[pair] < i for i, pair in enumerate(pairs)], dtype=bool)


def zeroed_heads(heads: Iterable[Place]) -> list[Edit]:
    """Edits that set the outputs of these heads to zero."""
    return [Edit.zero(f"blocks.{layer}.attn.z", heads=[head]) for layer, head in heads]


@torch.no_grad()
def copying(
    model: Transformer,
    ids: Int[Tensor, "rows seq"],
    length: int | None = None,
    off: Collection[Place] = (),
    edits: Collection[Edit] = (),
) -> Copying:
    """Attention, head scores and losses on rows of tokens, with the heads in `off` ablated.

    Args:
        ids: the rows.
        length: of one copy, where each row is repeated; None for one row, a text as it is.
        off: (layer, head) of heads whose output is set to zero.
        edits: other changes to activations.

    Raises:
        ValueError: fewer than two tokens, or a model that does not predict the next one.
    """
    config, seq = model.config, ids.shape[1]
    if config.architecture != "decoder" or seq < 2:
        raise ValueError(f"copying needs a decoder and two tokens; got a {config.architecture} and {seq}")
    check_every_head(config)
    ids = ids.to(model.device)
    names = [f"blocks.{i}.attn.pattern" for i in range(config.n_layers)]
    output = model(ids, capture=names, edits=[*zeroed_heads(off), *edits])
    losses = next_losses(output.logits, ids).mean(0)
    patterns = torch.stack([output.activations[name] for name in names], dim=1).float().cpu().numpy()
    texts = ids.cpu().numpy()
    rows = [scores_of(pattern, row) for pattern, row in zip(patterns, texts, strict=True)]
    place = np.arange(seq - 1)
    new = place < length - 1 if length else ~foreseeable(texts[0])
    repeated = place >= length if length else ~new
    scores = {kind: np.mean([row[kind] for row in rows], axis=0) for kind in MEASURED}
    return Copying(texts[0], patterns[0], scores, losses.cpu().numpy(), new, repeated)


def scores_of(
    patterns: Float[ndarray, "layer head query key"], ids: Int[ndarray, " key"]
) -> dict[str, Float[ndarray, "layer head"]]:
    """Mean weight on the tokens after earlier occurrences of the query token, on the token before it, and on those
    occurrences themselves, over the queries that have such keys."""
    where = targets(ids)
    return {kind: mean_weight(patterns, where[kind]) for kind in MEASURED}


def ablate_each_head(
    model: Transformer, ids: Int[Tensor, "rows seq"], length: int | None
) -> Float[ndarray, "layer head"]:
    """The loss of repeated tokens when each head alone is ablated."""
    shape = (model.config.n_layers, model.config.attention.n_heads)
    losses = [copying(model, ids, length, [(layer, head)]).second_loss for layer, head in np.ndindex(shape)]
    return np.array(losses).reshape(shape)


# The sizes of arXiv:2209.11895, appendix "Head activation evaluators".
TOKENS = 25  # of one copy
COPIES = 4  # in the test of prefix matching
EXAMPLES = 10  # rows that both tests are averaged over


@dataclass(frozen=True, slots=True)
class HeadTests:
    """Prefix matching and copying of every head.

    Args:
        prefix: prefix matching, 0 to 1: mean weight on the tokens that came after earlier occurrences of the present
            one, summed over the earlier copies.
        copying: -1 to 1: 1 if a head raises the logit of the token it attends to, and of no other token of the text.
        prefix_first: prefix matching by rank: share of the queries whose largest weight is on one of those tokens.
        copying_first: copying by rank: share of the tokens attended to whose own logit rises most of all the text's.
        copying_rank: mean rank of that logit; 1 where it rises most, about half the number of tokens by chance.
        examples: rows that all are averaged over.
    """

    prefix: Float[ndarray, "layer head"]
    copying: Float[ndarray, "layer head"]
    prefix_first: Float[ndarray, "layer head"]
    copying_first: Float[ndarray, "layer head"]
    copying_rank: Float[ndarray, "layer head"]
    examples: int = EXAMPLES


def evaluated_tokens(config: ModelConfig) -> int:
    """Random tokens of one copy in the tests of heads: TOKENS, or as many as the context and the vocabulary allow."""
    return min(TOKENS, config.vocab_size, config.max_seq_len // COPIES)


@torch.no_grad()
def evaluate_heads(model: Transformer, seed: int = 0, examples: int | None = None) -> HeadTests:
    """Prefix matching on 25 random tokens, repeated four times, and copying on 25 random tokens (arXiv:2209.11895); and
    both by rank, which large models need: a head that raises many tokens a little has a low copying score even where
    the token it attends to is the first of them.

    Where we differ: tokens are drawn from the whole vocabulary, none twice, and no start token is put before them, for
    not every model has one. Models with a short context get fewer tokens, large ones fewer examples.
    """
    config = model.config
    if examples is None:
        examples = EXAMPLES if rows_for(config) == ROWS else ROWS_OF_LARGE
    tokens = evaluated_tokens(config)
    names = [f"blocks.{i}.attn.pattern" for i in range(config.n_layers)]
    prefix, copied = [], []
    for row in random_rows(config.vocab_size, tokens, examples, seed).to(model.device):
        again = row.repeat(COPIES)
        patterns = torch.cat(list(model.activations(again[None], names).values())).float().cpu().numpy()
        keys = targets(again.cpu().numpy())["induction"]
        prefix.append((mean_weight(patterns, keys), first_share(patterns, keys)))
        copied.append(copying_of_heads(model, row))
    (prefix_, prefix_first), (score, first, rank) = (np.mean(values, axis=0) for values in (prefix, copied))
    return HeadTests(prefix_, score, prefix_first, first, rank, examples)


def first_share(
    patterns: Float[ndarray, "layer head query key"], target: Bool[ndarray, "query key"]
) -> Float[ndarray, "layer head"]:
    """The share of queries with a target whose largest weight is on one."""
    queries = np.flatnonzero(target.any(1))
    largest = patterns.argmax(-1)[..., queries]  # (layer, head, query)
    return target[queries, largest].mean(-1)


def copying_of_heads(model: Transformer, row: Int[Tensor, " key"]) -> Float[ndarray, "3 layer head"]:
    """Copying score of every head on a row of tokens; the share of the tokens whose own logit rises most of all the
    row's when they are attended to; the mean rank of that logit."""
    config = model.config
    table = unembedding(model)
    directions = table[row] - table.mean(0)
    names = [f"blocks.{i}.attn.v" for i in range(config.n_layers)]
    values = model.activations(row[None], names)
    maps = []
    for i, name in enumerate(names):
        logits = direct_logits(model, i, values[name], directions)
        ranks = copying_ranks(logits)
        maps.append((copying_score(logits.relu()), (ranks == 1).float().mean(0), ranks.float().mean(0)))
    return np.stack([torch.stack(one).float().cpu().numpy() for one in zip(*maps, strict=True)])


def direct_logits(
    model: Transformer,
    layer: int,
    values: Float[Tensor, "1 kv_head key d_head"],
    directions: Float[Tensor, "token d_model"],
) -> Float[Tensor, "key head token"]:
    """By how much a head that attends to a token raises the logit of each token of the text, along the direct path:
    value, W_O, the scale of the last norm, unembedding.

    Args:
        directions: unembedding of the text's tokens, less the mean over the vocabulary: a logit of 0 is that mean.
    """
    config = model.config
    z = values.repeat_interleave(config.attention.n_heads // config.attention.kv_heads, dim=1)  # (1, head, key, d_head)
    written = cast("Block", model.decoder.blocks[layer]).attn.results(z).squeeze(0)  # (key, head, d_model)
    if config.norm.final:
        written = written * model.decoder.ln_final.weight
    return F.linear(written, directions)


def copying_ranks(logits: Float[Tensor, "key head token"]) -> Int[Tensor, "key head"]:
    """The rank of the attended token's own logit among all tokens of the text, 1 where a head raises it most."""
    own = logits.diagonal(dim1=0, dim2=2).T  # (key, head)
    return (logits > own[..., None]).sum(-1) + 1


def copying_score(raised: Float[Tensor, "key head token"]) -> Float[Tensor, " head"]:
    """The share of the token that a head attends to in all that it adds to logits of the text's tokens, scaled from
    0..1 to -1..1; mean over the tokens. Logits below the mean over the vocabulary count as 0."""
    own = raised.diagonal(dim1=0, dim2=2)  # (head, key)
    return (2 * own / raised.sum(-1).T.clamp(min=1e-9) - 1).mean(1)


@dataclass(frozen=True, slots=True)
class HeadsByScore:
    """The heads of a model by their scores on repeated random tokens, the highest first.

    Args:
        induction: heads that attend to the token after the earlier occurrence of the query token.
        previous: those in layers below them that attend to the previous token.
        others: as many heads as there are induction heads, that are neither, from layers as near as possible.
        best, score: the head with the highest induction score, however low, and that score.
    """

    induction: list[Place]
    previous: list[Place]
    others: list[Place]
    best: Place
    score: float


def copying_of_random_rows(model: Transformer) -> Copying:
    """Copying of a model on rows of repeated random tokens: always the same ones."""
    length = tested_length(model.config)
    return copying(model, twice(random_rows(model.config.vocab_size, length, rows_for(model.config), 0)), length)


def head_kinds(model: Transformer) -> HeadsByScore:
    """Induction heads and previous-token heads of a model, on rows of repeated random tokens."""
    scored = copying_of_random_rows(model)
    induction, by_score = scored.strong("induction"), ranked(scored.scores["induction"])
    top = max((layer for layer, _ in induction), default=model.config.n_layers)
    previous = [place for place in scored.strong("previous token") if place[0] < top]
    best, *_ = by_score  # the first induction head, if there is one
    near, _ = best
    rest = [place for place in by_score if place not in induction and place not in previous]
    others = sorted(rest, key=lambda place: abs(place[0] - near))[: len(induction)]
    return HeadsByScore(induction, previous, others, best, float(scored.scores["induction"][best]))


def tested_length(config: ModelConfig) -> int:
    """Random tokens of one copy in tests of heads: TESTED, or as many as the context and the vocabulary allow."""
    return min(TESTED, config.max_seq_len // 2, config.vocab_size)


def listed(heads: Iterable[Place]) -> str:
    """Heads in words: "3.0, 3.2"."""
    return ", ".join(f"{layer}.{head}" for layer, head in sorted(heads)) or "none"
