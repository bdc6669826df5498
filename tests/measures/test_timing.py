"""How a time is written."""

from tfcore.measures.timing import milliseconds


def test_whole_milliseconds_from_a_hundred_on():
    assert [milliseconds(value) for value in (0.0994, 0.999, 0.9995)] == ["99.4 ms", "999 ms", "1,000 ms"]
