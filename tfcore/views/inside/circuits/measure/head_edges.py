"""Edges between heads: what each head passes on to the queries, keys and values of each later head.

An edge is cut by taking the sender's output out of the one input (Q, K or V) of the one receiver, and putting a
baseline in its place; all else of the run follows from there. `estimate_edges` estimates the effect of cutting each
edge alone, in one backward pass; `cut_each` measures it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.attention import (
    AttentionContext,
    EachNorm,
    attention_scores,
    attention_weights,
    clipped,
    softcapped,
    weighted_values,
)
from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.inspection.edits import Edit
from tfcore.measures.effect_metric import Quantity, measured
from tfcore.measures.heads.matrices_of_heads import why_no_head_matrices
from tfcore.measures.interventions import ablated
from tfcore.measures.one_text import one_text
from tfcore.measures.shared_layers import BATCH, PlainRun
from tfcore.model import NO_LOGITS, Transformer
from tfcore.positions import apply_rope

Place = tuple[int, int]  # layer, head
Input = Literal["query", "key", "value"]
INPUTS: tuple[Input, ...] = ("query", "key", "value")
Baseline = Literal["zero", "mean"] | tuple[int, ...]  # or the ids of another text of as many tokens


@dataclass(frozen=True, slots=True)
class Edge:
    """The output of `sender` as an input of `receiver`, a head of a later layer."""

    sender: Place
    receiver: Place
    input: Input

    def __str__(self) -> str:
        (a, b), (c, d) = self.sender, self.receiver
        return f"{a}.{b} → {c}.{d} ({self.input[0].upper()})"


def why_no_edges(config: ModelConfig) -> str | None:
    """Why the heads of a model have no edges between them, or None."""
    if config.architecture != "decoder":
        return "edges between heads are measured on what comes next, which only a decoder predicts."
    if config.n_layers < 2:
        return "it has one layer, so no head can read what another head wrote."
    if config.norm.placement != "pre":
        return "it normalises what its heads write together, so that the output of one head is no term of a sum."
    if config.attention.qk_norm == "width":
        return "it normalises the queries of all heads together, so that no head's query is computed by itself."
    return why_no_head_matrices(config)


@dataclass(frozen=True, slots=True)
class HeadsRun:
    """The run of a text, with what its heads do.

    Args:
        plain: the stream before each block, and the last hidden states.
        z: of each layer, what its heads compute before W_O, (1, head, seq, d_head).
        base: the same as it is in the baseline.
        mask: of each layer.
    """

    plain: PlainRun
    z: tuple[Float[Tensor, "1 head seq d_head"], ...]
    base: tuple[Float[Tensor, "1 head #seq d_head"], ...]
    mask: tuple[AttentionContext, ...]


def read_heads(model: Transformer, ids: Sequence[int], baseline: Baseline) -> HeadsRun:
    """Run a text (and the other one, where that is the baseline), and keep what its heads do.

    Raises:
        ValueError: a model without edges between heads, or another text of another length.
    """
    if reason := why_no_edges(model.config):
        raise ValueError(reason)
    layers = range(model.config.decoder_layers)
    names = [f"blocks.{layer}.{what}" for what in ("resid_pre", "attn.z") for layer in layers]
    with torch.no_grad():
        output = model(one_text(model, ids), capture=names, logits_to_keep=NO_LOGITS)
        streams, z = (tuple(output.activations[name] for name in some) for some in np.split(np.array(names), 2))
        if isinstance(baseline, str):
            base = tuple(ablated(one, baseline) for one in z)
        elif len(baseline) != len(ids):
            raise ValueError(
                f"the texts have {len(ids)} and {len(baseline)} tokens; as a baseline, another text needs equally many"
            )
        else:
            other = model.activations(one_text(model, baseline), names[len(layers) :])
            base = tuple(other[name] for name in names[len(layers) :])
    masks = tuple(model.decoder.attention_context(len(ids), layer) for layer in layers)
    return HeadsRun(PlainRun(tuple(ids), streams, output.hidden), z, base, masks)


def projected(
    block: Block, x: Float[Tensor, "*row #n seq d_model"], kind: Input, heads: Sequence[int]
) -> Float[Tensor, "*row n seq d_head"]:
    """The queries, keys or values that heads compute: `heads[i]` from x[:, i], its own stream, or all from one.

    Heads that share keys and values (grouped-query attention) get them each, so that one may read what others do not.
    """
    attn = block.attn
    group = attn.n_heads // attn.kv_heads
    first = {"query": 0, "key": attn.n_heads, "value": attn.n_heads + attn.kv_heads}[kind]
    rows = [first + (head if kind == "query" else head // group) for head in heads]
    weight = attn.qkv.weight.unflatten(0, (-1, attn.d_head))[rows]  # (n, d_head, d_model)
    read = block.ln1(x) @ weight.mT
    if attn.qkv.bias is not None:
        read = read + attn.qkv.bias.unflatten(0, (-1, attn.d_head))[rows][:, None]
    read = clipped(read, attn.clip)
    norm = {"query": attn.q_norm, "key": attn.k_norm}.get(kind)
    if isinstance(norm, EachNorm):
        return norm(read, heads if kind == "query" else [head // group for head in heads])
    return read if norm is None else norm(read)


def attended(
    block: Block,
    q: Float[Tensor, "row head seq d_head"],
    k: Float[Tensor, "row head seq d_head"],
    v: Float[Tensor, "row head seq d_head"],
    mask: AttentionContext,
    heads: Sequence[int] | None = None,
) -> Float[Tensor, "row head seq d_head"]:
    """The outputs of heads before W_O from queries, keys and values of their own each; `heads` are all by default."""
    if mask.rotation is not None:
        cos, sin = (table.to(q.dtype) for table in mask.rotation)
        q, k = apply_rope(q, cos, sin), apply_rope(k, cos, sin)
    scores = softcapped(attention_scores(q, k, block.attn.scale), block.attn.softcap)
    if mask.bias is not None:
        bias = mask.bias.to(scores.dtype)
        scores = scores + (bias if heads is None else bias[list(heads)])
    sinks = block.attn.sinks
    own = sinks if sinks is None or heads is None else sinks[list(heads)]
    return weighted_values(attention_weights(scores, mask.explicit_mask, own), v)


# ---- estimates ----


def estimate_edges(
    model: Transformer, ids: Sequence[int], quantity: Quantity, baseline: Baseline, steps: int = 1
) -> Float[ndarray, "input layer head earlier_layer earlier_head"]:
    """The fall of a quantity if each edge alone were cut, to first order; 0 where there is no edge.

    effect = sum over tokens of (what the sender writes - baseline) . d quantity / d (the receiver's Q, K or V input):
    one forward and one backward pass for all (edge attribution patching, arXiv:2310.10348, section 3). The gradient
    passes through the receiver's norm.

    Args:
        steps: above 1, the mean gradient of so many runs between the baseline and the text, their embeddings mixed
            (integrated gradients, arXiv:2403.17806, equation 3; here at the middle of each step). Only with another
            text as the baseline.

    Raises:
        ValueError: a model without edges between heads, or steps without another text.
    """
    embeddings: Sequence[Tensor | None] = [None]
    if steps > 1 and isinstance(baseline, str):
        raise ValueError(f"{steps} steps of integrated gradients lead from another text; give one as the baseline")
    run, layers, heads = read_heads(model, ids, baseline), model.config.decoder_layers, model.config.attention.n_heads
    if steps > 1 and not isinstance(baseline, str):
        embeddings = _mixed(model, ids, baseline, steps)
    passes = [_slopes(model, run, quantity, embedding) for embedding in embeddings]
    effects = torch.zeros(len(INPUTS), layers, heads, layers, heads)
    wrote: list[Float[Tensor, "head numbers"]] = []
    for layer in range(layers):
        block = cast("Block", model.decoder.blocks[layer])
        if layer:
            each = [_at_inputs(block, streams[layer], z[layer], run.mask[layer]) for streams, z in passes]
            slopes = torch.stack(each).mean(0).flatten(2)
            estimate = torch.einsum("ihe,jge->ihjg", slopes, torch.stack(wrote))
            effects[:, layer, :, :layer] = estimate.float().cpu()
        with torch.no_grad():
            results = block.attn.results((run.z[layer] - run.base[layer]).detach()).squeeze(0)  # (seq, head, d_model)
        wrote.append(results.transpose(0, 1).flatten(1))
    return effects.numpy()


def _mixed(model: Transformer, ids: Sequence[int], baseline: Sequence[int], steps: int) -> list[Tensor]:
    """The embeddings of the runs between two texts."""
    with torch.no_grad():
        here, there = (model.activations(one_text(model, one), "embed")["embed"] for one in (ids, baseline))
    return [there + (step + 0.5) / steps * (here - there) for step in range(steps)]


@torch.enable_grad()
def _slopes(
    model: Transformer, run: HeadsRun, quantity: Quantity, embedding: Float[Tensor, "1 seq d_model"] | None
) -> tuple[list[Float[Tensor, "1 seq d_model"]], list[Float[Tensor, "1 head seq d_head"]]]:
    """The stream before each layer, and d quantity / d z of each layer; from another embedding where one is given."""
    ids = run.plain.ids
    names = [f"blocks.{layer}.attn.z" for layer in range(len(run.z))]
    streams = [f"blocks.{layer}.resid_pre" for layer in range(len(run.z))]
    leaf = Edit("embed", lambda x: (x if embedding is None else embedding.clone()).requires_grad_())  # a graph begins
    output = model(one_text(model, ids), capture=[*names, *streams], edits=[leaf], logits_to_keep=NO_LOGITS)
    slopes = torch.autograd.grad(
        measured(model, output.hidden, ids, quantity).sum(), [output.activations[name] for name in names]
    )
    return [output.activations[name].detach() for name in streams], list(slopes)


@torch.enable_grad()
def _at_inputs(
    block: Block,
    stream: Float[Tensor, "1 seq d_model"],
    slope: Float[Tensor, "1 head seq d_head"],
    mask: AttentionContext,
) -> Float[Tensor, "input head seq d_model"]:
    """d quantity / d the stream that each head of a block reads as Q, K or V, from d quantity / d z."""
    heads = range(block.attn.n_heads)
    x = stream[None].expand(len(INPUTS), 1, len(heads), -1, -1).clone().requires_grad_()
    q, k, v = (projected(block, one, kind, heads) for one, kind in zip(x, INPUTS, strict=True))
    # A sum, and not `grad_outputs`, for which torch loads SymPy, 36 MB
    (slopes,) = torch.autograd.grad((attended(block, q, k, v, mask) * slope).sum(), x)
    return slopes.squeeze(1)


def strongest_edges(effects: Float[ndarray, "input layer head earlier_layer earlier_head"], count: int) -> list[Edge]:
    """The edges with the largest absolute effects, the largest first."""
    size = np.abs(effects).ravel()
    count = min(count, int((size > 0).sum()))
    some = np.argpartition(-size, count - 1)[:count]
    places = np.stack(np.unravel_index(some[np.argsort(-size[some], kind="stable")], effects.shape), 1).tolist()
    return [Edge((earlier, other), (layer, head), INPUTS[kind]) for kind, layer, head, earlier, other in places]


def effect_of(effects: Float[ndarray, "input layer head earlier_layer earlier_head"], edge: Edge) -> float:
    """The effect of one edge."""
    return float(effects[(INPUTS.index(edge.input), *edge.receiver, *edge.sender)])


# ---- exact effects ----


class CutEdges(NamedTuple):
    """Edges into one layer, and by how much the quantity falls when each alone is cut."""

    edges: tuple[Edge, ...]
    effects: tuple[float, ...]


@torch.no_grad()
def cut_each(
    model: Transformer, ids: Sequence[int], quantity: Quantity, baseline: Baseline, edges: Sequence[Edge]
) -> Iterator[CutEdges]:
    """The fall of the quantity when each edge alone is cut, exactly; by the layer of the receiver, the last first.

    Equal to a full run for each edge: only the receiver's head and what stands above it is run again.
    """
    run = read_heads(model, ids, baseline)
    whole = measured(model, run.plain.hidden, ids, quantity)
    for layer in sorted({edge.receiver[0] for edge in edges}, reverse=True):
        own = [edge for edge in edges if edge.receiver[0] == layer]
        for start in range(0, len(own), BATCH):
            some = own[start : start + BATCH]
            z = torch.cat([_with_one_cut(model, run, edge) for edge in some])  # (row, seq, d_head)
            edits = [
                Edit.replace(f"blocks.{layer}.attn.z", z[row], heads=[edge.receiver[1]], rows=[row])
                for row, edge in enumerate(some)
            ]
            stream = run.plain.streams[layer].expand(len(some), -1, -1)
            falls = whole - measured(model, model.resume(stream, layer, edits=edits), ids, quantity)
            yield CutEdges(tuple(some), tuple(falls.tolist()))


def _with_one_cut(model: Transformer, run: HeadsRun, edge: Edge) -> Float[Tensor, "1 seq d_head"]:
    """The receiver's output before W_O when the edge is cut."""
    layer, head = edge.receiver
    block, stream = cast("Block", model.decoder.blocks[layer]), run.plain.streams[layer][:, None]
    cut = stream - written(model, run, edge.sender)[:, None]
    q, k, v = (projected(block, cut if kind == edge.input else stream, kind, [head]) for kind in INPUTS)
    return attended(block, q, k, v, run.mask[layer], [head]).squeeze(1)


def written(model: Transformer, run: HeadsRun, sender: Place) -> Float[Tensor, "1 seq d_model"]:
    """The output of a head to the stream, less what it writes in the baseline."""
    layer, head = sender
    attn = cast("Block", model.decoder.blocks[layer]).attn
    columns = attn.out.weight[:, head * attn.d_head : (head + 1) * attn.d_head]
    return (run.z[layer] - run.base[layer])[:, head] @ columns.T
