"""What a mask does to attention, and that the leak test tells a leak from none, to the last bit."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests import small
from tfcore.analysis.foundations.masking import leak_test, mask_cost, masked_attention, replacement_for
from tfcore.masks import FUNCTIONS, MaskConfig, build

N = 13
CAUSAL_KINDS = ["causal", "window", "window_global", "dilated", "blocks"]


def text(n=N):
    return small.ids(1, n)[0].tolist()


def other(ids, position):
    return (ids[position] + 1) % small.BASE["vocab_size"]


@given(n=st.integers(1, 20), kind=st.sampled_from(list(FUNCTIONS)))
def test_cost_counts_pairs(n, kind):
    config = MaskConfig(kind=kind)
    pairs = [(q, k) for q in range(n) for k in range(n) if build(config, n)[q, k]]
    cost = mask_cost(config, n)
    assert (cost.pairs, cost.ahead) == (len(pairs), sum(k > q for q, k in pairs))
    assert cost.share == len(pairs) / n**2


@pytest.mark.parametrize("kind", list(FUNCTIONS))
@pytest.mark.parametrize("positions", ["rope", "alibi"])
def test_before_and_after_belong_together(kind, positions):
    model, config = small.model(positions=positions), MaskConfig(kind=kind, window=3)
    result = masked_attention(model, text(), config)
    allowed = build(config, N).numpy()
    assert np.array_equal(result.allowed, allowed)
    assert result.scores.shape == result.unmasked.shape == result.masked.shape == (2, 6, N, N)
    exp = np.exp(result.scores - result.scores.max(-1, keepdims=True))
    np.testing.assert_allclose(result.unmasked, exp / exp.sum(-1, keepdims=True), atol=1e-6)
    exp = exp * allowed
    np.testing.assert_allclose(result.masked, exp / exp.sum(-1, keepdims=True), atol=1e-5)
    assert (result.masked[..., ~allowed] == 0).all()
    np.testing.assert_allclose(result.blocked_share, (result.unmasked * ~allowed).sum(-1).mean(-1), atol=1e-6)


def test_a_single_token_works():
    result = masked_attention(small.model(), [3], MaskConfig())
    assert (result.masked == 1).all()
    assert (result.blocked_share == 0).all()


@pytest.mark.parametrize("kind", CAUSAL_KINDS)
@pytest.mark.parametrize("position", [1, 6, N - 1])
def test_causal_masks_leak_nothing_to_the_last_bit(kind, position):
    ids = text()
    leak = leak_test(small.model(), ids, MaskConfig(kind=kind, window=3), position, other(ids, position))
    assert leak.equal
    assert leak.before == 0.0
    assert leak.reached == 0
    assert (leak.difference[:position] == 0).all()
    assert leak.difference[position] > 1e-3


@pytest.mark.parametrize("kind", ["bidirectional", "padding"])
def test_without_causality_everything_before_changes(kind):
    ids = text()
    leak = leak_test(small.model(), ids, MaskConfig(kind=kind, padded=2), 6, other(ids, 6))
    assert not leak.equal
    assert leak.before > 1e-3
    assert leak.reached == 6


def test_prefix_lm_leaks_inside_the_prefix_only():
    ids, config = text(), MaskConfig(kind="prefix", prefix=6)
    assert leak_test(small.model(), ids, config, 5, other(ids, 5)).reached == 5
    assert leak_test(small.model(), ids, config, 6, other(ids, 6)).equal


def test_padding_itself_reaches_nobody():
    ids, config = text(), MaskConfig(kind="padding", padded=3)
    leak = leak_test(small.model(), ids, config, N - 2, other(ids, N - 2))
    assert leak.equal
    assert leak.difference[N - 1] == 0
    assert leak_test(small.model(), ids, MaskConfig(kind="padding", and_causal=True), 4, other(ids, 4)).equal


def test_the_step_by_step_path_leaks_nothing_either():
    model, ids = small.model(), small.ids(1, N)
    changed = ids.clone()
    changed[0, 7] = other(ids[0].tolist(), 7)
    first, second = (model(row, capture=small.ALL_PATTERNS).logits[0, :7] for row in (ids, changed))
    assert torch.equal(first, second)


@pytest.mark.parametrize(("position", "replacement", "named"), [(0, 1, "position=0"), (N, 1, f"position={N}")])
def test_positions_without_a_before_are_refused(position, replacement, named):
    with pytest.raises(ValueError, match=named):
        leak_test(small.model(), text(), MaskConfig(), position, replacement)


def test_a_replacement_that_changes_nothing_is_refused():
    ids = text()
    with pytest.raises(ValueError, match="stands at 4"):
        leak_test(small.model(), ids, MaskConfig(), 4, ids[4])


def test_replacement_is_never_the_token_itself():
    table = {" dragon": [7], " red": [3, 4], " she": [9]}
    encode = lambda word: table.get(word, [1, 2])  # noqa: E731
    assert replacement_for(encode, 5) == 7
    assert replacement_for(encode, 7) == 9
    bytes_only = lambda word: list(word.encode())  # noqa: E731
    assert all(replacement_for(bytes_only, i) != i for i in range(256))
