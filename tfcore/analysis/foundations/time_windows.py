"""A series of numbers as a sequence: overlapping windows, each one token."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

Values = Float[ndarray, " time"]


@dataclass(frozen=True, slots=True)
class Windows:
    """A series, normalised and cut up.

    Args:
        values: the series, as it was.
        mean: of the series.
        deviation: its standard deviation; 1 if all values are equal.
        starts: the first time step of each window.
        windows: what the model reads: one row a token, in deviations from the mean.
        padded: time steps after the end, which repeat the last value.
    """

    values: Values
    mean: float
    deviation: float
    starts: Int[ndarray, " window"]
    windows: Float[ndarray, "window step"]
    padded: int


def cut_windows(values: Values, length: int, stride: int) -> Windows:
    """Cut a series into windows of `length` steps that start every `stride` steps.

    The series is brought to mean 0 and deviation 1 first; its last value is repeated `stride` times at the end, so
    that there are floor((L - P) / S) + 2 windows of a series of L steps.

    Raises:
        ValueError: a series shorter than one window, or steps below 1.

    Source: PatchTST, arXiv:2211.14730, section 3.1 (there 336 steps, P = 16, S = 8: 42 tokens).
    """
    if length < 1 or stride < 1:
        raise ValueError(f"length={length} and stride={stride} must be at least 1")
    if len(values) < length:
        raise ValueError(f"{len(values)} values are fewer than one window of {length}; use a shorter window")
    mean, deviation = float(values.mean()), float(values.std()) or 1.0
    padded = np.concatenate((values, np.repeat(values[-1:], stride)))
    rows = np.lib.stride_tricks.sliding_window_view((padded - mean) / deviation, length)[::stride]
    return Windows(values, mean, deviation, stride * np.arange(len(rows)), np.ascontiguousarray(rows), stride)


def window_count(steps: int, length: int, stride: int) -> int:
    """How many windows `cut_windows` makes."""
    return (steps - length) // stride + 2
