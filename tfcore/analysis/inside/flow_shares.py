"""The share of each term in every sum that a pass of a model makes, through which its states are traced back
(arXiv:2403.00824, section 2)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.inside.logit_attribution import frozen_norm
from tfcore.analysis.inside.passages import AttentionLayer, Passage, attention_layers
from tfcore.config import ModelConfig
from tfcore.inspection.capture import known_names
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer

NEEDED = ("attn.v", "attn.pattern", "attn_out", "resid_pre", "resid_mid", "resid_mid_cross", "mlp_out", "_post.scale")
AT_ONCE = 16_000_000  # numbers of what heads write that are in memory together
Factors = Mapping[tuple[int, int], float]  # (attention layer, head) -> what its output is multiplied by


def edits_of(config: ModelConfig, factors: Factors) -> list[Edit]:
    """The heads multiplied, as edits of one pass."""
    layers = attention_layers(config)
    return [Edit.scale(layers[k].activation("z"), by, heads=[head]) for (k, head), by in sorted(factors.items())]


class LayerShares(NamedTuple):
    """Shares in the sums that one attention layer makes, of each of its tokens.

    Args:
        rows: the tokens whose sums these are; keys: those that they attend to, both as places in the passage.
        heads: (row, head, key), of what each head brings from each token in the sum after attention.
        kept: (row, part), of the stream as it was and, in a parallel block, of what its feed-forward layer writes.
        feedforward: of what the feed-forward layer writes in the sum after it; None where that is not another sum.
    """

    rows: range
    keys: range
    heads: Float[ndarray, "row head key"]
    kept: Float[ndarray, "row part"]
    feedforward: Float[ndarray, " row"] | None


@torch.no_grad()
def layer_shares(model: Transformer, passage: Passage, factors: Factors | None = None) -> tuple[LayerShares, ...]:
    """The shares in all sums of one pass, by attention layer; whatever is traced back is traced through these.

    In each layer the stream at a token is a sum: of itself before, and of what every head brings from every token,
    A[i, j] v[j] W_O; then again of itself and of what the feed-forward layer writes. A term's share in its sum is its
    proximity, max(0, |sum|_1 - |term - sum|_1), over that of all terms: they add up to 1 (arXiv:2403.00824, section
    2, after arXiv:2203.04212). Biases have no share, and norms after a sublayer are held at the scale they have in this
    pass.

    Args:
        factors: heads whose output is multiplied.
    """
    config, factors = model.config, factors or {}
    layers = attention_layers(config)
    starts = {layer.prefix for layer in layers}
    names = [name for name in known_names(config) if name.endswith(NEEDED) and any(map(name.startswith, starts))]
    here = {name: value[0] for name, value in passage.run(model, names, edits_of(config, factors)).activations.items()}
    found = []
    for k, layer in enumerate(layers):
        block, mine = layer.of(model), {name: here[name] for name in here if name.startswith(layer.prefix)}
        mine = {name.removeprefix(layer.prefix): value for name, value in mine.items()}
        by = torch.tensor([factors.get((k, head), 1.0) for head in range(config.n_heads)])
        rows, keys = passage.places(layer)
        forward = None
        if layer.is_last and block.has_mlp and not block.parallel:
            before = mine["resid_mid_cross" if layer.is_cross else "resid_mid"]
            parts = torch.stack([before, mine["mlp_out"]])  # (part, row, d_model)
            forward = shares(parts, parts.sum(0))[1]
        found.append(LayerShares(rows, keys, *attended(layer, model, mine, range(len(rows)), by), forward))
    return tuple(found)


def attended(
    layer: AttentionLayer,
    model: Transformer,
    here: Mapping[str, Tensor],
    rows: Sequence[int],
    by: Float[Tensor, " head"],
) -> tuple[Float[ndarray, "row head key"], Float[ndarray, "row part"]]:
    """Shares of what each head brings from each token in the sum after attention, and of what was there: the stream,
    and in a parallel block what its feed-forward layer writes.

    Args:
        here: activations of this layer's block, without the row of the batch.
        rows: tokens whose sums these are.
        by: what each head's output is multiplied by.
    """
    block = layer.of(model)
    attention, norm = (block.cross_attn, block.ln_cross_post) if layer.is_cross else (block.attn, block.ln1_post)
    named = ("cross_attn", "resid_mid", "ln_cross_post") if layer.is_cross else ("attn", "resid_pre", "ln1_post")
    pattern, v = here[f"{named[0]}.pattern"], here[f"{named[0]}.v"]  # (head, query, key), (kv_head, key, d_head)
    n_heads, n = len(pattern), pattern.shape[-1]
    w_out = attention.out.weight.unflatten(1, (n_heads, -1))  # (d_model, head, d_head)
    values = torch.einsum("hke,dhe->hkd", v.repeat_interleave(n_heads // len(v), dim=0), w_out)
    values = values * by.to(values)[:, None, None]
    terms = [here[named[1]], *([here["mlp_out"]] if block.parallel else [])]
    summed = torch.stack(terms).sum(0) + here[f"{named[0]}_out"]
    scale = here.get(f"{named[2]}.scale")
    found, kept = [], []
    for some in torch.tensor(rows, dtype=torch.int64).split(max(1, AT_ONCE // values.numel())):
        at = some.tolist()
        written = pattern[:, at, :, None].transpose(0, 1) * values  # (row, head, key, d_model)
        if scale is not None:
            written = frozen_norm(norm, written, scale[at][:, None, None]).to(values)
        parts = torch.cat([written.flatten(1, 2), torch.stack(terms, 1)[at]], dim=1)  # (row, part, d_model)
        share = shares(parts.transpose(0, 1), summed[at]).T  # (row, part)
        found.append(share[:, : n_heads * n].reshape(len(at), n_heads, n))
        kept.append(share[:, n_heads * n :])
    return np.concatenate(found), np.concatenate(kept)


def shares(
    parts: Float[Tensor, "part row d_model"], summed: Float[Tensor, "row d_model"]
) -> Float[ndarray, "part row"]:
    """The share of each part in a sum: max(0, |sum|_1 - |part - sum|_1), over that of all parts."""
    apart = torch.cdist(parts.transpose(0, 1).contiguous(), summed[:, None], p=1)[..., 0]  # (row, part)
    near = (summed.abs().sum(-1, keepdim=True) - apart).clamp_min(0).double()
    near[:, -1] += near.sum(-1) == 0  # nothing points where the sum does: all of it to what was there
    return (near / near.sum(-1, keepdim=True)).T.cpu().numpy()
