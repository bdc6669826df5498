"""Ring attention: every block meets every query once, the result is the whole attention, the work is what it is."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inference.long_context.test_flash import vectors
from tfcore.views.inference.long_context.measure.ring import (
    device_tokens,
    follow_ring,
    held_block,
    ring_attention,
    ring_work,
)
from tfcore.views.inference.long_context.say import pieces as say
from tfcore.views.inference.long_context.say.pieces import Difference

LAYOUTS = ["contiguous", "striped"]


@settings(max_examples=25)
@given(
    n=st.integers(1, 17),
    devices=st.integers(1, 8),
    layout=st.sampled_from(LAYOUTS),
    causal=st.booleans(),
    size=st.sampled_from([1.0, 8.0]),
)
def test_the_ring_gives_torchs_attention(n, devices, layout, causal, size):
    devices = min(devices, n)
    head = vectors(n, size=size).double()
    q, k, v = (x[None, None] for x in (head.q, head.k, head.v))
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=1.0)[0, 0]
    assert torch.allclose(ring_attention(head, devices, layout, causal)[0], theirs, atol=1e-11)


def test_a_learned_sink_is_in_the_state_from_the_start():
    head = replace(vectors(9), sink=torch.tensor(1.5))
    weights, output = head.naive(causal=True)
    run = follow_ring(head, 3, "contiguous", True, 8)
    assert torch.allclose(ring_attention(head, 3, "contiguous", True)[0], output, atol=1e-6)
    first = weights[:3, :3].sum() + weights[3:6, 3:6].sum() + weights[6:, 6:].sum() + (1 - weights.sum(1)).sum()
    assert run.missing[0] == pytest.approx(1 - float(first) / 9, abs=1e-6)
    assert run.missing[-1] == pytest.approx(0, abs=1e-6)


@given(n=st.integers(1, 30), devices=st.integers(1, 8), layout=st.sampled_from(LAYOUTS))
def test_every_pair_is_worked_on_once(n, devices, layout):
    devices = min(devices, n)
    assert ring_work(n, devices, layout, True).sum() == n * (n + 1) // 2
    assert ring_work(n, devices, layout, False).sum() == n * n
    assert sorted(int(i) for place in device_tokens(n, devices, layout) for i in place) == list(range(n))
    for device in range(devices):
        assert sorted(held_block(device, step, devices) for step in range(devices)) == list(range(devices))
        for step in range(1, devices):  # what I hold is what my neighbour held before
            assert held_block(device, step, devices) == held_block((device - 1) % devices, step - 1, devices)


def test_striped_work_is_even_and_pieces_are_not():
    pieces, striped = (ring_work(64, 4, layout, True) for layout in LAYOUTS)
    np.testing.assert_array_equal(pieces[0], [136] * 4)  # 16 * 17 / 2
    np.testing.assert_array_equal(pieces[1:, 0], 0)
    assert pieces[3].tolist() == [0, 0, 0, 256]
    assert set(striped.ravel()) == {136, 120}  # with and without the diagonal
    slowest = [work.max(axis=1).sum() for work in (pieces, striped)]
    assert slowest == [136 + 3 * 256, 4 * 136]


def test_the_followed_run_is_true():
    head = vectors(14)
    run = follow_ring(head, 4, "striped", True, 9)
    weights, naive = head.naive(True)
    assert run.home.tolist() == [i % 4 for i in range(14)]
    assert run.held[0].tolist() == [0, 1, 2, 3]
    assert run.held[1].tolist() == [3, 0, 1, 2]
    assert run.missing[-1] == pytest.approx(0, abs=1e-6)
    had = sum(float(weights[i, j]) for i in range(14) for j in range(14) if i % 4 == j % 4)
    assert run.missing[0] == pytest.approx(1 - had / 14, abs=1e-5)
    assert run.off[-1] == run.difference < 1e-5
    assert run.exact < 1e-13
    last = run.steps[-1]
    np.testing.assert_allclose(last.out / last.l, naive[9], rtol=1e-4, atol=1e-5)
    assert [step.keys[0] for step in run.steps] == [1, 0, 3, 2]


def test_a_block_that_lies_in_the_future_changes_nothing():
    run = follow_ring(vectors(8), 4, "contiguous", True, 0)
    first, *others = run.steps
    for step in others:
        assert step.tile_m == -np.inf
        assert (step.tile_l, step.rescale, step.m, step.l) == (0, 1, first.m, first.l)


@pytest.mark.parametrize("devices", [0, 6])
def test_devices_without_a_token_are_refused(devices):
    with pytest.raises(ValueError, match=f"devices={devices}"):
        device_tokens(5, devices, "striped")


def test_a_row_outside_the_text_is_refused():
    with pytest.raises(ValueError, match="row=8"):
        follow_ring(vectors(8), 2, "striped", True, 8)


def test_a_step_of_the_ring():
    run = follow_ring(vectors(8), 4, "contiguous", True, 5)
    for step in range(4):
        found = say.ring_step(run, step)
        held = tuple((device - step) % 4 for device in range(4))
        where = ", ".join(f"device {device} has KV{block}" for device, block in enumerate(held))
        idle = sum(block > device for device, block in enumerate(held))  # all keys in the future
        assert found.sentence == f"Step {step + 1} of 4: {where}; {idle} of 4 devices idle."


def test_blocks_that_have_met():
    run = follow_ring(vectors(8), 4, "contiguous", True, 5)
    for step in range(4):
        seen = {(device, int(block)) for row in run.held[: step + 1] for device, block in enumerate(row)}
        found = say.meetings(run, step)
        assert found.values == {"step": step + 1, "met": len(seen), "total": 16}
    assert str(found) == "16 of 16 blocks of queries and keys have met after step 4."


def test_what_is_still_to_come():
    run = follow_ring(vectors(8), 4, "striped", True, 5)
    early, last = say.still_to_come(run, 1), say.still_to_come(run, 3)
    assert (early.missing, early.off, early.is_last) == (run.missing[1], run.off[1], False)
    assert (last.is_last, last.final) == (True, Difference(run.difference, run.exact))
    planted = say.StillToCome(0.125, 0.5, False, Difference(2e-7, 4e-16))
    assert planted.sentence == "Weight still to come: 12.5%; off standard attention by 5.0e-01, not done yet."
    ended = say.StillToCome(0.0, 2e-7, True, Difference(2e-7, 4e-16))
    assert (ended.missing_share, ended.off_words) == ("0.0%", ("2.0e-07", "equal to 1e-5"))
    assert ended.in_double == "4e-16"


def test_load_is_balanced_where_no_device_waits():
    work = np.array([[4, 2], [0, 6], [1, 1]])  # (step, device): the slowest take 4, 6 and 1
    found = say.load_balance("striped", work)
    assert found.values["busy"] == pytest.approx(14 / 22)
    assert str(found) == (
        "Tokens striped: 14 (query, key) pairs in all, 11 on the slowest device of each step: busy 64% of the time."
    )
