"""Sampling filters against hand calculation; generation with the cache against generation without."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tfcore import ModelConfig, Transformer, generate
from tfcore.sampling import distribution

LOGITS = torch.log(torch.tensor([0.1, 0.4, 0.2, 0.3]))


def test_temperature_one_is_softmax():
    torch.testing.assert_close(distribution(LOGITS), torch.tensor([0.1, 0.4, 0.2, 0.3]))


def test_temperature_half_squares_the_odds():
    p = torch.tensor([0.01, 0.16, 0.04, 0.09])
    torch.testing.assert_close(distribution(LOGITS, temperature=0.5), p / p.sum())


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        ({"top_k": 2}, [0, 4 / 7, 0, 3 / 7]),
        ({"top_p": 0.5}, [0, 4 / 7, 0, 3 / 7]),  # 0.4 alone does not reach a half
        ({"top_p": 0.4}, [0, 1, 0, 0]),
        ({"top_k": 3, "top_p": 0.7}, [0, 4 / 7, 0, 3 / 7]),
        ({"temperature": 0}, [0, 1, 0, 0]),
    ],
)
def test_what_the_filters_leave(cut, expected):
    torch.testing.assert_close(distribution(LOGITS, **cut), torch.tensor(expected, dtype=torch.float32))


@given(arrays("float32", 7, elements=st.floats(-20, 20, width=32)), st.integers(1, 9), st.floats(0.01, 1))
@settings(max_examples=50, deadline=None)
def test_always_a_distribution_on_at_most_top_k(logits, top_k, top_p):
    p = distribution(torch.from_numpy(logits), top_k=top_k, top_p=top_p)
    assert float(p.sum()) == pytest.approx(1, abs=1e-5)
    assert 1 <= int((p > 0).sum()) <= top_k


@pytest.mark.parametrize("bad", [{"temperature": -1}, {"temperature": float("nan")}, {"top_k": 0}, {"top_p": 0}])
def test_bad_settings_are_named(bad):
    name, value = next(iter(bad.items()))
    with pytest.raises(ValueError, match=f"{name}={value}"):
        distribution(LOGITS, **bad)


@pytest.fixture(scope="module")
def model():
    return Transformer(ModelConfig(vocab_size=31, d_model=32, max_seq_len=24, init_std=0.3)).eval()


def test_greedy_with_cache_equals_argmax_without(model):
    ids = [3, 1, 4]
    for _ in range(10):
        ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    assert generate(model, ids[:3], max_new_tokens=10, temperature=0) == ids[3:]


def test_seed_decides(model):
    first, again, other = (generate(model, [5], max_new_tokens=20, seed=s) for s in (1, 1, 2))
    assert first == again != other


def test_stops_where_the_context_is_full(model):
    assert len(generate(model, list(range(20)), max_new_tokens=100)) == 4


def test_nothing_to_continue(model):
    with pytest.raises(ValueError, match="at least one id"):
        generate(model, [])
