"""What a state or a convolution of a hybrid brings to each token from each token before."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.mixing_layers import AttentionBesideState, ConvolutionMixer, StateMixer

Mixes: TypeAlias = StateMixer | ConvolutionMixer | AttentionBesideState
Brought = Float[Tensor, "row key d_model"]


def brought_by_mixer(
    mixer: Mixes, here: Mapping[str, Tensor], h: Float[Tensor, "seq d_model"], rows: Sequence[int]
) -> Brought:
    """The parts of what a mixer writes at some tokens, by the token that they come from: they add up to what it writes
    less its biases. Its gates, and the scale of its norm, are held as they are in this pass.

    Which token a part comes from is told at the values: a convolution before a state has mixed neighbours by then.

    Args:
        here: activations of its block, without the row of the batch.
        h: what the mixer reads.
        rows: the tokens.
    """
    if isinstance(mixer, ConvolutionMixer):
        return _of_convolution(mixer, h, rows)
    if isinstance(mixer, AttentionBesideState):
        return _of_state(mixer.state, here["attn.state.pattern"], here["attn.state.v"], h, rows)
    return _of_state(mixer, here["attn.pattern"], here["attn.v"], h, rows)


def _of_state(
    mixer: StateMixer,
    pattern: Float[Tensor, "head query key"],
    v: Float[Tensor, "head key d_value"],
    h: Float[Tensor, "seq d_model"],
    rows: Sequence[int],
) -> Brought:
    """Sum over heads of M[i, j] (gains[i] * v[j]) W_O, where a token's own skip stands on the diagonal of M."""
    if mixer.kind == "ssm":
        pattern = pattern + torch.diag_embed(mixer.skip[:, None].expand(-1, pattern.shape[-1]))
    gains = mixer.gains((pattern @ v)[None], mixer.gate(h[None]))[0]  # (head, seq, d_value)
    w_out = mixer.out.weight.unflatten(1, (mixer.n_heads, mixer.d_value))
    chosen = list(rows)
    outputs = torch.einsum("hie,hij,hje->ijhe", gains[:, chosen], pattern[:, chosen], v)
    return outputs.flatten(2) @ w_out.flatten(1).T


def _of_convolution(mixer: ConvolutionMixer, h: Float[Tensor, "seq d_model"], rows: Sequence[int]) -> Brought:
    """(c[i] * w[i - j] * b[j] * y[j]) W_out, of the tokens j that the convolution reaches."""
    gate, read, values = mixer.project(h).chunk(3, dim=-1)
    width, n = mixer.conv_weight.shape[1], len(h)
    apart = torch.tensor(list(rows), device=h.device)[:, None] - torch.arange(n, device=h.device)  # (row, key)
    reached = (apart >= 0) & (apart < width)
    weights = mixer.conv_weight.T[(width - 1 - apart).clamp(0, width - 1)] * reached[..., None]  # (row, key, d_model)
    return (read[list(rows), None] * weights * (gate * values)) @ mixer.out.weight.T
