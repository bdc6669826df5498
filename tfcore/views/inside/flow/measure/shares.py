"""The share of each term in every sum that a pass of a model makes, through which its states are traced back
(arXiv:2403.00824, section 2)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.inspection.capture import ActivationRecorder, known_names, layer_of
from tfcore.inspection.edits import Edit
from tfcore.measures.lenses import check_model
from tfcore.measures.logit_attribution import frozen_norm, stream_direction
from tfcore.model import Transformer
from tfcore.views.inside.flow.measure.mixers import Mixes, brought_by_mixer
from tfcore.views.inside.flow.measure.passages import (
    AttentionLayer,
    Passage,
    attention_layers,
    columns_of_heads,
    edit_of,
    heads_there,
)

NEEDED = (
    *("attn.v", "attn.pattern", "attn_out", "mlp_out", "_post.scale"),
    *("resid_pre", "resid_mid", "resid_mid_cross", "resid_post"),
)
OF_MIXERS = ("attn.gate", "attn.state.v", "attn.state.pattern", "ln1.normalized")  # of hybrids besides
AT_ONCE = 16_000_000  # numbers of what heads write that are in memory together
Factors = Mapping[tuple[int, int], float]  # (attention layer, head) -> what its output is multiplied by


def edits_of(config: ModelConfig, factors: Factors) -> list[Edit]:
    """The heads multiplied, as edits of one pass."""
    return [edit_of(config, k, head, by) for (k, head), by in sorted(factors.items())]


class LayerShares(NamedTuple):
    """Shares in the sums that one attention layer makes, of each of its tokens.

    Args:
        rows: the tokens whose sums these are; keys: those that they attend to, both as places in the passage.
        heads: (row, head, key), of what each head brings from each token in the sum after attention; behind the heads
            of a hybrid stands the mixer that a layer has in the place of attention or beside it, see columns_of_heads.
        kept: (row, part), of the stream as it was and, in a parallel block, of what its feed-forward layer writes.
        feedforward: of what the feed-forward layer writes in the sum after it; None where that is not another sum.
    """

    rows: range
    keys: range
    heads: Float[ndarray, "row head key"]
    kept: Float[ndarray, "row part"]
    feedforward: Float[ndarray, " row"] | None


class Recorded(NamedTuple):
    """The tensors of one pass of a model over a passage.

    Args:
        here: activations, without the row of the batch: all that shares need, and the stream after each block.
        hidden: last states, of the stack that the target is in.
    """

    here: dict[str, Tensor]
    hidden: Float[Tensor, "seq d_model"]


@torch.no_grad()
def record(
    model: Transformer, passage: Passage, factors: Factors | None = None, plain: Recorded | None = None
) -> Recorded:
    """One pass, with some heads multiplied.

    Args:
        plain: a pass without factors: in a model of one stack the layers before the first changed head are not run.
    """
    config, edits = model.config, edits_of(model.config, factors or {})
    starts = {layer.prefix for layer in attention_layers(config)}
    needed = NEEDED if config.mixer is None else NEEDED + OF_MIXERS
    names = [name for name in known_names(config) if name.endswith(needed) and any(map(name.startswith, starts))]
    if plain is None or not factors or config.architecture == "encoder-decoder":
        output = passage.run(model, names, edits)
        here = {name: value.squeeze(0) for name, value in output.activations.items()}
        return Recorded(here, output.hidden.squeeze(0))
    first = first_changed(factors)
    names = [name for name in names if layer_of(name) >= first]
    recorder = ActivationRecorder.of(names, edits, config, None)
    hidden = model.stack(plain.here[f"blocks.{first}.resid_pre"][None], recorder, first=first)
    here = {name: value.squeeze(0) for name, value in recorder.record.items()}
    return Recorded({**plain.here, **here}, hidden.squeeze(0))


def first_changed(factors: Factors) -> int:
    """The first attention layer of which a head is multiplied: all before it are as in a pass without."""
    return min((layer for layer, _ in factors), default=0)


@torch.no_grad()
def layer_shares(
    model: Transformer,
    passage: Passage,
    factors: Factors | None = None,
    run: Recorded | None = None,
    plain: Sequence[LayerShares] = (),
) -> tuple[LayerShares, ...]:
    """The shares in all sums of one pass, by attention layer; whatever is traced back is traced through these.

    In each layer the stream at a token is a sum: of itself before, and of what every head brings from every token,
    A[i, j] v[j] W_O (of a mixer see brought_by_mixer); then again of itself and of what the feed-forward layer writes.
    A term's share in its sum is its proximity, max(0, |sum|_1 - |term - sum|_1), over that of all terms: they add up to
    1 (arXiv:2403.00824, section 2, after arXiv:2203.04212). Biases have no share, and norms after a sublayer are held
    at the scale they have in this pass.

    Args:
        factors: heads whose output is multiplied.
        run: from record, with these factors.
        plain: the shares without any factors, where they are there already.
    """
    factors = factors or {}
    here = (run or record(model, passage, factors)).here
    kept = tuple(plain[: first_changed(factors)])
    layers = list(enumerate(attention_layers(model.config)))[len(kept) :]
    rows = [range(len(passage.places(layer)[0])) for _, layer in layers]
    return kept + tuple(
        one_layer(model, passage, k, here, some, factors) for (k, _), some in zip(layers, rows, strict=True)
    )


@torch.no_grad()
def logit_shares(
    model: Transformer,
    passage: Passage,
    by_layer: Sequence[LayerShares],
    toward: Sequence[int],
    factors: Factors | None = None,
    run: Recorded | None = None,
) -> tuple[LayerShares, ...]:
    """Shares as of `layer_shares`, but in the stream of the token that predicts those in the logit of a next token,
    above that of another token or (None) above the mean of all logits.

    There a term z adds FrozenNorm(z) . u to the logit (see `contributions`), and its share is what it adds over the sum
    of all that add something: terms that lower the logit have none. Where the logit's parts come from, in the streams
    of the other tokens, shares stay those in the states there, as in ALTI-Logit (arXiv:2305.12535), which keeps the
    sign of a part and takes an upper layer's mixture of tokens for that of all its heads.

    Args:
        by_layer: from layer_shares.
        toward: the next token, and the other one if there is one.
        factors, run: as of layer_shares.

    Raises:
        ValueError: a model whose stream is no plain sum (post-norm), or which has no logits for a next token.
    """
    check_model(model)
    factors, direction = factors or {}, stream_direction(model, *toward)
    here = (run or record(model, passage, factors)).here
    changed, at = [], [passage.row]
    for k, one in enumerate(by_layer):
        row = one_layer(model, passage, k, here, at, factors, direction)
        heads, kept = one.heads.copy(), one.kept.copy()
        heads[at], kept[at] = row.heads, row.kept
        forward = one.feedforward
        if forward is not None and row.feedforward is not None:
            forward = forward.copy()
            forward[at] = row.feedforward
        changed.append(one._replace(heads=heads, kept=kept, feedforward=forward))
    return tuple(changed)


def one_layer(
    model: Transformer,
    passage: Passage,
    k: int,
    here: Mapping[str, Tensor],
    rows: Sequence[int],
    factors: Factors,
    toward: Float[Tensor, " d_model"] | None = None,
) -> LayerShares:
    """The shares in the sums of an attention layer at some of its tokens.

    Args:
        k: number of the attention layer.
        here: activations, see Recorded.
        rows: places of the tokens in the stack of the layer.
        toward: the direction in which terms are measured; None: by proximity to their sum.
    """
    config, layer = model.config, attention_layers(model.config)[k]
    block, mine = layer.of(model), {name: here[name] for name in here if name.startswith(layer.prefix)}
    mine = {name.removeprefix(layer.prefix): value for name, value in mine.items()}
    by = torch.tensor([factors.get((k, head), 1.0) for head in range(columns_of_heads(config))])
    forward = None
    if layer.is_last and block.has_mlp and not block.parallel:
        before = mine["resid_mid_cross" if layer.is_cross else "resid_mid"]
        parts = torch.stack([mine["mlp_out"], before])[:, list(rows)]  # (part, row, d_model)
        forward = shares(parts, parts.sum(0), toward)[0]
    return LayerShares(*passage.places(layer), *attended(layer, model, mine, rows, by, toward), forward)


def attended(
    layer: AttentionLayer,
    model: Transformer,
    here: Mapping[str, Tensor],
    rows: Sequence[int],
    by: Float[Tensor, " head"],
    toward: Float[Tensor, " d_model"] | None = None,
) -> tuple[Float[ndarray, "row head key"], Float[ndarray, "row part"]]:
    """Shares of what each head brings from each token in the sum after attention, and of what was there: the stream,
    and in a parallel block what its feed-forward layer writes.

    Args:
        here: activations of this layer's block, without the row of the batch.
        rows: tokens whose sums these are.
        by: what each head's output is multiplied by.
        toward: see one_layer.
    """
    config, block = model.config, layer.of(model)
    named = ("cross_attn", "resid_mid", "ln_cross_post") if layer.is_cross else ("attn", "resid_pre", "ln1_post")
    before, out, norm = here[named[1]], here.get(f"{named[0]}_out"), getattr(block, named[2], None)
    terms = [before, *([here["mlp_out"]] if block.parallel else [])]
    summed = torch.stack(terms).sum(0) if out is None else torch.stack(terms).sum(0) + out
    n = here[f"{named[0]}.pattern"].shape[-1] if f"{named[0]}.pattern" in here else len(before)
    scale = here.get(f"{named[2]}.scale")
    there = torch.tensor(heads_there(config)[attention_layers(config).index(layer)]).nonzero().flatten().tolist()
    brought, kept = np.zeros((len(rows), len(by), n)), []
    done, each = 0, max(1, AT_ONCE // max(1, len(there) * n * before.shape[1]))
    for some in torch.tensor(rows, dtype=torch.int64).split(each):
        at = some.tolist()
        parts = torch.stack(terms, 1)[at]  # (row, part, d_model)
        if there:
            written = brought_over(layer, model, here, at) * by[there].to(before)[:, None, None]
            if scale is not None:
                written = frozen_norm(norm, written, scale[at][:, None, None]).to(before)
            parts = torch.cat([written.flatten(1, 2), parts], dim=1)
        share = shares(parts.transpose(0, 1), summed[at], toward).T  # (row, part)
        brought[done : done + len(at), there] = share[:, : len(there) * n].reshape(len(at), len(there), n)
        kept.append(share[:, len(there) * n :])
        done += len(at)
    return brought, np.concatenate(kept)


def brought_over(
    layer: AttentionLayer, model: Transformer, here: Mapping[str, Tensor], rows: Sequence[int]
) -> Float[Tensor, "row head key d_model"]:
    """What each head that a layer has brings to some tokens from each token, and behind them what its mixer brings."""
    block, parts = layer.of(model), []
    name, attention = ("cross_attn", block.cross_attn) if layer.is_cross else ("attn", block.attn)
    if layer.is_cross or model.config.mixer is None or model.config.attends(layer.block):
        pattern, v = here[f"{name}.pattern"], here[f"{name}.v"]  # (head, query, key), (kv_head, key, d_head)
        v = v.repeat_interleave(len(pattern) // len(v), dim=0)
        w_out = attention.out.weight.unflatten(1, (len(pattern), -1))  # (d_model, head, d_head)
        if (gate := here.get(f"{name}.gate")) is None:
            values = torch.einsum("hke,dhe->hkd", v, w_out)
            parts.append(pattern[:, rows, :, None].transpose(0, 1) * values)  # (row, head, key, d_model)
        else:
            parts.append(torch.einsum("hqk,hqe,hke,dhe->qhkd", pattern[:, rows], gate[:, rows], v, w_out))
    if not layer.is_cross and model.config.carried_by(layer.block) is not None:
        h = here["ln1.normalized"] if block.norm_first else here["resid_pre"]
        parts.append(brought_by_mixer(cast("Mixes", block.attn), here, h, rows)[:, None])
    return torch.cat(parts, 1)


def shares(
    parts: Float[Tensor, "part row d_model"],
    summed: Float[Tensor, "row d_model"],
    toward: Float[Tensor, " d_model"] | None = None,
) -> Float[ndarray, "part row"]:
    """The share of each part in a sum: of max(0, |sum|_1 - |part - sum|_1), or of max(0, part . toward), over all
    parts. Where that is 0 of all parts, the last has all."""
    if toward is None:
        apart = torch.cdist(parts.transpose(0, 1).contiguous(), summed[:, None], p=1).squeeze(2)  # (row, part)
        near = (summed.abs().sum(1, keepdim=True) - apart).clamp_min(0).double()
    else:
        near = (parts.double() @ toward).T.clamp_min(0)
    near[:, -1] += near.sum(1) == 0
    return (near / near.sum(1, keepdim=True)).T.cpu().numpy()
