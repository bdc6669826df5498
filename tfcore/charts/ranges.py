"""Ranges of axes and of colours."""

import math


def round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50 ... : a range that seldom changes while a slider moves."""
    if not 0 < value < math.inf:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in (1, 2, 5) if value <= step * power), 10 * power)
