"""Requests, allocators, and memory step by step, each against a computation of its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcore.views.inference.kv_cache.measure.paging import (
    FREE,
    LATER,
    NEVER,
    NOBODY,
    STRANDED,
    TOKEN,
    Contiguous,
    Paged,
    Request,
    SlotRange,
    Traffic,
    compare,
    open_server,
    request_trace,
    run_trace,
    serve,
)

TRAFFIC = st.builds(
    Traffic,
    requests=st.integers(1, 12),
    prompt=st.integers(1, 20),
    output=st.integers(1, 20),
    every=st.floats(0.5, 6),
    longest=st.integers(2, 40),
    seed=st.integers(0, 50),
)
POLICIES = ("reserve", "exact", "paged")
# prompt and answer: 1 + 2, 2 + 1, 1 + 1 tokens, all there from the beginning
THREE = (Request(0, 1, 2), Request(0, 2, 1), Request(0, 1, 1))


def columns(run):
    """Counts of tokens, later, never, stranded, free in each step."""
    return run.counts[[TOKEN, LATER, NEVER, STRANDED, FREE]].T.tolist()


def test_reserving_by_hand():
    run = run_trace(THREE, "reserve", slots=9, longest=4, block=2)
    # Two of 4 slots each fit, one slot is left over. The second is done after one step; then the third begins.
    assert columns(run) == [[5, 1, 2, 0, 1], [5, 0, 3, 0, 1]]
    assert run.running.tolist() == [2, 2]
    assert run.waiting.tolist() == [1, 0]
    assert run.waited.tolist() == [0, 0, 1]
    assert run.share(TOKEN) == 10 / 16


def test_exact_lengths_by_hand():
    run = run_trace(THREE, "exact", slots=9, longest=4, block=2)
    assert columns(run) == [[7, 1, 0, 0, 1], [3, 0, 0, 0, 6]]
    assert run.waited.tolist() == [0, 0, 0]


def test_blocks_by_hand():
    run = run_trace(THREE, "paged", slots=8, longest=4, block=2)
    # At first 1, 2 and 1 tokens and one more each: blocks of 2, 4 and 2 slots. In the next step the first request,
    # now alone, takes a block for its third token, of which one slot stays empty for good.
    assert columns(run) == [[7, 0, 1, 0, 0], [3, 0, 1, 0, 4]]
    assert run.evicted == 0


def test_free_but_scattered_memory_is_external_waste():
    leaves_holes = (Request(0, 1, 1), Request(0, 1, 3), Request(0, 1, 1), Request(1, 1, 3))
    run = run_trace(leaves_holes, "exact", slots=8, longest=4, block=2)
    # Slots 0-1 and 6-7 are free after the first step, the last request wants 4 together and waits until 2-5 are free.
    assert run.counts[STRANDED].tolist() == [0, 4, 4, 0, 0, 0]
    assert run.waited.tolist() == [0, 0, 0, 2]
    assert run_trace(leaves_holes, "paged", slots=8, longest=4, block=1).counts[STRANDED].sum() == 0


def test_the_youngest_gives_its_blocks_up_and_is_computed_again():
    run = run_trace((Request(0, 1, 3), Request(0, 1, 3)), "paged", slots=4, longest=4, block=1)
    # Both write until all four slots are full; then the second leaves, and comes back with its two tokens.
    assert run.counts[TOKEN].tolist() == [4, 3, 4, 3, 4]
    assert run.running.tolist() == [2, 1, 1, 1, 1]
    assert run.evicted == 1
    assert run.waited.tolist() == [0, 0]


@given(TRAFFIC, st.sampled_from(POLICIES), st.sampled_from([1, 2, 5, 16]), st.integers(0, 60))
def test_in_every_step_no_slot_is_in_two_requests_and_all_adds_up(traffic, policy, block, more):
    slots = -(-traffic.longest // block) * block + more
    requests = request_trace(traffic)
    server = open_server(policy, slots, traffic.longest, block)
    done = {}
    for _ in serve(server, requests):
        pieces = [(p.start, p.start + p.size) for seat in server.seats for p in seat.pieces]
        taken = [slot for start, end in pieces for slot in range(start, end)]
        assert len(taken) == len(set(taken)), "a slot in two requests"
        assert set(taken) == set(np.flatnonzero(server.state != FREE).tolist())
        state = server.look()
        counts = np.bincount(state, minlength=5)
        assert counts.sum() == slots, "waste + used + free = all"
        assert counts[TOKEN] == sum(seat.written for seat in server.seats)
        assert counts[TOKEN] + counts[LATER] + counts[NEVER] == len(taken)
        assert ((server.owner == NOBODY) == (server.state == FREE)).all()
        for seat in server.seats:
            empty = sum(p.size for p in seat.pieces) - seat.written
            if policy == "paged":
                assert empty < block
            done[seat.number] = seat.written
        if policy == "exact" or (policy == "paged" and block == 1):
            assert counts[NEVER] == 0
        if policy == "reserve":
            assert len(taken) == traffic.longest * len(server.seats)
        if policy == "paged":
            assert counts[STRANDED] == 0
    assert done == {number: request.length for number, request in enumerate(requests)}, "all are answered"


@given(TRAFFIC, st.sampled_from([1, 16]), st.sampled_from([64, 300]))
def test_a_run_is_a_picture_of_its_counts(traffic, block, slots):
    for policy, run in compare(traffic, slots, block).items():
        assert (run.counts.sum(0) == slots).all(), policy
        assert sum(run.share(state) for state in (TOKEN, LATER, NEVER, STRANDED)) == pytest.approx(1)
        assert run.counts.shape[1] == len(run.running) == len(run.waiting) == run.steps
        assert run.picture.shape == run.owners.shape == (slots // max(1, slots // 128), len(run.moments))
        assert (run.waited >= 0).all()


def test_blocks_hold_more_than_whole_lengths():
    runs = compare(Traffic(), 2_048, 16)
    shares = [runs[policy].share(TOKEN) for policy in POLICIES]
    assert shares == sorted(shares)
    assert shares[0] < 0.4
    assert shares[2] > 0.9
    assert runs["paged"].running.max() > 2 * runs["reserve"].running.max()
    assert runs["paged"].steps < runs["reserve"].steps


def test_what_would_never_fit_is_refused():
    with pytest.raises(ValueError, match="a request of 3 tokens, longest=4, must fit into 3 usable slots"):
        run_trace(THREE, "reserve", slots=3, longest=4, block=2)
    with pytest.raises(ValueError, match="must fit into 4 usable slots"):
        run_trace(THREE, "paged", slots=7, longest=5, block=4)


# A number below 40: take so many slots; another: give back what was taken at that place of the list.
DEEDS = st.lists(st.integers(1, 80), max_size=60)


def used(taken: list[list[SlotRange]]) -> list[int]:
    return [slot for pieces in taken for piece in pieces for slot in range(piece.start, piece.start + piece.size)]


def check(allocator, slots, deeds, refused):
    taken: list[list[SlotRange]] = []
    for deed in deeds:
        if deed >= 40:
            if taken:
                allocator.give_back(taken.pop(deed % len(taken)))
            continue
        pieces = allocator.take(deed)
        if pieces is None:
            assert refused(deed, slots - len(used(taken)))
        else:
            taken.append(pieces)
            assert sum(piece.size for piece in pieces) >= deed
        now = used(taken)
        assert len(now) == len(set(now)), "a slot was given to two"
        assert set(now) <= set(range(slots))
    for pieces in taken:
        allocator.give_back(pieces)


@given(st.integers(1, 120), DEEDS)
def test_contiguous_memory(slots, deeds):
    allocator = Contiguous(slots)
    check(allocator, slots, deeds, lambda wanted, _: all(hole.size < wanted for hole in allocator.holes))
    assert allocator.holes == [SlotRange(0, slots)], "all holes are one again"


@given(st.integers(1, 120), st.sampled_from([1, 2, 7, 16]), DEEDS)
def test_blocks(slots, block, deeds):
    allocator = Paged(slots, block)
    check(allocator, slots, deeds, lambda wanted, free: -(-wanted // block) > free // block)
    assert sorted(allocator.free) == list(range(0, slots - block + 1, block))


def test_the_first_hole_that_is_large_enough():
    memory = Contiguous(10)
    first, second, third = (memory.take(size) for size in (3, 4, 2))
    assert (first, second, third) == ([SlotRange(0, 3)], [SlotRange(3, 4)], [SlotRange(7, 2)])
    memory.give_back(first)
    memory.give_back(third)
    assert memory.holes == [SlotRange(0, 3), SlotRange(7, 3)]
    assert memory.take(4) is None, "six are free, but not four together"
    assert memory.take(2) == [SlotRange(0, 2)]


def test_blocks_may_lie_anywhere():
    memory = Paged(10, 3)
    first, second = memory.take(3), memory.take(2)
    memory.give_back(first)
    assert memory.take(4) == [SlotRange(0, 3), SlotRange(6, 3)]
    assert memory.take(1) is None
    assert second == [SlotRange(3, 3)]


@given(TRAFFIC)
def test_every_request_is_possible(traffic):
    requests = request_trace(traffic)
    assert len(requests) == traffic.requests
    assert requests[0].arrival == 0
    assert [r.arrival for r in requests] == sorted(r.arrival for r in requests)
    assert all(r.prompt >= 1 and r.output >= 1 and r.length <= traffic.longest for r in requests)
    assert requests == request_trace(traffic)


def test_means_are_those_asked_for():
    requests = request_trace(Traffic(requests=20_000, prompt=40, output=90, every=3.0, longest=100_000))
    assert np.mean([r.prompt for r in requests]) == pytest.approx(40, rel=0.03)
    assert np.mean([r.output for r in requests]) == pytest.approx(90, rel=0.03)
    assert requests[-1].arrival / 20_000 == pytest.approx(3.0, rel=0.03)


def test_nonsense_is_refused():
    Traffic(requests=1, prompt=1, output=1, every=0.01, longest=2)
    for name, value in (("requests", 0), ("prompt", 0), ("output", 0), ("every", 0.0), ("longest", 1)):
        with pytest.raises(ValueError, match=f"{name}={value}"):
            Traffic(**{name: value})
