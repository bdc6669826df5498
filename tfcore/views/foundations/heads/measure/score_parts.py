"""Why a query attends to a key: one attention score as a sum over what wrote at the query and what wrote at the key.

A score is bilinear in the two vectors that query and key are made of. With norms held fixed these are sums over all
that was written before (see score_writers), so the score is a sum over pairs of writers, rotation and scale included:

    score = sum_ij <R_q W_Q a_i, R_k W_K b_j> / sqrt(d_head) + position bias
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from tfcore.attention import Attention, EachNorm, WholeNorm, attention_scores, attention_weights, softcapped
from tfcore.config import ModelConfig
from tfcore.input_checks import other_mixer
from tfcore.inspection.capture import scored
from tfcore.measures.heads.matrices_of_heads import why_no_head_matrices
from tfcore.measures.heads.part_texts import Part
from tfcore.model import Transformer
from tfcore.norms import Norm, norm_scale
from tfcore.positions import apply_rope, rotation_of
from tfcore.views.foundations.heads.measure.attention import attention, part_of
from tfcore.views.foundations.heads.measure.score_writers import (
    Side,
    StreamPass,
    Writer,
    attention_of,
    frozen,
    projections,
    stream_pass,
    written,
)
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened

FOLLOWED = 2  # heads of each side whose own attention is said


@dataclass(frozen=True, slots=True)
class HeadSource:
    """A head that wrote at the query or at the key, and where it took that from.

    Args:
        side: whether it wrote at the query or at the key.
        writer: the head.
        share: in the score, the sum over all pairs it is in.
        place: position of the token at which it wrote.
        key: position of the token that it attends to most there.
        weight: attention weight.
        token, key_token: the two tokens.
    """

    side: Side
    writer: Writer
    share: float
    place: int
    key: int
    weight: float
    token: str
    key_token: str


@dataclass(frozen=True, slots=True, eq=False)
class ScoreParts:
    """An attention score, or the difference of the scores of two keys, as a sum over pairs of writers.

    Args:
        layer, head: of the head.
        query, key: positions.
        against: the other key, whose score is taken away; None where none is.
        queries, keys: the tokens of the text.
        at_query, at_key: the writers of the rows and of the columns.
        values: what each pair adds.
        bias: what the scheme of positions adds to the score itself (ALiBi, relative, disentangled, whose products with
            queries and keys are counted here); 0 for all others.
        score: of the pass, less that of the other key; before the mask and the softmax.
        weights: attention weights of this query.
        sources: the strongest heads among the writers.
    """

    layer: int
    head: int
    query: int
    key: int
    against: int | None
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    at_query: tuple[Writer, ...]
    at_key: tuple[Writer, ...]
    values: Float[ndarray, "row column"]
    bias: float
    score: float
    weights: Float[ndarray, " key"]
    sources: tuple[HeadSource, ...]

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return float(self.values.sum()) + self.bias


def why_no_parts(config: ModelConfig) -> str | None:
    """Why the scores of a model are no sums over what was written before, or None."""
    cap, clip = config.attention.softcap, config.attention.clip
    if said := other_mixer(config):
        return f"{said}, and what that writes is not taken apart."
    if cap is not None:
        return f"this model bends its scores under a soft cap of {cap:g}, after which they are no sums."
    if clip is not None:
        return f"this model cuts its queries and keys off at {clip:g}, after which their scores are no sums."
    return why_no_head_matrices(config)


@torch.no_grad()
def score_parts(
    model: Transformer, run: StreamPass, layer: int, head: int, query: int, key: int, against: int | None = None
) -> ScoreParts:
    """Take one score of a head apart.

    With another key, the difference of both scores: the logarithm of the ratio of the two attention weights.

    Raises:
        ValueError: a token that the query may not see, or a model whose scores are no sums.
    """
    if reason := why_no_parts(model.config):
        raise ValueError(f"this score has no parts: {reason}")
    scores, visible = recorded_scores(model, run, run.part, layer, head, query)
    for one in (key, against):
        if one is not None and not (0 <= one < len(visible) and visible[one]):
            raise ValueError(f"token {query} cannot see token {one} in layer {layer}; choose one that it may see")
    keys = [key] if against is None else [key, against]
    at_query, a = _projected(model, run, layer, head, "query", [query])
    at_key, b = _projected(model, run, layer, head, "key", keys)
    (of_query,), (of_key, *taken_away) = a, b  # (writer, d_head)
    values = attention_scores(of_query, of_key - sum(taken_away), attention_of(model, run.part, layer).scale)
    bias, *other_bias = _position_bias(model, run, run.part, layer, head, query, torch.tensor(keys)).tolist()
    weights = _weights(model, run.part, layer, head, scores, visible)
    sums = {"query": (query, at_query, values.sum(1)), "key": (key, at_key, values.sum(0))}
    return ScoreParts(
        layer=layer,
        head=head,
        query=query,
        key=key,
        against=against,
        queries=tuple(run.text.queries),
        keys=tuple(run.text.keys),
        at_query=tuple(at_query),
        at_key=tuple(at_key),
        values=values.cpu().numpy(),
        bias=bias - sum(other_bias),
        score=float(scores[key] - (0 if against is None else scores[against])),
        weights=weights.float().cpu().numpy(),
        sources=tuple(
            source for side, terms in sums.items() for source in _sources(model, run, cast("Side", side), *terms)
        ),
    )


def strongest_key(
    model: Transformer, run: StreamPass, layer: int, head: int, query: int, but: Sequence[bool] = ()
) -> int:
    """The key that a query attends to most.

    Args:
        but: True for keys that are taken only where there is no other.
    """
    scores, visible = recorded_scores(model, run, run.part, layer, head, query)
    preferred = visible & ~torch.tensor(list(but)) if len(but) == len(visible) else visible
    return int(scores.masked_fill(~(preferred if preferred.any() else visible), -torch.inf).argmax())


def seen_keys(model: Transformer, run: StreamPass, layer: int, head: int, query: int) -> list[int]:
    """The keys that a query may see."""
    _, visible = recorded_scores(model, run, run.part, layer, head, query)
    places: list[int] = visible.nonzero().flatten().tolist()
    return places


def recorded_scores(
    model: Transformer, run: StreamPass, part: Part, layer: int, head: int, query: int
) -> tuple[Float[Tensor, " key"], Bool[Tensor, " key"]]:
    """The scores of one query as the pass computed them, before the mask, and which keys it may see."""
    attention, stack = attention_of(model, part, layer), "encoder" if part == "encoder" else "decoder"
    across = f"blocks.{layer}.cross_attn."
    names = (f"{across}q", f"{across}k") if part == "cross" else scored(model.config, layer)
    (all_q,), (all_k,) = (run.activations[f"{stack}.{name}"] for name in names)
    q, k = all_q[head, query], all_k[head // (attention.n_heads // attention.kv_heads)]
    keys = torch.arange(len(k))
    (scores,) = softcapped(attention_scores(q[None].double(), k.double(), attention.scale), attention.softcap).cpu()
    back, window = query - keys, model.config.window_of(layer) if part != "cross" else None
    visible = back >= 0 if part == "decoder" else torch.ones(len(k), dtype=torch.bool)
    visible = visible if window is None else visible & (back.abs() < window)
    return scores + _position_bias(model, run, part, layer, head, query, keys), visible


def _weights(
    model: Transformer, part: Part, layer: int, head: int, scores: Float[Tensor, " key"], visible: Bool[Tensor, " key"]
) -> Float[Tensor, " key"]:
    """The attention weights of one query."""
    sinks = attention_of(model, part, layer).sinks
    (weights,) = attention_weights(scores[None], visible[None], None if sinks is None else sinks[head].cpu())
    return weights


# ---- kept, for a text as it is read ----


def _run(reading: Reading) -> StreamPass:
    model, tokenizer = opened(reading.model)
    run = stream_pass(model, tokenizer, reading.text, part_of(reading), bos=reading.bos)
    if run is None:
        raise ValueError("the tokenizer of this model makes no token of this text; type something else")
    return run


def _parts(reading: Reading, layer: int, head: int, query: int, key: int, against: int | None) -> ScoreParts:
    return score_parts(opened(reading.model)[0], run_of(reading), layer, head, query, key, against)


run_of = kept(_run, entries=4)
parts_of_score = kept(_parts, entries=16)


def keys_seen(reading: Reading, layer: int, head: int, query: int) -> list[int]:
    """The keys that a query may see."""
    return seen_keys(opened(reading.model)[0], run_of(reading), layer, head, query)


def key_to_ask_about(reading: Reading, layer: int, head: int, query: int) -> int:
    """The key that a query attends to most, sinks apart."""
    sink = attention(reading).sink.tolist()
    return strongest_key(opened(reading.model)[0], run_of(reading), layer, head, query, sink)


# ---- what a score is made of ----


def _sources(
    model: Transformer, run: StreamPass, side: Side, place: int, names: Sequence[Writer], sums: Tensor
) -> list[HeadSource]:
    """The heads with the largest sums on one side, and what they attend to there."""
    shares = {one: float(total) for one, total in zip(names, sums, strict=True) if one.head >= 0}
    tokens: dict[str, Sequence[str]] = {"query": run.text.queries, "key": run.text.keys}
    sources = []
    for one in sorted(shares, key=lambda one: -abs(shares[one]))[:FOLLOWED]:
        part: Part = "cross" if one.kind == "cross head" else run.stack(side)
        scores, visible = recorded_scores(model, run, part, one.layer, one.head, place)
        weights = _weights(model, part, one.layer, one.head, scores, visible)
        key, own = int(weights.argmax()), tokens[side]
        read = own if part != "cross" else run.text.keys if run.part == "cross" else run.text.read
        sources.append(HeadSource(side, one, shares[one], place, key, float(weights[key]), own[place], read[key]))
    return sources


def _projected(
    model: Transformer, run: StreamPass, layer: int, head: int, side: Side, places: list[int]
) -> tuple[list[Writer], Float[Tensor, "place writer d_head"]]:
    """The part of each writer in a query or a key of a head, rotated; the bias of the projection is the last one."""
    attention, config = attention_of(model, run.part, layer), model.config
    names, vectors = written(model, run, layer, side, places)
    weight, bias = projections(attention, head, side)
    x = vectors @ weight.double().T
    if bias is not None:
        names, x = [*names, Writer("own bias")], torch.cat((x, bias.double().expand(len(places), 1, -1)), 1)
    norm = attention.q_norm if side == "query" else attention.k_norm
    if isinstance(norm, EachNorm):
        group = 1 if side == "query" else attention.n_heads // attention.kv_heads
        centred = x - x.mean(-1, keepdim=True)
        x = centred / norm_scale(x.sum(1, keepdim=True), "layernorm", norm.eps) * norm.weight[head // group].double()
    elif isinstance(norm, Norm):
        x = _normed(attention, norm, x, vectors.sum(1), head, side)
    rotation = rotation_of(config.positions_of(layer), torch.tensor(places), config.head_size)
    if rotation is not None and run.part != "cross":
        x = apply_rope(x, *(table.to(x)[:, None] for table in rotation))
    return names, x


def _normed(attention: Attention, norm: Norm, x: Tensor, stream: Tensor, head: int, side: Side) -> Tensor:
    """The parts of a query or a key of a head after its norm, whose divisor is held fixed; `stream` is their sum before
    the projection."""
    if not isinstance(norm, WholeNorm):
        return frozen(norm, x, norm_scale(x.sum(1, keepdim=True), norm.kind, norm.eps))
    group = 1 if side == "query" else attention.n_heads // attention.kv_heads
    each = [projections(attention, one, side) for one in range(0, attention.n_heads, group)]
    whole = [stream @ weight.double().T + (0 if bias is None else bias.double()) for weight, bias in each]
    scale = norm_scale(torch.cat(whole, 1), norm.kind, norm.eps)[:, None]  # of all heads: (place, 1, 1)
    return x / scale * norm.weight.unflatten(0, (-1, attention.d_head))[head // group].double()


def _position_bias(
    model: Transformer, run: StreamPass, part: Part, layer: int, head: int, query: int, keys: Tensor
) -> Float[Tensor, " key"]:
    """What the scheme of positions adds to the scores of one query."""
    if part == "cross":
        return torch.zeros(len(keys), dtype=torch.float64)
    stack = model.encoder if part == "encoder" else model.decoder
    q, k = (run.activations[f"{part}.{name}"] for name in scored(model.config, layer))
    bias = attention_of(model, part, layer).position_bias(q, k, stack.attention_context(k.shape[2], layer))
    return torch.zeros(len(keys), dtype=torch.float64) if bias is None else bias[0, head, query].double().cpu()[keys]
