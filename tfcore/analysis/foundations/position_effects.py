"""What every position scheme does to the scores of one head of a trained model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.one_text import one_text
from tfcore.attention import attention_scores, attention_weights
from tfcore.config import Positions
from tfcore.inspection.edits import Edit
from tfcore.masks import causal
from tfcore.model import Transformer
from tfcore.positions import alibi_bias, alibi_slopes, rope_angles, rotate, sinusoidal


@dataclass(frozen=True, slots=True)
class Effect:
    """One scheme on one head.

    Args:
        added: what it changes the scores by, against none at all.
        weights: attention weights with it, under the causal mask.
        previous: mean weight on the token before.
        distance: mean distance from query to key, weighted, in tokens.
    """

    added: Float[ndarray, "query key"]
    weights: Float[ndarray, "query key"]
    previous: float
    distance: float


@torch.no_grad()
def position_effects(model: Transformer, ids: Sequence[int], head: int) -> dict[Positions, Effect]:
    """Take a head of the first layer of a decoder trained with RoPE or learned positions; give it each scheme in turn.

    Queries and keys before a rotation carry no position, nor do those from embeddings to which no vector was added.
    Sinusoidal vectors are added to the embeddings, scaled to their mean square; learned ones, which only a model
    trained with them has, as they are; for RoPE queries and keys are rotated; for ALiBi the head's bias is added to
    the scores.
    """
    n, config = len(ids), model.config
    places = torch.arange(n)
    tokens = one_text(model, ids)
    waves = sinusoidal(places, config.d_model)
    learned = config.positions == "learned"  # then the model itself adds vectors
    own = model.decoder.pos_embed.weight[:n].detach().float().cpu() if learned else torch.zeros_like(waves)
    q, k, without = _first_layer(model, tokens, head, -own)
    size = (without + own).square().mean().sqrt()
    vectors: dict[Positions, Tensor] = {"sinusoidal": waves * (size / waves.square().mean().sqrt())}
    if learned:
        vectors["learned"] = own
    scale = config.scale_of(0)
    plain = attention_scores(q, k, scale)
    angles = rope_angles(places, config.head_size, config.rope_base, config.rope_scaling)
    slope = alibi_slopes(config.n_heads)[head : head + 1]
    scores: dict[Positions, Tensor] = {"none": plain}
    for name, added in vectors.items():
        moved_q, moved_k, _ = _first_layer(model, tokens, head, added - own)
        scores[name] = attention_scores(moved_q, moved_k, scale)
    scores["rope"] = attention_scores(rotate(q, angles), rotate(k, angles), scale)
    scores["alibi"] = plain + alibi_bias(slope, places, places)[0]
    return {name: _effect(value, plain) for name, value in scores.items()}


def _first_layer(model: Transformer, tokens: Tensor, head: int, added: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """With vectors added to the embeddings: queries and keys of a head, (seq, d_head), before any rotation, and the
    embeddings, (seq, d_model)."""
    names = ("blocks.0.attn.q", "blocks.0.attn.k", "embed")
    edits = [Edit.add("embed", added.to(tokens.device))]
    found = model(tokens, capture=names, edits=edits).activations
    group = model.config.n_heads // model.config.kv_heads
    q, k, embedded = (found[name][0].float().cpu() for name in names)
    return q[head], k[head // group], embedded


def _effect(scores: Tensor, plain: Tensor) -> Effect:
    n = len(scores)
    weights = attention_weights(scores, causal(n)).numpy()
    back = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    previous = float(np.diagonal(weights, -1).mean()) if n > 1 else 0.0
    distance = float((weights * back)[1:].sum(-1).mean()) if n > 1 else 0.0
    return Effect((scores - plain).numpy(), weights, previous, distance)
