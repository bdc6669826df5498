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
from tfcore.edits import Edit
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
def position_effects(
    model: Transformer, ids: Sequence[int], head: int, table: Float[Tensor, "seq d_model"] | None = None
) -> dict[Positions, Effect]:
    """Take a head of the first layer of a decoder trained with RoPE, and give it each scheme in turn.

    Queries and keys before the rotation carry no position. For sinusoidal (and learned) vectors they are computed
    again from embeddings to which the vectors were added, scaled to the same mean square as the embeddings; for RoPE
    they are rotated, which is what the model was trained with; for ALiBi the head's bias is added to the scores.

    Args:
        table: learned position vectors, of another model; left out where there are none.
    """
    n, config = len(ids), model.config
    places = torch.arange(n)
    tokens = one_text(model, ids)
    size = model.embed(tokens).square().mean().sqrt().cpu()
    vectors = {"sinusoidal": sinusoidal(places, config.d_model)}
    if table is not None:
        vectors["learned"] = table[:n]
    q, k = _queries_keys(model, tokens, head, None)
    plain = attention_scores(q, k)
    angles = rope_angles(places, config.head_size, config.rope_base)
    slope = alibi_slopes(config.n_heads)[head : head + 1]
    scores: dict[Positions, Tensor] = {"none": plain}
    for name, added in vectors.items():
        scaled = added * (size / added.square().mean().sqrt())
        scores[name] = attention_scores(*_queries_keys(model, tokens, head, scaled))  # type: ignore[index]
    scores["rope"] = attention_scores(rotate(q, angles), rotate(k, angles))
    scores["alibi"] = plain + alibi_bias(slope, places, places)[0]
    return {name: _effect(value, plain) for name, value in scores.items()}


def _queries_keys(model: Transformer, tokens: Tensor, head: int, added: Tensor | None) -> tuple[Tensor, Tensor]:
    """Queries and keys of a head, (seq, d_head), before any rotation, with vectors added to the embeddings."""
    names = ("blocks.0.attn.q", "blocks.0.attn.k")
    edits = [] if added is None else [Edit.add("embed", added.to(tokens.device))]
    found = model(tokens, capture=names, edits=edits).activations
    group = model.config.n_heads // model.config.kv_heads
    return found[names[0]][0, head].float().cpu(), found[names[1]][0, head // group].float().cpu()


def _effect(scores: Tensor, plain: Tensor) -> Effect:
    n = len(scores)
    weights = attention_weights(scores, causal(n)).numpy()
    back = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    previous = float(np.diagonal(weights, -1).mean()) if n > 1 else 0.0
    distance = float((weights * back)[1:].sum(-1).mean()) if n > 1 else 0.0
    return Effect((scores - plain).numpy(), weights, previous, distance)
