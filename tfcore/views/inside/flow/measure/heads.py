"""Three measures of what attention heads do for the next token, and where they disagree.

The share of the state that a head carries (information flow routes, arXiv:2403.00824), its direct share of the token's
logit (direct logit attribution, arXiv:2211.00593, section 3.1), and what is lost when it is switched off.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from tfcore.inspection.capture import known_names
from tfcore.inspection.edits import Edit
from tfcore.measures.attribution_patching import estimate_effects
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.heads.part_texts import Part
from tfcore.measures.knock_outs import LayerEffects, knock_out_each
from tfcore.measures.logit_attribution import contributions, stream_parts
from tfcore.model import Transformer
from tfcore.views.foundations.heads.measure.attention import kinds_of
from tfcore.views.inside.flow.measure.passages import (
    Passage,
    attention_layers,
    columns_of_heads,
    edit_of,
    heads_there,
    is_mixer,
)
from tfcore.views.inside.flow.measure.shares import Factors, Recorded, edits_of
from tfcore.views.sources import Source, opened

MIXER = "mixer"  # in the place of a kind
Matrix = Float[ndarray, "layer head"]


@dataclass(frozen=True, slots=True)
class HeadEffects:
    """By how much what is explained falls when each head alone is switched off; by attention layer.

    Args:
        values: in nats, in logits, or of a cosine.
        exact: whether those of a layer are measured; the others are estimates, or 0 where there are none.
    """

    values: Matrix
    exact: Bool[ndarray, " layer"]


def unmeasured(model: Transformer) -> HeadEffects:
    """Effects of 0, none of them exact: what there is before anything is measured."""
    layers = len(attention_layers(model.config))
    return HeadEffects(np.zeros((layers, columns_of_heads(model.config)), np.float32), np.zeros(layers, bool))


def head_kinds(model: Source) -> list[list[str]]:
    """The kind of each head, by attention layer and head; "mixer" for what is no head, empty where there is none."""
    config = opened(model)[0].config

    def of(part: Part | None, layers: int) -> list[list[str]]:
        kinds = kinds_of(model, part)
        if kinds is None:
            return [["broad"] * config.attention.n_heads] * layers
        return [[str(kind) for kind in layer] for layer in kinds.kind]

    if config.mixer is not None:
        both = zip(of(None, config.n_layers), heads_there(config), strict=True)
        return [[kind if one else "" for kind, one in zip([*row, MIXER], own, strict=True)] for row, own in both]
    if config.architecture != "encoder-decoder":
        return of(None, config.n_layers)
    own, cross = of("decoder", config.decoder_layers), of("cross", config.decoder_layers)
    return of("encoder", config.encoder_layers) + [row for pair in zip(own, cross, strict=True) for row in pair]


def measure_heads(
    model: Transformer, passage: Passage, quantity: Quantity | None, *, estimate: bool = True
) -> Iterator[HeadEffects]:
    """The effect of every head, more of them exact each time; the last ones are exact in all layers.

    Args:
        quantity: what falls; None: how near the target's state is to what it is, as a cosine.
        estimate: whether estimates of all come first (attribution patching; of decoders).
    """
    nothing, n_heads = unmeasured(model), model.config.attention.n_heads
    values, exact = nothing.values, nothing.exact
    effects: Iterator[LayerEffects]
    plain = model.config.architecture == "decoder" and model.config.mixer is None
    if quantity is not None and plain:  # which reads no token after the target
        ids = passage.ids if quantity.kind == "text" else passage.until
        if estimate:
            values = estimate_effects(model, ids, quantity, "zero")[:, :n_heads].astype(np.float32)
            yield HeadEffects(values.copy(), exact.copy())
        effects = knock_out_each(model, ids, quantity, "zero")
    else:
        effects = knock_out_heads(model, passage, quantity)
    for one in effects:
        values[one.layer], exact[one.layer] = one.effects[: values.shape[1]], True
        yield HeadEffects(values.copy(), exact.copy())


@torch.no_grad()
def knock_out_heads(model: Transformer, passage: Passage, quantity: Quantity | None) -> Iterator[LayerEffects]:
    """The exact effects of switching off each head, or mixer, alone, by one run each: of a model of any wiring.

    Args:
        quantity: see measure_heads; of one token or of two.

    Raises:
        ValueError: the quantity is that of the whole text.
    """
    if quantity is not None and quantity.kind == "text":
        raise ValueError("the loss of the whole text is measured of decoders; choose one token or two")

    def value(*edits: Edit) -> float:
        state = passage.run(model, (), edits).hidden.squeeze(0)[passage.row].float()
        if quantity is None:
            return float(F.cosine_similarity(state, now, dim=0))
        logits = cast("Tensor", model.to_logits(state.to(model.dtype))).float()
        if quantity.kind == "difference":
            return float(logits[quantity.token] - logits[quantity.against])
        if passage.blank is not None:
            logits[passage.blank] = -torch.inf
        return float(logits.log_softmax(-1)[quantity.token])

    now = passage.run(model).hidden.squeeze(0)[passage.row].float()
    whole = value()
    for k, there in reversed(list(enumerate(heads_there(model.config)))):
        off = [edit_of(model.config, k, head, 0.0) if one else None for head, one in enumerate(there)]
        effects = [0.0 if edit is None else whole - value(edit) for edit in off]
        yield LayerEffects(k, np.array(effects, np.float32))


def head_weights(
    model: Transformer, passage: Passage, run: Recorded, layer: int, head: int, least: float = 0.01
) -> list[tuple[int, int, float]]:
    """The attention of a head: query token, key token and attention weight, as places in the passage; none of a mixer.

    Args:
        run: one pass over the passage.
        least: weights below it are left out.
    """
    there = attention_layers(model.config)[layer]
    if is_mixer(model.config, head) or not heads_there(model.config)[layer][head]:
        return []
    queries, keys = passage.places(there)
    weights = run.here[there.activation("pattern")][head].float().cpu().numpy()
    found = zip(*np.nonzero(weights >= least), strict=True)
    return [(queries[i], keys[j], round(float(weights[i, j]), 4)) for i, j in found]


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """How a head comes to look from one token at another: score = scale * <q, k> + rest.

    Args:
        q, k: of the query and of the key token, rotated where the positions of the model are.
        scale: of their product.
        score: before the mask.
        rest: what stands in the score besides, in words: a bias of positions, or a soft cap.
        weight: after the softmax.
    """

    q: Float[ndarray, " d_head"]
    k: Float[ndarray, " d_head"]
    scale: float
    score: float
    rest: str
    weight: float


@torch.no_grad()
def head_cell(
    model: Transformer, passage: Passage, factors: Factors, layer: int, head: int, query: int, key: int
) -> Cell | None:
    """One cell of the attention of a head; None where the query token may not look at the key token, and of a mixer.

    Args:
        factors: heads that are multiplied.
        query, key: places in the passage.
    """
    config, there = model.config, attention_layers(model.config)[layer]
    queries, keys = passage.places(there)
    is_head = heads_there(config)[layer][head] and not is_mixer(config, head)
    if not is_head or query not in queries or key not in keys:
        return None
    rotated = "rot_" if there.activation("rot_q") in known_names(config) else ""
    names = [there.activation(name) for name in (f"{rotated}q", f"{rotated}k", "scores", "pattern")]
    seen = passage.run(model, names, edits_of(config, factors)).activations
    q, k, scores, weights = (seen[name][0].float().cpu().numpy() for name in names)
    i, j = queries.index(query), keys.index(key)
    if not weights[head, i, j]:
        return None
    block = there.of(model)
    scale = (block.cross_attn if there.is_cross else block.attn).scale
    rest = "position bias" if config.attention.softcap is None else "soft cap"
    of_key = k[head * len(k) // len(q)]
    return Cell(q[head, i], of_key[j], scale, float(scores[head, i, j]), rest, float(weights[head, i, j]))


def direct_by_head(model: Transformer, passage: Passage, token: int, against: int | None = None) -> Matrix | None:
    """The direct share of each head and mixer in the logit of the token after the target, above that of another token
    or the mean of all logits; None where the stream is no plain sum (post-norm), and in a model that does not predict
    the next token."""
    if model.config.norm.placement == "post" or model.config.architecture != "decoder" or model.config.head != "lm":
        return None
    parts = stream_parts(model, passage.until, passage.target)
    shares = contributions(model, parts, token, "mean" if against is None else against)
    if model.config.mixer is None:
        return shares.heads
    n_heads, direct = model.config.attention.n_heads, np.full(unmeasured(model).values.shape, np.nan)
    for layer, there in enumerate(heads_there(model.config)):
        if shares.attends[layer]:
            direct[layer, :n_heads] = shares.heads[layer, :n_heads]
        if there[-1]:
            direct[layer, -1] = shares.mixers[layer] + (0.0 if shares.attends[layer] else shares.heads[layer].sum())
    return direct
