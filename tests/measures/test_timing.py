"""Runs that are timed, and how a time is written."""

import math

import pytest

from tfcore.measures.timing import milliseconds, repeated


def test_whole_milliseconds_from_a_hundred_on():
    assert [milliseconds(value) for value in (0.0994, 0.999, 0.9995)] == ["99.4 ms", "999 ms", "1,000 ms"]


@pytest.mark.parametrize(("repeats", "spent", "runs"), [(3, math.inf, 3), (9, 0.5, 2), (9, 0.6, 3)])
def test_runs_end_with_their_number_or_with_the_time_spent(repeats, spent, runs):
    made = []

    def steps():
        return (yield from repeated(lambda: made.append(len(made)) or 0.25, repeats, spent))

    run = steps()
    for number in range(1, runs + 1):
        next(run)
        assert len(made) == number  # it yields after each
    with pytest.raises(StopIteration) as end:
        next(run)
    assert end.value.value == [0.25] * runs
