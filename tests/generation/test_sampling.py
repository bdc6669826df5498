"""Sampling filters against hand calculation, and what must hold for any scores."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tfcore.generation.sampling import Sampling, min_p, pick, repetition_penalty, temperature, top_k, top_p

LOGITS = torch.log(torch.tensor([0.1, 0.4, 0.2, 0.3]))
SCORES = arrays("float32", 7, elements=st.floats(-20, 20, width=32))


def test_temperature_one_is_softmax():
    torch.testing.assert_close(Sampling().distribution(LOGITS), torch.tensor([0.1, 0.4, 0.2, 0.3]))


def test_temperature_half_squares_the_odds():
    p = torch.tensor([0.01, 0.16, 0.04, 0.09])
    torch.testing.assert_close(Sampling(temperature=0.5).distribution(LOGITS), p / p.sum())


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        ({"top_k": 2}, [0, 4 / 7, 0, 3 / 7]),
        ({"top_k": 9}, [0.1, 0.4, 0.2, 0.3]),  # more than there are
        ({"top_p": 0.5}, [0, 4 / 7, 0, 3 / 7]),  # 0.4 alone does not reach a half
        ({"top_p": 0.4}, [0, 1, 0, 0]),
        ({"top_p": 1e-9}, [0, 1, 0, 0]),
        ({"top_p": 0.95}, [0.1, 0.4, 0.2, 0.3]),
        ({"top_k": 3, "top_p": 0.7}, [0, 4 / 7, 0, 3 / 7]),
        ({"min_p": 0.6}, [0, 4 / 7, 0, 3 / 7]),  # 0.24 and more
        ({"min_p": 1}, [0, 1, 0, 0]),
        ({"top_p": 0.4, "min_p": 0.01}, [0, 1, 0, 0]),
        ({"temperature": 0}, [0, 1, 0, 0]),
        ({"temperature": 1e-45}, [0, 1, 0, 0]),  # below what float32 can hold
        ({"temperature": 0, "top_k": 3, "top_p": 0.9, "min_p": 0.1}, [0, 1, 0, 0]),
    ],
)
def test_what_the_filters_leave(cut, expected):
    torch.testing.assert_close(Sampling(**cut).distribution(LOGITS), torch.tensor(expected, dtype=torch.float32))


def test_min_p_comes_after_temperature():
    """0.1 is a quarter of 0.4, but only a sixteenth once the odds are squared."""
    assert (Sampling(min_p=0.2).distribution(LOGITS) > 0).tolist() == [True, True, True, True]
    assert (Sampling(min_p=0.2, temperature=0.5).distribution(LOGITS) > 0).tolist() == [False, True, True, True]


def test_a_repeated_token_loses_whatever_the_sign_of_its_score():
    logits, previous = torch.tensor([2.0, -2.0, 3.0, 0.0]), torch.tensor([1, 0, 1])
    assert repetition_penalty(logits, previous, 2).tolist() == [1.0, -4.0, 3.0, 0.0]
    expected = torch.tensor([1.0, -4.0, 3.0, 0.0]).softmax(-1)
    torch.testing.assert_close(Sampling(repetition_penalty=2).distribution(logits, previous), expected)
    greedy = Sampling(repetition_penalty=2.0, temperature=0).distribution(logits, torch.tensor([2]))
    assert greedy.tolist() == [1, 0, 0, 0]  # 3 / 2 is below 2
    with pytest.raises(ValueError, match=r"repetition_penalty=1\.5 needs previous"):
        Sampling(repetition_penalty=1.5).distribution(logits)


@given(SCORES, st.integers(1, 9), st.floats(0.01, 1), st.floats(0, 1), st.floats(0, 3))
@settings(max_examples=100)
def test_always_a_distribution_that_keeps_the_most_likely(logits, k, p, m, t):
    logits = torch.from_numpy(logits)
    left = Sampling(top_k=k, top_p=p, min_p=m, temperature=t).distribution(logits)
    assert float(left.sum()) == pytest.approx(1, abs=1e-5)
    assert 1 <= int((left > 0).sum()) <= k
    assert float(logits[left > 0].max()) == float(logits.max())


@given(SCORES, st.floats(0.01, 0.99))
def test_the_nucleus_is_the_smallest_that_reaches_p(logits, p):
    logits = torch.from_numpy(logits)
    probabilities, kept = logits.double().softmax(-1), top_p(logits, p).isfinite()
    inside = probabilities[kept]
    assert float(inside.sum()) >= p - 1e-5
    assert float(inside.sum() - inside.min()) < p + 1e-5
    assert bool((probabilities[~kept] <= inside.min() + 1e-6).all())


def test_a_long_tail_that_is_not_sorted_changes_nothing():
    """The shortcut of top_p, on a vocabulary as large as a real one, against the whole of it sorted."""
    logits = torch.randn(3, 5_000, generator=torch.Generator().manual_seed(0)) * 4
    for p in (0.1, 0.9, 0.999):
        order = logits.argsort(-1, descending=True)
        sums = logits.softmax(-1).gather(-1, order).double().cumsum(-1)
        for row in range(3):
            n = int((sums[row] < p).sum()) + 1
            assert set(top_p(logits, p)[row].isfinite().nonzero().flatten().tolist()) == set(order[row, :n].tolist())


@pytest.mark.parametrize("keep", [lambda x: top_k(x, 2), lambda x: top_p(x, 0.7), lambda x: min_p(x, 0.5)])
def test_equal_scores_leave_a_distribution(keep):
    left = keep(torch.zeros(5)).softmax(-1)
    assert float(left.sum()) == pytest.approx(1)
    assert set(left[left > 0].tolist()) == {float(left.max())}


def test_top_k_of_equal_scores_is_k():
    assert int(top_k(torch.zeros(5), 2).isfinite().sum()) == 2


def test_tokens_that_are_ruled_out_stay_out():
    logits = torch.tensor([1.0, -math.inf, 2.0, -math.inf])
    for cut in ({}, {"temperature": 3.0}, {"top_k": 3}, {"top_p": 0.999}, {"min_p": 1e-9}):
        p = Sampling(**cut).distribution(logits)
        assert p[[1, 3]].tolist() == [0, 0], cut
        assert float(p.sum()) == pytest.approx(1)
    p = Sampling(repetition_penalty=2.0).distribution(logits, torch.tensor([1, 2]))
    torch.testing.assert_close(p, torch.tensor([0.5, 0, 0.5, 0]))


def test_large_scores_do_not_overflow():
    logits = torch.tensor([3e38, 0.0, -3e38])
    assert temperature(logits, 1e-3).softmax(-1).tolist() == [1, 0, 0]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("method", [Sampling().distribution, Sampling().stages])
def test_scores_of_a_diverged_model_are_refused(bad, method):
    with pytest.raises(ValueError, match=rf"the largest score is {bad}"):
        method(torch.tensor([0.0, bad, 1.0]))
    with pytest.raises(ValueError, match="the largest score is nan"):
        Sampling(temperature=0).draw(torch.tensor([0.0, math.nan]), None, torch.Generator())
    with pytest.raises(ValueError, match="the largest score is -inf"):
        method(torch.full((3,), -math.inf))


def test_rows_are_filtered_each_by_itself():
    logits = torch.randn(2, 3, 11, generator=torch.Generator().manual_seed(1)) * 3
    previous = torch.randint(0, 11, (2, 3, 4), generator=torch.Generator().manual_seed(2))
    sampling = Sampling(temperature=0.7, top_k=6, top_p=0.8, min_p=0.1, repetition_penalty=1.3)
    whole = sampling.distribution(logits, previous)
    for i in range(2):
        for j in range(3):
            torch.testing.assert_close(whole[i, j], sampling.distribution(logits[i, j], previous[i, j]))


def test_stages_name_what_is_on_and_end_in_the_distribution():
    logits, previous = torch.randn(9, generator=torch.Generator().manual_seed(3)), torch.tensor([0, 4])
    everything = Sampling(temperature=2, top_k=5, top_p=0.9, min_p=0.1, repetition_penalty=1.5)
    stages = everything.stages(logits, previous)
    names = ["softmax", "repetition penalty", "temperature", "top-k", "top-p", "min-p"]
    assert [stage.name for stage in stages] == names
    torch.testing.assert_close(stages[0].probabilities, logits.softmax(-1))
    torch.testing.assert_close(stages[-1].probabilities, everything.distribution(logits, previous))
    after_k = Sampling(temperature=2, top_k=5, repetition_penalty=1.5).distribution(logits, previous)
    torch.testing.assert_close(stages[3].probabilities, after_k)
    assert [stage.name for stage in Sampling().stages(logits)] == ["softmax"]
    assert [stage.name for stage in Sampling(top_p=0.5).stages(logits)] == ["softmax", "top-p"]


def test_draws_have_the_frequencies_of_the_distribution():
    generator, sampling, n = torch.Generator().manual_seed(0), Sampling(top_k=3), 1_000
    counts = torch.zeros(4)
    for _ in range(n):
        counts[sampling.draw(LOGITS, None, generator)] += 1
    expected = torch.tensor([0, 4, 2, 3]) / 9
    assert counts[0] == 0
    assert float((counts / n - expected).abs().max()) < 4 * math.sqrt(0.25 / n)


@pytest.mark.parametrize(
    ("u", "token"), [(0.0, 2), (0.4999, 2), (0.5, 1), (0.7999, 1), (0.8, 3), (0.9999999, 3), (1.0, 3)]
)
def test_a_token_has_a_part_of_the_line_as_long_as_its_probability(u, token):
    assert pick(torch.tensor([0.0, 0.3, 0.5, 0.2, 0.0]), u) == token
    assert pick(torch.tensor([0.0, 3.0, 5.0, 2.0, 0.0]), u) == token


def test_equal_tokens_come_in_the_order_of_their_ids():
    assert [pick(torch.ones(4), u) for u in (0.0, 0.3, 0.6, 0.9)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "bad",
    [
        *({"temperature": -1}, {"temperature": float("nan")}, {"temperature": math.inf}),
        *({"top_k": 0}, {"top_p": 0}, {"top_p": 1.5}, {"min_p": -0.1}, {"min_p": 2}, {"repetition_penalty": 0}),
    ],
)
def test_bad_settings_are_named(bad):
    name, value = next(iter(bad.items()))
    with pytest.raises(ValueError, match=f"{name}={value}"):
        Sampling(**bad)
