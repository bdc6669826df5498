"""Where the words of a number change."""

from tfcore.views.inference.long_context.say.timing import FusedSpeed
from tfcore.views.inference.long_context.say.traffic import Moved


def test_equal_times_are_once_as_quick():
    assert "fused attention is 1.0 times quicker" in str(FusedSpeed(8, 1.0, 1.0, None, 0.0))


def test_equal_traffic_is_no_more():
    assert Moved(1, 1, 10, 10, 1.0, 1.0).ratio == "1.00 × less"
