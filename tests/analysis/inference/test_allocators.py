"""Memory given out: nothing twice, nothing lost, and refused only where there is no room."""

from hypothesis import given
from hypothesis import strategies as st

from tfcore.analysis.inference.allocators import Contiguous, Paged, Piece

# A number below 40: take so many slots; another: give back what was taken at that place of the list.
DEEDS = st.lists(st.integers(1, 80), max_size=60)


def used(taken: list[list[Piece]]) -> list[int]:
    return [slot for pieces in taken for piece in pieces for slot in range(piece.start, piece.start + piece.size)]


def check(allocator, slots, deeds, refused):
    taken: list[list[Piece]] = []
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
    assert allocator.holes == [Piece(0, slots)], "all holes are one again"


@given(st.integers(1, 120), st.sampled_from([1, 2, 7, 16]), DEEDS)
def test_blocks(slots, block, deeds):
    allocator = Paged(slots, block)
    check(allocator, slots, deeds, lambda wanted, free: -(-wanted // block) > free // block)
    assert sorted(allocator.free) == list(range(0, slots - block + 1, block))


def test_the_first_hole_that_is_large_enough():
    memory = Contiguous(10)
    first, second, third = (memory.take(size) for size in (3, 4, 2))
    assert (first, second, third) == ([Piece(0, 3)], [Piece(3, 4)], [Piece(7, 2)])
    memory.give_back(first)
    memory.give_back(third)
    assert memory.holes == [Piece(0, 3), Piece(7, 3)]
    assert memory.take(4) is None, "six are free, but not four together"
    assert memory.take(2) == [Piece(0, 2)]


def test_blocks_may_lie_anywhere():
    memory = Paged(10, 3)
    first, second = memory.take(3), memory.take(2)
    memory.give_back(first)
    assert memory.take(4) == [Piece(0, 3), Piece(6, 3)]
    assert memory.take(1) is None
    assert second == [Piece(3, 3)]
