"""The costs of a step in words."""

from tfcore.views.start.walkthrough.say.costs import _percent


def test_the_smallest_shares():
    assert [_percent(1, whole) for whole in (1000, 1001)] == ["0.1%", "below 0.1%"]
