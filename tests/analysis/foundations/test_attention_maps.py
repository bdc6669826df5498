"""Attention maps are the model's own patterns; pooling keeps every strong weight in sight."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.small import ALL_PATTERNS, model
from tfcore.analysis.foundations.attention_maps import attention_maps, head_mean, overlap, parts, pool, rollout
from tfcore.analysis.foundations.heads import score_heads


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


def test_every_part_of_an_encoder_decoder_has_its_maps():
    subject = model(architecture="encoder-decoder", n_encoder_layers=3)
    ids, written = [3, 1, 4, 1, 5], [0, 9, 2]
    shapes = {"encoder": (3, 6, 5, 5), "decoder": (2, 6, 3, 3), "cross": (2, 6, 3, 5)}
    assert parts(subject.config) == tuple(shapes)
    names = ("encoder.blocks.2.attn.pattern", "decoder.blocks.1.attn.pattern", "decoder.blocks.1.cross_attn.pattern")
    captured = subject(torch.tensor([ids]), decoder_ids=torch.tensor([written]), capture=names).activations
    for name, (part, shape) in zip(names, shapes.items(), strict=True):
        found = attention_maps(subject, ids, part=part, decoder_ids=written)
        assert found.patterns.shape == shape
        np.testing.assert_allclose(found.patterns[-1], captured[name][0].numpy(), atol=1e-5)
        assert (len(found.query_ids), len(found.ids)) == shape[2:]
    with pytest.raises(ValueError, match="give decoder_ids, too"):
        attention_maps(subject, ids, part="cross")


def test_an_encoder_looks_both_ways():
    found = attention_maps(model(architecture="encoder", head="mlm"), [3, 1, 4, 1])
    assert (found.patterns > 0).all()
    assert parts(model(architecture="encoder", head="mlm").config) == ("encoder",)


def test_rollout_is_the_product_of_half_attention_half_residual():
    patterns = attention_maps(model(), [3, 1, 4, 1, 5]).patterns
    first, second = (0.5 * patterns[layer].mean(0) + 0.5 * np.eye(5) for layer in range(2))
    np.testing.assert_allclose(rollout(patterns), [first, second @ first], atol=1e-6)
    np.testing.assert_allclose(rollout(patterns).sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(head_mean(patterns)[1], patterns[1].mean(0))


def test_overlap_is_one_for_equal_maps_and_zero_for_disjoint_ones():
    same = attention_maps(model(), [3, 1, 4]).patterns[0, 0]
    assert overlap(same, same) == pytest.approx(1)
    assert overlap(np.eye(4), np.roll(np.eye(4), 1, axis=1)) == 0
    assert overlap(np.eye(2), np.full((2, 2), 0.5)) == 0.5


def test_maps_of_two_texts_are_pooled_by_the_same_step_both_ways():
    pattern = np.random.default_rng(0).random((1, 1, 5, 9)).astype(np.float32)
    small = pool(pattern, 3)
    assert small.shape == (1, 1, 2, 3)
    assert small[0, 0, 1, 2] == pattern[0, 0, 3:, 6:].max()


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
