"""Where the words of a number change."""

from tfcore.views.foundations.recurrence.say import ParallelGain, _size


def test_the_form_of_a_size():
    assert [_size(value) for value in (0.01, 999.5, 1000)] == ["0.010", "999.500", "10³"]


def test_equal_times_are_once_as_quick():
    times = (("rnn", 1.0), ("lstm", 2.0), ("transformer", 1.0))
    assert "1.0 times as quick" in str(ParallelGain(8, times, times))
