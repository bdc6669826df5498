"""Which tokens go to which experts: the choice, its weights, the room experts have, and what keeps their load even.

A slot is one of the places a token has for experts ("choice" in the shapes): top_k of them where tokens choose, one for
each expert where experts choose. padding_mask=False is padding, which counts nowhere.
"""

import torch
from jaxtyping import Bool, Float, Int, Num, Shaped
from torch import Tensor


def choose_experts(
    probs: Float[Tensor, "batch seq expert"],
    top_k: int,
    bias: Float[Tensor, " expert"] | None = None,
    *,
    groups: tuple[int, int, int] = (1, 1, 1),
) -> Int[Tensor, "batch seq choice"]:
    """Token choice: the top_k experts of each token, the best first (arXiv:1701.06538, eq. 5).

    Args:
        probs: of all experts, by softmax or sigmoid.
        bias: added for choosing only, so that idle experts are chosen more often (arXiv:2408.15664, eq. 3).
        groups: n_groups, top_groups and group_best, see open_groups.
    """
    biased = probs if bias is None else probs + bias
    if groups[0] > groups[1]:
        of_expert = open_groups(biased, *groups).repeat_interleave(probs.shape[-1] // groups[0], dim=-1)
        biased = biased.masked_fill(~of_expert, -torch.inf)
    return biased.topk(top_k, dim=-1).indices


def open_groups(
    probs: Float[Tensor, "batch seq expert"], n_groups: int, top_groups: int, group_best: int
) -> Bool[Tensor, "batch seq group"]:
    """True for the top_groups groups of a token whose group_best best experts have the largest sum: experts of the
    others are not chosen (arXiv:2405.04434, section 2.2.2; arXiv:2412.19437, section 2.1.2).

    Args:
        probs: with the bias where there is one; neighbouring experts make a group.
    """
    sums = probs.unflatten(-1, (n_groups, -1)).topk(group_best, dim=-1).values.sum(-1)  # (batch, seq, group)
    return torch.zeros_like(sums, dtype=torch.bool).scatter(-1, sums.topk(top_groups, dim=-1).indices, True)


def choose_tokens(
    probs: Float[Tensor, "batch seq expert"], top_k: int, padding_mask: Bool[Tensor, "batch seq"] | None = None
) -> Bool[Tensor, "batch seq expert"]:
    """Expert choice: each expert takes the k = top_k * tokens / n_experts tokens with the highest probs for it, of the
    whole batch, rounded down, at least one (arXiv:2202.09368, k = n c / e). All are equally busy, but a token may get
    no expert or all of them.

    Whether a token is taken depends on those after it: a causal decoder that does this looks into the future.

    Returns:
        True where the expert takes the token; padding_mask=False is padding, which nobody takes.
    """
    flat = probs.flatten(0, 1)  # (token, expert)
    if padding_mask is not None:
        flat = flat.masked_fill(~padding_mask.flatten()[:, None], -torch.inf)
    tokens = count_tokens(probs, padding_mask)
    each = min(max(top_k * tokens // probs.shape[-1], 1), tokens)
    taken = torch.zeros_like(flat, dtype=torch.bool)
    return taken.scatter(0, flat.topk(each, dim=0).indices, True).view_as(probs)


def expert_weights(
    probs: Float[Tensor, "batch seq expert"],
    indices: Int[Tensor, "batch seq choice"],
    chosen: Bool[Tensor, "batch seq choice"] | None = None,
    *,
    sum_to_one: bool,
) -> Float[Tensor, "batch seq choice"]:
    """Factors of the experts' outputs: their probs (Switch, arXiv:2101.03961, eq. 2), which sum to less
    than 1; or sum_to_one, probs_i / sum of the chosen probs (Mixtral, arXiv:2401.04088, section 2.1).

    Those are also the softmax of the chosen scores alone: exp(s_i) / sum exp(s_j), as the probs of all share a
    denominator. That is why softmax="after" needs no formula of its own.

    Args:
        chosen: the slots that count, the others get 0; None means all.
    """
    weights = probs.gather(-1, indices)
    if chosen is not None:
        weights = weights.masked_fill(~chosen, 0)
    if sum_to_one:  # all are 0 where nobody chose the token; then they stay 0
        weights = weights / weights.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)
    return weights


def expert_capacity(tokens: int, n_experts: int, top_k: int, factor: float) -> int:
    """How many tokens an expert takes: factor * top_k * tokens / n_experts, rounded down (arXiv:2101.03961, eq. 3),
    but at least 1: a token that comes alone, as in generation, should find room."""
    return max(int(factor * top_k * tokens / n_experts + 1e-6), 1)  # 0.29 * 100 is 28.999999999999996


def over_capacity(
    indices: Int[Tensor, "batch seq choice"],
    n_experts: int,
    capacity: int,
    padding_mask: Bool[Tensor, "batch seq"] | None = None,
) -> Bool[Tensor, "batch seq choice"]:
    """The slots that find their expert full: capacity or more came before them (arXiv:2101.03961, section 2.2).

    First come first served: earlier tokens first, within a token the better choice first, rows of the batch in turn.
    So nobody loses a place to a later token, unlike in arXiv:2006.16668, which serves all first choices first.
    """
    ids = indices.flatten()  # (slot)
    if padding_mask is not None:  # padding queues at a counter of its own
        ids = ids.masked_fill(~padding_mask.flatten().repeat_interleave(indices.shape[-1]), n_experts)
    order = ids.argsort(stable=True)
    counts = ids.bincount(minlength=n_experts + 1)
    before = torch.arange(len(ids), device=ids.device) - (counts.cumsum(0) - counts)[ids[order]]
    full = torch.empty_like(ids, dtype=torch.bool)
    full[order] = (before >= capacity) & (ids[order] < n_experts)
    return full.view_as(indices)


def expert_load(
    indices: Int[Tensor, "batch seq choice"], n_experts: int, chosen: Bool[Tensor, "batch seq choice"] | None = None
) -> Int[Tensor, " expert"]:
    """How many tokens chose each expert; chosen=False are slots that do not count, such as those of padding."""
    return (indices.flatten() if chosen is None else indices[chosen]).bincount(minlength=n_experts)


def load_balancing_loss(
    probs: Float[Tensor, "batch seq expert"],
    load: Num[Tensor, " expert"],
    alpha: float,
    padding_mask: Bool[Tensor, "batch seq"] | None = None,
) -> Float[Tensor, ""]:
    """alpha * N * sum_i f_i P_i, which is alpha when f or P is uniform (arXiv:2101.03961, eq. 4).

    That is no minimum: the sum is smaller where experts with a large share have a small mean probability.

    Args:
        probs: their mean over the tokens is P. Only P has a gradient: it moves probs away from crowded experts.
        load: tokens per expert; f is its share of the sum, so that f sums to 1 for any top_k.
        padding_mask: False at padding, which does not count.
    """
    share = load / load.sum().clamp_min(1)
    total = probs.sum((0, 1)) if padding_mask is None else probs[padding_mask].sum(0)  # (expert)
    return alpha * len(load) * (share * total).sum() / max(count_tokens(probs, padding_mask), 1)


def importance_loss(
    weights: Float[Tensor, "batch seq choice"], indices: Int[Tensor, "batch seq choice"], n_experts: int, factor: float
) -> Float[Tensor, ""]:
    """factor * CV(importance)^2, where an expert's importance is the sum of its weights over the tokens and CV their
    standard deviation over their mean (arXiv:1701.06538, eq. 6 and 7).

    Args:
        weights: of the chosen experts, 0 where a token was dropped.
    """
    importance = weights.new_zeros(n_experts).index_add(0, indices.flatten(), weights.flatten())
    return factor * importance.var(correction=0) / importance.mean().square().clamp_min(torch.finfo(weights.dtype).tiny)


def z_loss(
    logits: Float[Tensor, "batch seq expert"], factor: float, padding_mask: Bool[Tensor, "batch seq"] | None = None
) -> Float[Tensor, ""]:
    """factor * mean over the tokens of (log sum_i exp logits_i)^2: keeps scores small (arXiv:2202.08906, eq. 5)."""
    squares = logits.logsumexp(dim=-1).square()
    return (
        factor
        * (squares if padding_mask is None else squares[padding_mask]).sum()
        / max(count_tokens(logits, padding_mask), 1)
    )


@torch.no_grad()
def update_balance_bias_(
    bias: Float[Tensor, " expert"], load: Num[Tensor, " expert"], rate: float
) -> Float[Tensor, " expert"]:
    """One step towards an even load, in place: b_i += rate * sign(mean load - load_i) (arXiv:2408.15664, algorithm 1).

    Args:
        load: tokens per expert in the batch just trained on; see expert_load.
    """
    load = load.to(bias.dtype)
    return bias.add_(torch.sign(load.mean() - load), alpha=rate)


def count_tokens(values: Shaped[Tensor, "batch seq ..."], padding_mask: Bool[Tensor, "batch seq"] | None) -> int:
    """How many tokens are no padding."""
    return values.shape[0] * values.shape[1] if padding_mask is None else int(padding_mask.sum())
