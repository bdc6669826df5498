"""Entropy, cross-entropy and KL: known values, torch's own, the identity, and what zeros do."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tfcore.measures.information import cross_entropy, entropy, kl_divergence, perplexity, weighted_logs
from tfcore.views.training.information.measure.compression import unigram
from tfcore.views.training.information.measure.entropy import compare, mixed_loss, token_loss
from tfcore.views.training.information.say.entropy import (
    bits_text,
    divergence_sums,
    entropy_identity,
    entropy_numbers,
    loss_of_mixture,
    loss_of_token,
    loss_table,
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
    with pytest.raises(ValueError, match=r"p=1\.5 must be above 0 and at most 1"):
        token_loss(1.5)


# ---- what is said ----

P, Q = [0.5, 0.25, 0.25, 0.0], [0.25, 0.25, 0.125, 0.375]


def test_the_numbers_of_two_distributions_are_their_sums():
    found = entropy_numbers(compare(np.array(P), np.array(Q)))
    own = cross = forward = 0.0
    for p, q in zip(P, Q, strict=True):
        if p:
            own += p * math.log2(1 / p)
            cross += p * math.log2(1 / q)
            forward += p * math.log2(p / q)
    assert (found.own, found.cross, found.forward) == pytest.approx((own, cross, forward))
    assert (own, cross, forward) == (1.5, 2.25, 0.75)
    assert found.reverse == math.inf  # q is above 0 where p is 0
    assert found.metrics == {
        "H(P)": "1.500",
        "H(P, Q)": "2.250",
        "KL(P‖Q)": "0.750",
        "KL(Q‖P)": "∞",
        "perplexity of P": "2.828",
    }
    assert str(found) == (
        "Blue area: 1.500 bits, the entropy of P. Orange area: 2.250 bits, the cross-entropy with Q. KL(P‖Q) = 0.750 "
        "bits, KL(Q‖P) = ∞ bits; perplexity of P 2.828."
    )


def test_a_cross_entropy_without_end_is_said_in_words():
    assert "Orange area: infinite, the cross-entropy" in str(entropy_numbers(compare(np.array(Q), np.array(P))))


def test_the_identity_is_said_with_its_numbers_or_with_what_is_ruled_out():
    found = entropy_identity(compare(np.array(P), np.array(Q)), "ABCD")
    assert str(found) == "H(P) + KL(P‖Q) = 1.50000 + 0.75000 = 2.25000; H(P, Q) = 2.25000 bits. Difference: 0."
    ruled = entropy_identity(compare(np.array([0.5, 0.25, 0.25, 0.0]), np.array([1.0, 0, 0, 0])), "ABCD")
    assert ruled.ruled_out == ("B", "C")
    assert str(ruled) == (
        "Q gives 0 to B, C, and P does not, so the cross-entropy is infinite. Where p itself is 0, the term is 0: 0 "
        "log 0 counts as 0."
    )


def test_the_sums_of_all_terms():
    found = divergence_sums(compare(np.array([0.5, 0.5]), np.array([0.25, 0.75])))
    assert round(0.5 * 1 + 0.5 * math.log2(2 / 3), 3) == 0.208
    assert round(0.25 * -1 + 0.75 * math.log2(1.5), 3) == 0.189
    assert str(found) == "KL(P‖Q) sums to 0.208 bits, KL(Q‖P) to 0.189 bits."


def test_what_is_said_of_one_token():
    found = loss_of_token(0.125)
    assert (found.bits, found.nats) == (3, pytest.approx(-math.log(0.125)))
    assert found.metrics == {"Loss, bits": "3.000", "Loss, nats": "2.079", "1/p": "8.0"}
    assert str(found) == (
        "At p = 0.125 the loss is 3.000 bits and its gradient on the right token's logit 0.125 − 1 = −0.875 (nats)."
    )
    assert loss_table([0.5, 0.001]) == {
        "probability of the right token": ["0.5", "0.001"],
        "bits": ["1.000", "9.966"],
        "nats": ["0.693", "6.908"],
        "perplexity": ["2.00", "1,000.00"],
    }


def test_what_is_said_of_a_text_with_improbable_tokens():
    found = loss_of_mixture(0.0625, 0.25, 0.5)
    text = [0.0625] + 3 * [0.5]
    assert found.values["mean"] == pytest.approx(np.mean([-math.log2(p) for p in text]))
    assert (found.values["ratio"], found.values["perplexity"]) == (4, pytest.approx(2**1.75))
    assert str(found) == (
        "One such token costs as much as 4.0 tokens at 0.5. A text with 25 % of them and the rest at 0.5 has a mean of "
        "1.750 bits per token, perplexity 3.36."
    )


def test_bits_in_text():
    assert [bits_text(value) for value in (math.inf, -1e-17, 1.23456, 12.0)] == ["∞", "0.000", "1.235", "12.000"]


def test_what_is_certain_costs_nothing_and_not_minus_nothing():
    certain = np.array([1.0, 0.0])
    for bits in (token_loss(1.0), entropy(certain), cross_entropy(certain, certain), unigram(b"aa")):
        assert f"{bits:g}" == "0"
