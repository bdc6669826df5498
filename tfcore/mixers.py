"""Mixers that carry a state of fixed size from token to token, as pure functions: each in two forms that are equal.

    S_t = a_t (S_{t-1} - [erase] b_t k_t (k_t^T S_{t-1})) + b_t k_t v_t^T        o_t = S_t^T q_t

                         a_t (kept)          b_t (written)   erase   normalised   source
    linear attention     1                   1               no      yes          arXiv:2006.16236, eq. 16 to 20
    decay (RetNet)       one, constant       1               no      no           arXiv:2307.08621, eq. 5 and 6
    gated                one a key channel   1               no      no           arXiv:2312.06635, eq. 3
    SSD (Mamba-2)        one a token         its step        no      no           arXiv:2405.21060, eq. 1 and section 6
    delta rule           1                   one a token     yes     no           arXiv:2406.06484, eq. 2 and 6
    gated delta rule     one a token         one a token     yes     no           arXiv:2412.06464, eq. 10

Here a_t multiplies the rows of the state, one for each key channel. `recurrent` goes from token to token;
`implied_matrix` gives the (query, key) matrix M with o = M v, as softmax attention has its pattern; `chunked` takes the
matrix within a chunk and the state from one chunk to the next. `short_convolution` mixes a few tokens, each channel by
itself.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

Queries = Float[Tensor, "*batch seq d_key"]
Keys = Float[Tensor, "*batch seq d_key"]
Values = Float[Tensor, "*batch seq d_value"]
LogDecay = Float[Tensor, "*batch seq #d_key"]
Strength = Float[Tensor, "*batch seq"]
State = Float[Tensor, "*batch d_key d_written"]  # d_value columns; with a sum of weights, one more
Written = Float[Tensor, "*batch seq d_written"]

CHUNK = 64  # tokens of a chunk, as in the published code of Mamba-2 and of the gated delta rule
EPS = 1e-6  # what the sum of weights is never below


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a token does to the state.

    Args:
        log_decay: log a_t, at most 0: (batch, seq, 1) for the whole state, (batch, seq, d_key) for each key channel;
            None keeps all.
        strength: b_t, how much of the token is written; None means 1.
        erase: what the state held under the token's key is taken away first, by as much as is written (the delta rule).
        normalised: outputs are divided by the sum of the weights, which the state carries as one column more.
    """

    log_decay: LogDecay | None = None
    strength: Strength | None = None
    erase: bool = False
    normalised: bool = False

    def part(self, start: int, stop: int) -> "Rule":
        """The rule of some tokens in a row."""
        decay, strength = self.log_decay, self.strength
        return Rule(
            log_decay=None if decay is None else decay[..., start:stop, :],
            strength=None if strength is None else strength[..., start:stop],
            erase=self.erase,
            normalised=self.normalised,
        )


def positive(x: Float[Tensor, "*batch d_key"]) -> Float[Tensor, "*batch d_key"]:
    """elu(x) + 1: features whose products are never negative, so that they can stand for weights (arXiv:2006.16236,
    equation 7)."""
    return F.elu(x) + 1


def unit(x: Float[Tensor, "*batch d_key"], eps: float = 1e-6) -> Float[Tensor, "*batch d_key"]:
    """x / |x|: with keys of length 1, the delta rule with b = 1 erases all that stood under a key (arXiv:2406.06484,
    section 3.3)."""
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + eps)


def recurrent(q: Queries, k: Keys, v: Values, rule: Rule, state: State | None = None) -> tuple[Values, State]:
    """The outputs of a mixer, and the state after the last token, computed from token to token.

    Args:
        state: after the tokens before these; None where there are none.
    """
    outputs, state = [], _beginning(k, v, rule) if state is None else state
    for t in range(q.shape[-2]):
        state = step(state, k[..., t, :], v[..., t, :], rule.part(t, t + 1))
        outputs.append(_normalised(q[..., t : t + 1, :] @ state, rule))
    return torch.cat(outputs, dim=-2), state


def step(state: State, k: Float[Tensor, "*batch d_key"], v: Float[Tensor, "*batch d_value"], rule: Rule) -> State:
    """The state after one more token; `rule` is that of the token alone."""
    value = _with_ones(v[..., None, :], rule)  # (*batch, 1, d_value)
    key = k[..., None]  # (*batch, d_key, 1)
    if rule.log_decay is not None:
        state = state * rule.log_decay.mT.exp()  # a row of the state for each key channel
    if rule.erase:
        value = value - key.mT @ state  # what is new about it
    if rule.strength is not None:
        value = value * rule.strength[..., None]
    return state + key * value


def implied_matrix(q: Queries, k: Keys, rule: Rule) -> Float[Tensor, "*batch seq seq"]:
    """M with o = M v: how much of each token's value every output has, which softmax attention calls its pattern.

    Without erasing, M_ij = q_i^T (a_i a_{i-1} ... a_{j+1}) k_j b_j for j <= i: a masked product of queries and keys
    (arXiv:2405.21060, section 4). Erasing multiplies it with the inverse of a triangular matrix, which says how much of
    each value was new (arXiv:2406.06484, equation 10).
    """
    kept = _summed_decay(k, rule)
    matrix = decayed_products(q, k, kept)
    if rule.erase:
        matrix = torch.linalg.solve_triangular(_overlap(k, rule, kept), matrix, upper=False, left=False)
    if rule.strength is not None:
        matrix = matrix * rule.strength[..., None, :]
    return matrix / matrix.sum(-1, keepdim=True).clamp(min=EPS) if rule.normalised else matrix


def chunked(
    q: Queries, k: Keys, v: Values, rule: Rule, state: State | None = None, chunk: int = CHUNK
) -> tuple[Values, State]:
    """The same as `recurrent`: within a chunk by its matrix, from chunk to chunk by the state.

    With chunks of C tokens n / C steps wait for each other in place of n, and no matrix is larger than (C, C)
    (arXiv:2312.06635, section 4; arXiv:2405.21060, section 6; arXiv:2412.06464, section 3.3).
    """
    outputs, state = [], _beginning(k, v, rule) if state is None else state
    for start in range(0, q.shape[-2], chunk):
        here = slice(start, start + chunk)
        rows = q[..., here, :], k[..., here, :], v[..., here, :]
        output, state = _one_chunk(*rows, rule.part(start, start + chunk), state)
        outputs.append(output)
    return torch.cat(outputs, dim=-2), state


def _one_chunk(q: Queries, k: Keys, v: Values, rule: Rule, state: State) -> tuple[Values, State]:
    kept = _summed_decay(k, rule)
    since = kept.exp()  # what is left at each token of the state before the chunk, by key channel
    written = _with_ones(v, rule)
    if rule.erase:
        written = written - (k * since) @ state
    if rule.strength is not None:
        written = written * rule.strength[..., None]
    if rule.erase:
        written = torch.linalg.solve_triangular(_overlap(k, rule, kept), written, upper=False)
    output = (q * since) @ state + decayed_products(q, k, kept) @ written
    left = (kept[..., -1:, :] - kept).exp()  # what is left of each token at the chunk's end
    state = since[..., -1, :, None] * state + (k * left).mT @ written
    return _normalised(output, rule), state


def decayed_products(
    q: Queries, k: Keys, kept: Float[Tensor, "*batch seq #d_key"], strict: bool = False
) -> Float[Tensor, "*batch seq seq"]:
    """sum over channels of q_i k_j exp(kept_i - kept_j) for j <= i, and 0 above the diagonal.

    Args:
        kept: sums of the logs of the decay up to each token.
        strict: 0 on the diagonal as well.
    """
    n = q.shape[-2]
    before = torch.ones(n, n, dtype=torch.bool, device=q.device).tril(-1 if strict else 0)
    between = kept[..., :, None, :] - kept[..., None, :, :]  # (*batch, query, key, 1 or d_key)
    factor = between.masked_fill(~before[..., None], -torch.inf).exp()  # masked before exp, which would overflow
    if factor.shape[-1] == 1:
        return (q @ k.mT) * factor[..., 0]
    return torch.einsum("...id,...jd,...ijd->...ij", q, k, factor)


def _overlap(k: Keys, rule: Rule, kept: Float[Tensor, "*batch seq #d_key"]) -> Float[Tensor, "*batch seq seq"]:
    """I + b_i times how much of each earlier token's key stands under that of token i."""
    overlap = decayed_products(k, k, kept, strict=True)
    if rule.strength is not None:
        overlap = overlap * rule.strength[..., :, None]
    return overlap + torch.eye(k.shape[-2], dtype=k.dtype, device=k.device)


def _summed_decay(k: Keys, rule: Rule) -> Float[Tensor, "*batch seq #d_key"]:
    return k.new_zeros(*k.shape[:-1], 1) if rule.log_decay is None else rule.log_decay.cumsum(-2)


def _beginning(k: Keys, v: Values, rule: Rule) -> State:
    """A state that holds nothing."""
    return k.new_zeros(*k.shape[:-2], k.shape[-1], v.shape[-1] + rule.normalised)


def _with_ones(v: Values, rule: Rule) -> Written:
    """The values, and one column of ones where outputs are divided by the sum of the weights."""
    return torch.cat((v, torch.ones_like(v[..., :1])), dim=-1) if rule.normalised else v


def _normalised(output: Written, rule: Rule) -> Values:
    return output[..., :-1] / output[..., -1:].clamp(min=EPS) if rule.normalised else output


# ---- short convolution ----


def short_convolution(
    x: Float[Tensor, "batch seq channel"],
    weight: Float[Tensor, "channel width"],
    bias: Float[Tensor, " channel"] | None = None,
    state: Float[Tensor, "batch before channel"] | None = None,
) -> tuple[Float[Tensor, "batch seq channel"], Float[Tensor, "batch before channel"]]:
    """y_t = sum over j of w_j x_{t - width + 1 + j} + b, each channel by itself; and the last width - 1 tokens, which
    are all the state that there is.

    Used by Mamba-2 and the gated delta rule before their state, and by LFM2 in place of one (arXiv:2312.00752, figure
    3; its published code).
    """
    width = weight.shape[-1]
    if state is None:
        state = x.new_zeros(x.shape[0], width - 1, x.shape[-1])
    whole = torch.cat((state, x), dim=1)
    mixed = F.conv1d(whole.mT, weight[:, None], bias, groups=x.shape[-1]).mT
    return mixed, whole[:, whole.shape[1] - width + 1 :]


def convolution_matrix(weight: Float[Tensor, "channel width"], n: int) -> Float[Tensor, "channel query key"]:
    """The (query, key) matrix of a short convolution, a band of `width` diagonals that is the same for every text."""
    width = weight.shape[-1]
    back = torch.arange(n, device=weight.device)[:, None] - torch.arange(n, device=weight.device)
    band = weight[:, (width - 1 - back).clamp(0, width - 1)]
    return band.masked_fill((back < 0) | (back >= width), 0.0)
