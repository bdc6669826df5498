"""The pure functions of attention, and that the fused kernel and the steps in sight are the same thing."""

import math

import pytest
import torch

from tests.small import ALL_PATTERNS, HEADS, POSITIONS, difference, ids, kinds, model
from tfcore.attention import attention_scores, attention_weights, attention_weights_, weighted_values
from tfcore.inspection.edits import Edit


def by_hand(q, k, v, mask):
    """Attention of one head in plain loops."""
    z = torch.zeros(len(q), v.shape[1])
    for i in range(len(q)):
        seen = [j for j in range(len(k)) if mask[i, j]]
        weights = [math.exp(float(q[i] @ k[j]) / math.sqrt(q.shape[1])) for j in seen]
        for j, weight in zip(seen, weights, strict=True):
            z[i] += weight / sum(weights) * v[j]
    return z


def test_attention_is_what_the_formula_says():
    q, k, v = torch.randn(5, 4), torch.randn(7, 4), torch.randn(7, 3)
    mask = torch.rand(5, 7) < 0.5
    mask[:, 2] = True
    pattern = attention_weights(attention_scores(q, k), mask)
    assert difference(weighted_values(pattern, v), by_hand(q, k, v, mask)) < 1e-6
    assert torch.equal(pattern > 0, mask)


def test_weights_sum_to_one_and_masked_keys_weigh_exactly_nothing():
    scores, mask = 30 * torch.randn(2, 3, 9, 9), torch.ones(9, 9, dtype=torch.bool).tril()
    pattern = attention_weights(scores, mask)
    assert difference(pattern.sum(-1), torch.ones(2, 3, 9)) < 1e-6
    assert pattern.masked_select(~mask).count_nonzero() == 0


def test_a_sink_takes_a_part_of_each_row_and_belongs_to_no_key():
    scores, mask, sinks = torch.randn(2, 3, 5, 7), torch.rand(5, 7) < 0.5, torch.tensor([-2.0, 0.5, 4.0])
    mask[:, 2] = True
    pattern = attention_weights(scores, mask, sinks)
    exponentials = scores.exp() * mask
    total = exponentials.sum(-1, keepdim=True) + sinks.exp()[:, None, None]
    assert difference(pattern, exponentials / total) < 1e-6
    assert difference(1 - pattern.sum(-1), (sinks.exp()[:, None, None] / total)[..., 0]) < 1e-6
    (alone,) = attention_weights(scores[0, :1], mask, sinks[0])
    assert difference(alone, pattern[0, 0]) < 1e-6


def test_the_functions_leave_their_inputs_alone():
    q, k, scores = torch.randn(2, 4, 6), torch.randn(2, 4, 6), torch.randn(2, 4, 4)
    before = q.clone(), k.clone(), scores.clone()
    attention_scores(q, k), attention_weights(scores, torch.ones(4, 4, dtype=torch.bool).tril())
    assert all(torch.equal(a, b) for a, b in zip((q, k, scores), before, strict=True))


@pytest.mark.parametrize("n", [1, 2, 17, 130, 1030])
def test_writing_over_the_scores_gives_the_same_weights(n):
    for shape in ((n, n), (2, 3, 5, n)):
        scores, mask = 5 * torch.randn(shape), torch.rand(shape[-2:]) < 0.5
        mask[:, 0] = True
        expected = attention_weights(scores, mask)
        additive_mask = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
        found = attention_weights_(scores, additive_mask)
        assert torch.equal(found, expected)
        assert found.data_ptr() == scores.data_ptr()


def test_scores_that_somebody_keeps_are_not_written_over():
    scores = model()(ids(), capture="*").activations["blocks.0.attn.scores"]
    assert scores.isfinite().all()
    kept = []
    edit = Edit("blocks.0.attn.scores", lambda value: kept.append(value) or value)
    model()(ids(), capture=ALL_PATTERNS, edits=[edit])
    assert difference(kept[0], scores) < 1e-5


def test_scores_of_unit_variance_stay_of_unit_variance():
    q, k = torch.randn(400, 64), torch.randn(400, 64)
    assert attention_scores(q, k).std() == pytest.approx(1.0, abs=0.05)


PADDING = {
    "none": None,
    "right": torch.tensor([[True] * 13, [True] * 9 + [False] * 4]),
    "left": torch.tensor([[False] * 3 + [True] * 10, [True] * 13]),
}


@pytest.mark.parametrize("padding", PADDING)
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("window", [None, 4])
def test_the_fused_kernel_and_the_steps_in_sight_agree(positions, heads, window, padding):
    subject = model(positions=positions, n_kv_heads=HEADS[heads], window=window)
    fused = subject(ids(), padding_mask=PADDING[padding])
    explicit = subject(ids(), padding_mask=PADDING[padding], capture=ALL_PATTERNS)
    assert difference(fused.logits, explicit.logits) < 1e-5
    assert fused.activations == {}


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_two_agree_under_any_mask(positions):
    subject, mask = model(positions=positions), torch.rand(13, 13) < 0.3
    mask.fill_diagonal_(True)
    explicit = subject(ids(), mask=mask, capture=ALL_PATTERNS)
    assert difference(subject(ids(), mask=mask).logits, explicit.logits) < 1e-5
    for pattern in explicit.activations.values():
        assert pattern.masked_select(~mask).count_nonzero() == 0


def test_nobody_sees_the_future_or_padding_or_past_the_window():
    for kind in kinds():
        subject, real = model(**kind), PADDING["right"]
        reach = kind["window"] or 99
        for pattern in subject(ids(), padding_mask=real, capture=ALL_PATTERNS).activations.values():
            query, key = torch.arange(13)[:, None], torch.arange(13)[None, :]
            allowed = (key <= query) & (query - key < reach) & (real[:, None, None, :] | (query == key))
            assert torch.equal(pattern > 0, allowed.expand_as(pattern)), kind
            assert difference(pattern.sum(-1), torch.ones(pattern.shape[:-1])) < 1e-5


def test_a_token_changes_nothing_that_came_before_it():
    changed = ids().clone()
    changed[:, 7] = (changed[:, 7] + 1) % 61
    for kind in kinds():
        subject = model(**kind)
        moved = (subject(ids()).logits - subject(changed).logits).abs().amax((0, 2))
        assert moved[:7].max() == 0, kind
        assert moved[7] > 0, kind


def test_keys_of_a_group_are_shared_by_neighbouring_query_heads():
    grouped, full = model(n_kv_heads=2), model(n_kv_heads=6)
    state = grouped.state_dict()
    for i in range(2):
        q, k, v = state[f"decoder.blocks.{i}.attn.qkv.weight"].split((24, 8, 8))
        k, v = (part.view(2, 4, 24).repeat_interleave(3, dim=0).flatten(0, 1) for part in (k, v))
        state[f"decoder.blocks.{i}.attn.qkv.weight"] = torch.cat((q, k, v))
    full.load_state_dict(state)
    assert difference(grouped(ids()).logits, full(ids()).logits) < 1e-5


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
@pytest.mark.parametrize("positions", POSITIONS)
def test_both_ways_run_in_other_precisions(positions, dtype):
    subject = model(positions=positions).to(dtype)
    fused, explicit = subject(ids()), subject(ids(), capture=ALL_PATTERNS)
    assert fused.logits.dtype == explicit.logits.dtype == dtype
    assert difference(fused.logits, explicit.logits) < {torch.bfloat16: 0.3, torch.float64: 1e-5}[dtype]
