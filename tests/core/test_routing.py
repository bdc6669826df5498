"""Routing: capacity and losses against hand-made numbers."""

import math

import pytest
import torch

from tfcore.routing import choose_experts, expert_capacity, load_balancing_loss, open_groups, over_capacity, z_loss


def test_a_token_is_dropped_exactly_when_its_expert_is_full():
    indices = torch.tensor([[[0, 1], [0, 2], [0, 1]], [[0, 2], [1, 2], [1, 0]]])
    none = [False, False]
    expected = torch.tensor([[none, none, [True, False]], [[True, False], [True, True], [True, True]]])
    assert torch.equal(over_capacity(indices, 3, 2), expected)
    assert not over_capacity(indices, 3, 5).any()
    real = torch.tensor([[True, False, True], [True, True, True]])  # without (0, 2), which now takes no room
    expected = torch.tensor([[none, none, none], [[True, False], [True, False], [True, True]]])
    assert torch.equal(over_capacity(indices, 3, 2, real), expected)


@pytest.mark.parametrize(
    ("tokens", "n_experts", "top_k", "factor", "capacity"),
    [(16, 4, 2, 1.0, 8), (16, 4, 2, 1.25, 10), (10, 4, 1, 1.0, 2), (100, 1, 1, 0.29, 29), (1, 8, 2, 1.0, 1)],
)
def test_the_capacity_is_rounded_down_and_leaves_room_for_one(tokens, n_experts, top_k, factor, capacity):
    assert expert_capacity(tokens, n_experts, top_k, factor) == capacity


def test_losses_are_those_of_a_sheet_of_paper():
    probs = torch.tensor([[[0.7, 0.2, 0.1], [0.5, 0.3, 0.2]]])
    load = torch.tensor([3, 1, 0])
    by_hand = 0.01 * 3 * (0.75 * 0.6 + 0.25 * 0.25)
    assert float(load_balancing_loss(probs, load, 0.01)) == pytest.approx(by_hand)
    logits = torch.tensor([[[0.0, 0.0], [math.log(3), 0.0]]])
    assert float(z_loss(logits, 0.5)) == pytest.approx(0.5 * (math.log(2) ** 2 + math.log(4) ** 2) / 2)


def test_an_even_load_is_no_minimum_of_the_balance_loss():
    """60 tokens at (0.49, 0.51), 40 at (0.99, 0.01): shares 0.4 and 0.6, mean probabilities 0.69 and 0.31."""
    probs = torch.tensor([[[0.49, 0.51]] * 60 + [[0.99, 0.01]] * 40])
    load = torch.bincount(probs.argmax(-1).flatten())
    assert float(load_balancing_loss(probs, load, 1.0)) == pytest.approx(0.924)
    uneven = torch.tensor([[[0.9, 0.1]] * 10])
    assert float(load_balancing_loss(uneven, torch.tensor([5, 5]), 1.0)) == pytest.approx(1)
    logits = torch.zeros(1, 4, 2, requires_grad=True)
    load_balancing_loss(logits.softmax(-1), torch.tensor([3, 1]), 1.0).backward()
    assert (logits.grad[..., 0] > 0).all(), "a step against the gradient lowers the crowded expert"


@pytest.mark.parametrize("top_k", [1, 2, 3])
def test_the_balance_loss_of_even_routing_is_alpha(top_k):
    even = torch.full((2, 6, 6), 1 / 6)
    assert float(load_balancing_loss(even, torch.full((6,), 2 * top_k), 0.03)) == pytest.approx(0.03)
    crowded = torch.zeros(2, 6, 6)
    crowded[..., 0] = 1
    assert float(load_balancing_loss(crowded, torch.tensor([12, 0, 0, 0, 0, 0]), 0.03)) == pytest.approx(6 * 0.03)


def test_experts_of_groups_that_are_not_among_the_best_are_not_chosen():
    probs = torch.tensor([[[0.9, 0.0, 0.5, 0.45, 0.6, 0.2]]])  # groups (0.9, 0), (0.5, 0.45) and (0.6, 0.2)
    assert open_groups(probs, 3, 1, 1).tolist() == [[[True, False, False]]]
    assert open_groups(probs, 3, 1, 2).tolist() == [[[False, True, False]]], "by two, 0.95 is more than 0.9 and 0.8"
    assert choose_experts(probs, 2, groups=(3, 1, 2)).tolist() == [[[2, 3]]]
    assert choose_experts(probs, 2, groups=(3, 2, 2)).tolist() == [[[0, 2]]]
    assert choose_experts(probs, 2, groups=(3, 3, 2)).tolist() == [[[0, 4]]]
    bias = torch.tensor([0, 0, 0, 0, 0, 0.3])
    assert choose_experts(probs, 2, bias, groups=(3, 1, 2)).tolist() == [[[4, 5]]], "which counts for groups, too"
