"""Attention of every head of a model on one text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.analysis.foundations.heads import HeadScores, score_cross, score_heads
from tfcore.analysis.one_text import one_text
from tfcore.config import ModelConfig
from tfcore.model import Transformer

Part = Literal["encoder", "decoder", "cross"]
NAMES: dict[Part, str] = {
    "encoder": "encoder.blocks.{}.attn.pattern",
    "decoder": "decoder.blocks.{}.attn.pattern",
    "cross": "decoder.blocks.{}.cross_attn.pattern",
}
MOST_WEIGHTS = 16_000_000  # of all maps of a part together: 64 MB


@dataclass(frozen=True, slots=True)
class AttentionMaps:
    """All attention patterns of one part of a model on one text, and what each head does there.

    Args:
        ids: the token ids looked at (keys).
        query_ids: those that look; the same ones but in cross-attention.
        patterns: attention weights, each row sums to 1.
        heads: the scores of every head on this text.
    """

    ids: Int[ndarray, " key"]
    query_ids: Int[ndarray, " query"]
    patterns: Float[ndarray, "layer head query key"]
    heads: HeadScores


def parts(config: ModelConfig) -> tuple[Part, ...]:
    """Where a model has attention: one stack of it, or an encoder, a decoder and what goes from one to the other."""
    if config.architecture == "encoder-decoder":
        return ("encoder", "decoder", "cross")
    return (config.architecture,)


def longest(config: ModelConfig) -> int:
    """How many tokens of a text can be read with every map kept: the model's context, or what MOST_WEIGHTS allow."""
    layers = max(config.encoder_layers, config.decoder_layers)
    return max(1, min(config.max_seq_len, math.isqrt(MOST_WEIGHTS // (layers * config.n_heads))))


@torch.no_grad()
def attention_maps(
    model: Transformer,
    ids: Sequence[int],
    inducing: Float[ndarray, "layer head"] | None = None,
    *,
    part: Part | None = None,
    decoder_ids: Sequence[int] | None = None,
) -> AttentionMaps:
    """Run the model once over ids and keep every attention pattern of a part.

    Args:
        inducing: see score_heads.
        part: one of parts(model.config); None means the first.
        decoder_ids: what an encoder-decoder's decoder reads.

    Raises:
        ValueError: no ids, or more than the model's context; decoder_ids that are missing, or that nobody reads.
    """
    part = part or parts(model.config)[0]
    n_layers = model.config.encoder_layers if part == "encoder" else model.config.decoder_layers
    names = [NAMES[part].format(i) for i in range(n_layers)]
    written = None if decoder_ids is None else one_text(model, decoder_ids)
    output = model(one_text(model, ids), decoder_ids=written, capture=names)
    patterns = torch.stack([output.activations[name][0] for name in names]).float().cpu().numpy()
    read, own = np.asarray(ids), np.asarray(ids if decoder_ids is None else decoder_ids)
    if part == "cross":
        return AttentionMaps(read, own, patterns, score_cross(patterns))
    text = own if part == "decoder" else read
    return AttentionMaps(text, text, patterns, score_heads(patterns, text, inducing))


@dataclass(frozen=True, slots=True)
class Strongest:
    """The key token that a query token attends to most."""

    query: int
    key: int
    weight: float


def strongest(pattern: Float[ndarray, "query key"], query: int) -> Strongest:
    """The largest weight in one row of a map; the first of several equal ones."""
    key = int(pattern[query].argmax())
    return Strongest(query, key, float(pattern[query, key]))


def head_mean(patterns: Float[ndarray, "layer head query key"]) -> Float[ndarray, "layer query key"]:
    """Each layer's patterns, averaged over its heads."""
    return patterns.mean(1)


def rollout(patterns: Float[ndarray, "layer head query key"]) -> Float[ndarray, "layer query key"]:
    """How much of each input token reaches each position by the end of every layer, if attention moved tokens whole.

    Heads are averaged, the residual connection counts as half: A = (mean over heads + I) / 2, and the layers so far
    are multiplied (arXiv:2005.00928, section 3, attention rollout). Rows sum to 1.
    """
    mixed = (head_mean(patterns) + np.eye(patterns.shape[-1], dtype=patterns.dtype)) / 2
    reached = [mixed[0]]
    for layer in mixed[1:]:
        reached.append(layer @ reached[-1])
    return np.stack(reached)


def overlap(one: Float[ndarray, "query key"], other: Float[ndarray, "query key"]) -> float:
    """Share of the weight that two maps of the same tokens have in common: the mean over the queries of
    sum_k min(a, b), which is 1 for equal maps and 0 for heads that never attend to the same token."""
    return float(np.minimum(one, other).sum(-1).mean())


def pool(pattern: Float[ndarray, "*head query key"], size: int) -> Float[ndarray, "*head row column"]:
    """Shrink maps to at most size cells a side by keeping the largest weight of each square of cells, so that a single
    strong weight stays visible. Maps that are small enough come back as they are."""
    step = -(-max(pattern.shape[-2:]) // size)
    if step == 1:
        return pattern
    rows, columns = (-(-n // step) for n in pattern.shape[-2:])
    pad = [(0, 0)] * (pattern.ndim - 2) + [
        (0, cells * step - n) for cells, n in zip((rows, columns), pattern.shape[-2:], strict=True)
    ]
    cells = np.pad(pattern, pad).reshape(*pattern.shape[:-2], rows, step, columns, step)
    return cells.max(axis=(-3, -1))
