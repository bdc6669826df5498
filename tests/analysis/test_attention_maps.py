"""Attention maps are the model's own patterns; pooling keeps every strong weight in sight."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.small import ALL_PATTERNS, model
from tfcore.analysis.attention_maps import attention_maps, pool
from tfcore.analysis.heads import score_heads


@pytest.mark.parametrize("length", [1, 2, 13, 32])
def test_maps_are_the_patterns_of_one_pass(length):
    subject, ids = model(), torch.randint(0, 61, (length,)).tolist()
    found = attention_maps(subject, ids)
    assert found.ids.tolist() == ids
    assert found.patterns.shape == (2, 6, length, length)
    assert found.patterns.dtype == np.float32
    captured = subject(torch.tensor([ids]), capture=ALL_PATTERNS).activations
    for i in range(2):
        assert np.array_equal(found.patterns[i], captured[f"blocks.{i}.attn.pattern"][0].numpy())
    scores = score_heads(found.patterns, np.array(ids))
    assert np.array_equal(found.heads.kind, scores.kind)
    assert np.array_equal(found.heads.score, scores.score)


def test_no_token_and_too_many_are_refused():
    with pytest.raises(ValueError, match="there is no token to compute on"):
        attention_maps(model(), [])
    with pytest.raises(ValueError, match="33 tokens are more than max_seq_len=32"):
        attention_maps(model(), [0] * 33)


@given(n=st.integers(1, 40), size=st.integers(1, 40), seed=st.integers(0, 100))
def test_pooling_fits_and_keeps_the_largest_weight_of_every_square(n, size, seed):
    pattern = np.random.default_rng(seed).random((2, 3, n, n)).astype(np.float32)
    small = pool(pattern, size)
    side = small.shape[-1]
    assert small.shape == (2, 3, side, side)
    assert side <= max(size, 1)
    step = -(-n // size)
    for row in range(side):
        for column in range(side):
            square = pattern[..., row * step : (row + 1) * step, column * step : (column + 1) * step]
            assert np.array_equal(small[..., row, column], square.max((-2, -1)))


def test_small_maps_come_back_as_they_are():
    pattern = np.random.default_rng(0).random((1, 1, 6, 6)).astype(np.float32)
    assert pool(pattern, 6) is pattern
