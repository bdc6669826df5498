"""What a mask does to attention, and that the leak test tells a leak from none, to the last bit."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests import small
from tfcore.analysis.block.pitfalls import Look
from tfcore.analysis.foundations.masks import (
    AllowedPairs,
    BlockedWeight,
    Leak,
    LeakComparison,
    MaskCost,
    TwinLosses,
    allowed_pairs,
    blocked_weight,
    leak_comparison,
    leak_test,
    mask_cost,
    masked_attention,
    masked_outputs,
    replacement_for,
    twin_losses,
)
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


@pytest.mark.parametrize("kind", ["causal", "bidirectional"])
def test_outputs_that_are_kept_serve_every_position(kind):
    ids, mask = text(), MaskConfig(kind=kind)
    kept = masked_outputs(small.model(), ids, mask)
    for position in (1, 6):
        args = small.model(), ids, mask, position, other(ids, position)
        again, anew = leak_test(*args, kept), leak_test(*args)
        np.testing.assert_array_equal(again.difference, anew.difference)
        assert (again.equal, again.reached, again.before) == (anew.equal, anew.reached, anew.before)


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
    with pytest.raises(ValueError, match=f"{named} must be between 1 and {N - 1}, with a token before it"):
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


def test_pairs_are_counted_for_the_text_and_for_a_long_one():
    found = allowed_pairs(MaskConfig(kind="window", window=3), "sliding window", 5, 100)
    assert (found.near.pairs, found.far.pairs) == (1 + 2 + 3 + 3 + 3, 1 + 2 + 98 * 3)
    assert str(found) == (
        "sliding window: 12 of 25 pairs, 48.0%; none of them with a later key. At 100 tokens the same mask allows 3.0%."
    )
    open_mask = AllowedPairs("none", MaskCost(40, 1_600, 780), MaskCost(1_024, 1_024**2, 0))
    assert str(open_mask) == (
        "none: 1,600 of 1,600 pairs, 100.0%; 780 of them with a later key. At 1,024 tokens the same mask allows 100.0%."
    )


def test_the_blocked_weight_is_that_of_the_head():
    result = masked_attention(small.model(), text(), MaskConfig())
    share = np.mean([sum(result.unmasked[1, 4, q, q + 1 :]) for q in range(N)])
    found = blocked_weight(result, "causal", 1, 4, masked=False)
    assert found.share == pytest.approx(share, abs=1e-6)
    assert str(BlockedWeight("causal", 0.256, False)) == (
        "26% of the weight lies on pairs that this mask (causal) blocks."
    )
    assert str(BlockedWeight("causal", 0.256, True)) == (
        "26% of the weight was on pairs that this mask (causal) blocks."
    )


def leak_of(before, equal, reached):
    return Leak(20, np.zeros(30), before, equal, reached)


def test_a_leak_is_told_from_none():
    none, some = leak_of(0.0, True, 0), leak_of(0.01234, False, 7)
    assert (none.before_text, none.verdict) == ("0.0", "equal to the last bit")
    assert (some.before_text, some.verdict) == ("0.0123", "7 of 20 earlier positions changed")
    assert leak_comparison(none, some, "causal") == LeakComparison("causal", 20, True, 0.0, 0.01234)
    assert str(leak_comparison(none, some, "causal")) == (
        "With the mask causal, the outputs at the 20 positions before the changed token are equal to the last bit; "
        "without a mask they differ by up to 0.0123."
    )
    assert str(leak_comparison(some, leak_of(3.5, False, 20), "padding")) == (
        "With the mask padding, the outputs at the 20 positions before the changed token differ by up to 0.0123; "
        "without a mask they differ by up to 3.5."
    )


def test_the_losses_of_the_twins_are_those_of_the_last_look():
    looks = [Look(step, (1.0 / step, 2.0), (0.0, 0.0)) for step in (5, 8, 10)]
    assert twin_losses(looks) == TwinLosses(10, 0.1, 2.0)
    assert str(TwinLosses(160, 0.01234, 1.2)) == (
        "Training loss, nats per letter, after 160 steps: 0.0123 without a mask, 1.2 with it."
    )
