"""How a Transformer knows the order of its tokens: sinusoidal, learned, RoPE, ALiBi, relative, disentangled - or not at
all.

Attention by itself does not see order (it is permutation equivariant); each scheme here adds it in another place:
sinusoidal and learned vectors are added to the embeddings, RoPE rotates queries and keys, ALiBi and the relative
biases of T5 are added to the scores, and so are DeBERTa's products of queries and keys with vectors of relative
positions.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.part_configs import PositionsConfig, RopeScaling


def sinusoidal(
    positions: Int[Tensor, " seq"] | Float[Tensor, " seq"], d_model: int, base: float = 10_000.0, halves: bool = False
) -> Float[Tensor, "seq d_model"]:
    """Position vectors PE(p, 2i) = sin(p / base^(2i/d)), PE(p, 2i+1) = cos(p / base^(2i/d)).

    Wavelengths grow geometrically from 2 pi to base * 2 pi. Computed in float64, returned in float32, because
    float32 angles at position 100,000 are already off by 0.004.

    Args:
        positions: positions p, any real numbers.
        d_model: even width.
        base: 10,000 in the paper.
        halves: all sines first, then all cosines: the same features in another order.

    Source: arXiv:1706.03762, section 3.5.
    """
    frequencies = inverse_frequencies(d_model, base).to(positions.device)
    angles = positions.double()[:, None] * frequencies  # (seq, d_model/2)
    waves = torch.stack((angles.sin(), angles.cos()), dim=1 if halves else -1)
    return waves.flatten(1).float()  # (seq, d_model)


def inverse_frequencies(d: int, base: float = 10_000.0) -> Float[Tensor, " pair"]:
    """Angular frequencies base^(-2i/d), i = 0 .. d/2-1, in radians per position (float64)."""
    return base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)


def shift_matrix(k: int | float, d_model: int, base: float = 10_000.0) -> Float[Tensor, "d_model d_model"]:
    """The matrix M_k with PE(p + k) = M_k PE(p) for every p: 2x2 rotations [[cos wk, sin wk], [-sin wk, cos wk]]
    on the diagonal, one per frequency w. That it does not depend on p is why relative offsets are easy to learn.

    Source: arXiv:1706.03762, section 3.5 ("PE(pos+k) can be represented as a linear function of PE(pos)").
    """
    angles = k * inverse_frequencies(d_model, base)
    blocks = torch.stack((angles.cos(), angles.sin(), -angles.sin(), angles.cos()), dim=-1).view(-1, 2, 2)
    return torch.block_diag(*blocks).float()


def rope_angles(
    positions: Int[Tensor, " seq"] | Float[Tensor, " seq"],
    d_head: int,
    base: float = 10_000.0,
    scaling: RopeScaling | None = None,
) -> Float[Tensor, "seq {d_head//2}"]:
    """Rotation angle m * theta_i of each pair at each position, in radians (arXiv:2104.09864, eq. 15).

    Whole turns are taken away in float64, because float32 angles of far positions are off: by 0.004 at 100,000.
    """
    by_length = scaling is not None and scaling.kind == "longrope" and len(positions)
    frequencies = rope_frequencies(d_head, base, scaling, int(positions.max()) + 1 if by_length else 0)
    angles = positions.double()[:, None] * frequencies.to(positions.device)
    return angles.remainder(2 * math.pi).float()


def rope_frequencies(
    d_head: int, base: float = 10_000.0, scaling: RopeScaling | None = None, length: int = 0
) -> Float[Tensor, " pair"]:
    """Frequencies of the rotations; with a scaling, for texts longer than those a model was trained on.

    linear: all divided by the factor (position interpolation, arXiv:2306.15595, eq. 4). llama3: with s = original_len
    / wavelength, the frequency is kept for s > high_freq, divided for s < low_freq, and in between a mixture whose
    share of the kept one is (s - low_freq) / (high_freq - low_freq) (Llama 3.1's published code, also
    arXiv:2407.21783, section 3.2). yarn: the same bounds, but the share falls evenly from pair to pair between them
    (arXiv:2309.00071, section 3.2; there evenly in s, in its published code and the checkpoints as here). longrope:
    each divided by a number of its own, found by a search; one list for texts up to original_len, and one for texts
    that are longer, at all of their positions (arXiv:2402.13753, section 3).

    Args:
        length: of the text, in tokens.
    """
    frequencies = inverse_frequencies(d_head, base)
    if scaling is None:
        return frequencies
    if scaling.kind == "longrope":
        divisors = scaling.long if length > scaling.original_len else scaling.short
        return frequencies / torch.tensor(divisors, dtype=torch.float64)
    divided = frequencies / scaling.factor
    if scaling.kind == "linear":
        return divided
    if scaling.kind == "yarn":
        kept = 1 - _yarn_ramp(d_head, base, scaling)
    else:
        turns = scaling.original_len * frequencies / (2 * math.pi)  # in a text of the original length
        kept = ((turns - scaling.low_freq) / (scaling.high_freq - scaling.low_freq)).clamp(0, 1)
    return kept * frequencies + (1 - kept) * divided


def _yarn_ramp(d_head: int, base: float, scaling: RopeScaling) -> Float[Tensor, " pair"]:
    """0 up to the pair that turns high_freq times in a text of the original length, 1 from that of low_freq on."""
    first, last = (
        d_head * math.log(scaling.original_len / (turns * 2 * math.pi)) / (2 * math.log(base))
        for turns in (scaling.high_freq, scaling.low_freq)
    )
    if scaling.whole_pairs:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, d_head - 1)
    pairs = torch.arange(d_head // 2, dtype=torch.float64)
    return ((pairs - first) / (last - first or 0.001)).clamp(0, 1)


def rope_cos_sin(angles: Float[Tensor, "seq pair"]) -> tuple[Float[Tensor, "seq d_head"], Float[Tensor, "seq d_head"]]:
    """cos and sin of the angles as `apply_rope` takes them: computed once for all layers and heads."""
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)


def rotation_of(
    positions: PositionsConfig, places: Int[Tensor, " seq"], d_head: int, device: torch.device | None = None
) -> tuple[Float[Tensor, "seq rotated"], Float[Tensor, "seq rotated"]] | None:
    """cos and sin for the queries and keys at some places, times the factor of a scaling that sharpens attention; None
    where positions are no rotations.

    Args:
        places: on the CPU, where angles are computed in double precision, which not every device has.
        device: of the tables; None means the CPU.
    """
    if positions.kind != "rope":
        return None
    angles = rope_angles(places, positions.rotated or d_head, positions.base, positions.scaling)
    cos, sin = rope_cos_sin(angles.to(device))
    stretch = 1.0 if positions.scaling is None else positions.scaling.stretch
    return (cos, sin) if stretch == 1 else (cos * stretch, sin * stretch)


def apply_rope(
    x: Float[Tensor, "*batch seq d_head"],
    cos: Float[Tensor, "*#batch #seq rotated"],
    sin: Float[Tensor, "*#batch #seq rotated"],
) -> Float[Tensor, "*batch seq d_head"]:
    """RoPE: turn pair i of each query or key at position m by the angle m * theta_i.

    A rotation keeps lengths, and the score q_m . k_n of two rotated vectors depends on m - n alone.

    Pairs are (x_i, x_{i + d/2}), as in GPT-NeoX, LLaMA and the checkpoints trained with them; the paper pairs
    neighbours (x_2i, x_2i+1). The two differ by a fixed reordering of dimensions.

    Args:
        cos, sin: of `rope_cos_sin`, in the type of x; features beyond theirs are left as they are (partial RoPE,
            arXiv:2204.06745, section 2.1).

    Source: arXiv:2104.09864, eq. 34.
    """
    if (rotated := cos.shape[-1]) < x.shape[-1]:
        return torch.cat((apply_rope(x[..., :rotated], cos, sin), x[..., rotated:]), dim=-1)
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), sin)


def alibi_slopes(n_heads: int, steepness: float = 8.0) -> Float[Tensor, " head"]:
    """Slopes m_h: 2^(-8/n), 2^(-16/n), ... for n a power of two.

    Other head counts take the slopes of the next lower power of two, then every second one of the next higher,
    as the authors' code does.

    Args:
        n_heads: n.
        steepness: in the place of 8.

    Source: arXiv:2108.12409, section 3.
    """
    lower = 2 ** math.floor(math.log2(n_heads))
    slopes = [2 ** (-steepness * (h + 1) / lower) for h in range(lower)]
    slopes += [2 ** (-steepness * (h + 1) / (2 * lower)) for h in range(0, 2 * (n_heads - lower), 2)]
    return torch.tensor(slopes)


def alibi_bias(
    slopes: Float[Tensor, " head"], query: Int[Tensor, " query"], key: Int[Tensor, " key"]
) -> Float[Tensor, "head query key"]:
    """Bias -m_h * |i - j| added to the score of the query at position i and the key at position j.

    Args:
        slopes: one slope per head.
        query, key: positions of the queries and of the keys.

    Under a causal mask i >= j, as in the paper; where later keys are visible, they are as far away as earlier ones.

    Source: arXiv:2108.12409, section 3.
    """
    distance = (query[:, None] - key[None, :]).abs().to(slopes.dtype)  # (query, key)
    return -slopes[:, None, None].to(distance.device) * distance


def alibi_bias_by_key(
    slopes: Float[Tensor, " head"], query: Int[Tensor, " query"], key: Int[Tensor, " key"], scale: float
) -> Float[Tensor, "head query key"]:
    """Bias m_h * j * scale of the key at position j, the same for all queries, with m_h and m_h * j in bfloat16.

    It differs from ALiBi's by m_h * i, which a softmax over the keys does not see, and by what is rounded: far keys,
    whose places have more digits than bfloat16 holds, share a bias.

    Args:
        scale: factor of the scores.

    Source: Falcon-RW's published code.
    """
    bias = slopes.bfloat16()[:, None, None] * key[None, None, :]  # (head, 1, key)
    return (bias.float() * scale).expand(-1, len(query), -1)


def relative_bucket(
    query: Int[Tensor, " query"], key: Int[Tensor, " key"], n_buckets: int, distance: int, both_ways: bool
) -> Int[Tensor, "query key"]:
    """Which of n_buckets learned biases the score of a query and a key gets, by how far apart they are.

    Each distance below half of the buckets has its own, longer ones share, on a logarithmic scale, and from `distance`
    on all have the last. Both ways (encoders) half of the buckets are for later keys; otherwise later keys count as
    at distance 0. Computed in float32 like the code the checkpoints were trained with: a boundary that
    falls on a whole number is rounded the same way.

    Source: arXiv:1910.10683, section 2.1 ("relative position embeddings") and its published code.
    """
    offset = key[None, :] - query[:, None]  # (query, key)
    first = torch.zeros_like(offset)
    if both_ways:
        n_buckets //= 2
        first = (offset > 0).long() * n_buckets
        back = offset.abs()
    else:
        back = (-offset).clamp(min=0)
    exact = n_buckets // 2
    far = torch.log(back.clamp(min=1).float() / exact) / math.log(distance / exact) * (n_buckets - exact)
    far = (exact + far.long()).clamp(max=n_buckets - 1)
    return first + torch.where(back < exact, back, far)


def disentangled_bucket(
    query: Int[Tensor, " query"], key: Int[Tensor, " key"], n_buckets: int, distance: int, linear: bool
) -> Int[Tensor, "query key"]:
    """Which of n_buckets vectors of relative positions belongs to a query and a key, by how far the query is behind.

    With k = n_buckets / 2 the key's own place has number k; keys before the query have those above, later ones those
    below. Linear: each distance has its own number, from k on all share the last (arXiv:2006.03654, eq. 3). Otherwise
    so it is up to k / 2, and longer ones share, on a logarithmic scale that reaches the last number at `distance` - 1
    (the published code of DeBERTa v2, arXiv:2111.09543). Computed in float32 like the code the checkpoints were
    trained with: a boundary that falls on a whole number is rounded the same way.
    """
    span = n_buckets // 2
    behind = query[:, None] - key[None, :]  # (query, key)
    if not linear:
        exact = span // 2
        last = torch.tensor((distance - 1) / exact, device=behind.device)  # its logarithm in float32, too
        far = (behind.abs().clamp(min=1) / exact).log() / last.log() * (exact - 1)
        behind = torch.where(behind.abs() <= exact, behind, behind.sign() * (far.ceil().long() + exact))
    return (behind + span).clamp(0, n_buckets - 1)
