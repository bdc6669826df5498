"""Top-k routing with a load balancing loss."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.exercises.shown import recorded
from tfcore.routing import choose_experts, expert_load, expert_weights, load_balancing_loss
from tfcore.views.experts.routing.draw.routing import load_figure
from tfcore.views.finding import state

MODEL, LAYER, TOP_K, ALPHA = "stories-moe", 1, 2, 0.01


def route(
    logits: Float[Tensor, "token expert"], top_k: int, alpha: float
) -> tuple[Int[Tensor, "token choice"], Float[Tensor, "token choice"], Float[Tensor, ""]]:
    """The experts of each token, the weights of their outputs, and a loss that keeps their load even.

    Probabilities are the softmax of a token's logits over the experts. It goes to the top_k most probable, the best
    first, with their probabilities divided by the sum of those chosen. The loss is alpha * N * sum_i f_i P_i of N
    experts: f_i is the share of all choices that fall on expert i, and P_i its mean probability over the tokens.

    Args:
        logits: of the router.
        top_k: experts of a token.
        alpha: factor of the loss.

    Returns:
        indices: of the chosen experts; weights: theirs; and loss: a tensor of one number.
    """
    probs = logits.softmax(-1)
    best, indices = probs.topk(top_k, dim=-1)
    weights = best / best.sum(-1, keepdim=True)
    n = logits.shape[1]
    share = indices.flatten().bincount(minlength=n) / indices.numel()
    return indices, weights, alpha * n * (share * probs.mean(0)).sum()


def by_tfcore(logits: Tensor, top_k: int, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    probs = logits.softmax(-1)[None]
    indices = choose_experts(probs, top_k)
    weights = expert_weights(probs, indices, sum_to_one=True)
    loss = load_balancing_loss(probs, expert_load(indices, logits.shape[1]), alpha)
    return indices[0], weights[0], loss


def over_tokens(logits: Tensor, top_k: int, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    return by_tfcore(logits.softmax(0).log(), top_k, alpha)


def not_divided(logits: Tensor, top_k: int, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    indices, _, loss = by_tfcore(logits, top_k, alpha)
    return indices, logits.softmax(-1).gather(1, indices), loss


def worst_first(logits: Tensor, top_k: int, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    indices, weights, loss = by_tfcore(logits, top_k, alpha)
    return indices.flip(1), weights.flip(1), loss


def least_probable(logits: Tensor, top_k: int, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    probs = logits.softmax(-1)
    indices = probs.topk(top_k, largest=False).indices
    weights = expert_weights(probs[None], indices[None], sum_to_one=True)[0]
    return indices, weights, load_balancing_loss(probs[None], expert_load(indices[None], logits.shape[1]), alpha)


def without_count(logits: Tensor, top_k: int, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    indices, weights, loss = by_tfcore(logits, top_k, alpha)
    return indices, weights, loss / logits.shape[1]


def by_tokens(logits: Tensor, top_k: int, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    indices, weights, loss = by_tfcore(logits, top_k, alpha)
    return indices, weights, loss * top_k


def squared_probs(logits: Tensor, top_k: int, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    indices, weights, _ = by_tfcore(logits, top_k, alpha)
    return indices, weights, alpha * logits.shape[1] * logits.softmax(-1).mean(0).square().sum()


def first_choice_alone(logits: Tensor, top_k: int, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    indices, weights, _ = by_tfcore(logits, top_k, alpha)
    load = expert_load(indices[None, :, :1], logits.shape[1])
    return indices, weights, load_balancing_loss(logits.softmax(-1)[None], load, alpha)


def cases(generator: torch.Generator) -> list[Inputs]:
    sizes = ((6, 4, 2, 0.01), (10, 8, 2, 1.0), (5, 5, 3, 0.1), (7, 3, 1, 0.5))
    return [(2 * normal(generator, tokens, experts), top_k, alpha) for tokens, experts, top_k, alpha in sizes]


def weights_sum_to_one(call: Function, logits: Tensor, top_k: int, alpha: float) -> bool:
    sums = call(logits, top_k, alpha)[1].sum(-1)
    return torch.allclose(sums, torch.ones_like(sums), atol=1e-4)


def best_come_first(call: Function, logits: Tensor, top_k: int, alpha: float) -> bool:
    return torch.equal(call(logits, top_k, alpha)[0], logits.topk(top_k).indices)


def tokens_choose_alone(call: Function, logits: Tensor, top_k: int, alpha: float) -> bool:
    changed = logits.clone()
    changed[-1] = 3 * changed[-1].flip(0)
    return torch.equal(call(changed, top_k, alpha)[0][:-1], call(logits, top_k, alpha)[0][:-1])


def even_load_costs_alpha(call: Function, logits: Tensor, top_k: int, alpha: float) -> bool:
    n = logits.shape[1]
    even = 8 * sum(torch.eye(n).roll(i, 1) for i in range(top_k)) + 0.01 * torch.eye(n)  # each expert equally often
    return abs(float(call(even, top_k, alpha)[2]) / alpha - 1) < 1e-3


def draw(call: Function) -> Picture:
    logits = recorded(MODEL, f"blocks.{LAYER}.mlp.router.logits")[0]
    indices, _, loss = call(logits, TOP_K, ALPHA)
    taken = indices.flatten().bincount(minlength=logits.shape[1]).numpy()
    words = (
        "Tokens of a text for each expert of layer {layer} of {model}, as the function routes them: "
        "most, {most}, to expert {i}."
    )
    found = state(
        "load", words, layer=LAYER, model=MODEL, most=int(taken.max()), i=int(taken.argmax()) + 1, loss=float(loss)
    )
    return Picture(load_figure(taken, np.zeros_like(taken), None, -1, None, 360), found)


ROUTING = Exercise(
    solution=route,
    title="Top-k routing with load balance",
    asks="The experts of each token, their weights, and the loss that keeps experts busy alike.",
    papers="Mixtral of Experts, section 2.1, arXiv:2401.04088; Switch Transformers, equation 4, arXiv:2101.03961",
    formula=r"w_i = \frac{p_i}{\sum_{j \in \mathrm{top}\,k} p_j}, \qquad L = \alpha N \sum_{i=1}^N f_i P_i",
    returns=("indices", "weights", "loss"),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty("The weights of a token's experts sum to 1.", "rows do not sum to 1", weights_sum_to_one),
        ExerciseProperty(
            "A token chooses by itself.", "a token's experts change when another token does", tokens_choose_alone
        ),
        ExerciseProperty(
            "The most probable experts are chosen, the best first.",
            "the chosen experts are not the most probable ones, the best first",
            best_come_first,
        ),
        ExerciseProperty(
            "Where every expert is chosen equally often the loss is alpha.",
            "where every expert is chosen equally often the loss is not alpha",
            even_load_costs_alpha,
        ),
    ),
    mistakes=(
        UsualMistake(over_tokens, "softmax over the wrong axis?"),
        UsualMistake(not_divided, "are the probabilities divided by the sum of those chosen?"),
        UsualMistake(worst_first, "does the best expert of a token come last?"),
        UsualMistake(least_probable, "are the least probable experts chosen?"),
        UsualMistake(without_count, "is the factor N, the number of experts, missing?"),
        UsualMistake(by_tokens, "is f divided by the tokens in place of all choices? f sums to 1 for any top_k"),
        UsualMistake(squared_probs, "is f made of probabilities? It counts choices"),
        UsualMistake(first_choice_alone, "are first choices alone counted? Each of the top_k is a choice"),
    ),
    hints=(
        "`probs.topk(top_k, dim=-1)` returns values and indices, the largest first.",
        "`indices.flatten().bincount(minlength=n)` counts how often each expert is chosen.",
        "f sums to 1 and P sums to 1: with both even, N * sum f P is N * N * (1/N)(1/N) = 1.",
    ),
    page="routing",
    draw=draw,
)
