"""The largest of many values where several are the same by rights, as those of a token that stands in a text twice:
which of them float32 makes the largest is another on each processor."""

import numpy as np
from jaxtyping import Num
from numpy import ndarray

ROUNDING = 1e-6  # of the largest value: float32 sets equal sums apart by less


def first_largest(values: Num[ndarray, "*shape"]) -> int:
    """The place of the largest value in the flattened array, the first of those that rounding alone sets apart.

    Args:
        values: not empty; -inf where a place is left out, or everywhere.
    """
    most = values.max()
    return int((values >= most - ROUNDING * abs(most)).argmax()) if np.isfinite(most) else int(values.argmax())
