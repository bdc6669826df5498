"""Entropy, cross-entropy and KL: known values, torch's own, the identity, and what zeros do."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tfcore.analysis.training.entropy import (
    compare,
    cross_entropy,
    entropy,
    kl_divergence,
    mixed_loss,
    perplexity,
    token_loss,
    weighted_logs,
)

WEIGHTS = st.lists(st.integers(1, 10_000), min_size=5, max_size=5)


def shares(weights):
    return np.array(weights) / sum(weights)


@pytest.mark.parametrize(
    ("p", "bits"), [([0.5, 0.5], 1), ([0.9, 0.1], 0.4689955935892812), ([1 / 6] * 6, math.log2(6)), ([1.0, 0.0], 0)]
)
def test_known_entropies(p, bits):
    assert entropy(np.array(p)) == pytest.approx(bits, abs=1e-12)


@given(p=WEIGHTS, q=WEIGHTS)
def test_numbers_agree_with_torch_and_with_each_other(p, q):
    p, q = shares(p), shares(q)
    result = compare(p, q)
    log_p, log_q = torch.tensor(np.log(p)), torch.tensor(np.log(q))
    forward = torch.nn.functional.kl_div(log_q, log_p, reduction="sum", log_target=True)
    reverse = torch.distributions.kl_divergence(
        torch.distributions.Categorical(torch.tensor(q)), torch.distributions.Categorical(torch.tensor(p))
    )
    assert result.forward == pytest.approx(float(forward) / math.log(2), abs=1e-9)
    assert result.reverse == pytest.approx(float(reverse) / math.log(2), abs=1e-6)
    assert abs(result.gap) < 1e-12
    assert result.forward >= -1e-12
    assert result.forward_terms.sum() == pytest.approx(kl_divergence(p, q), abs=1e-12)
    assert cross_entropy(p, p) == pytest.approx(entropy(p), abs=1e-12)


def test_a_share_too_small_to_divide_by_costs_what_it_should():
    assert kl_divergence(np.array([1.0, 0.0]), np.array([2.0**-1_074, 1.0])) == 1_074


def test_zeros_count_as_agreed():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.25, 0.25])
    assert weighted_logs(np.zeros(2), np.array([0.0, 1.0])).tolist() == [0, 0]
    assert kl_divergence(p, q) == pytest.approx(0.5)
    assert kl_divergence(q, p) == math.inf
    back = compare(q, p)
    assert back.cross == back.forward == math.inf
    assert math.isnan(back.gap)
    assert np.isfinite(back.reverse)


@pytest.mark.parametrize("p", [[0.5, 0.4], [1.5, -0.5]])
def test_what_is_no_distribution_is_refused(p):
    with pytest.raises(ValueError, match="divide it by its sum"):
        compare(np.array(p), np.array([0.5, 0.5]))


@pytest.mark.parametrize(("p", "bits"), [(0.9, 0.152), (0.01, 6.644), (0.5, 1.0), (1.0, 0.0)])
def test_the_loss_of_one_token(p, bits):
    assert token_loss(p) == pytest.approx(bits, abs=5e-4)
    assert perplexity(token_loss(p)) == pytest.approx(1 / p)


def test_perplexity_without_end():
    assert perplexity(2_000.0) == perplexity(math.inf) == math.inf


def test_a_mean_over_two_kinds_of_tokens():
    text = [0.001] + 9 * [0.9]
    assert mixed_loss(0.001, 0.1, 0.9) == pytest.approx(np.mean([-math.log2(p) for p in text]))
    with pytest.raises(ValueError, match=r"p=0\.0 must be above 0"):
        token_loss(0.0)
