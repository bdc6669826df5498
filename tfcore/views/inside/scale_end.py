"""Where the colour scale of signed values ends, and the values beyond."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.statistics import colour_end
from tfcore.views.finding import Finding

NAMED = 4  # values beyond the scale that a sentence names


@dataclass(frozen=True, slots=True)
class ScaleEnd(Finding):
    """Where a colour scale ends, and the values beyond.

    Args:
        end: the largest absolute value that has a colour of its own.
        beyond: name and value of what is larger, the largest first.
    """

    end: float
    beyond: tuple[tuple[str, float], ...]

    @property
    def sentence(self) -> str:
        if not self.beyond:
            return f"Colours end at ±{self.end:.2f}, the largest value."
        named = ", ".join(f"{name} {value:+.2f}" for name, value in self.beyond[:NAMED])
        more = f" and {len(self.beyond) - NAMED} more" if len(self.beyond) > NAMED else ""
        return f"Colours end at ±{self.end:.2f}; beyond, with a triangle: {named}{more}."


def scale_end(values: Float[ndarray, "row column"], names: Sequence[Sequence[str]], least: float) -> ScaleEnd:
    """The end of a colour scale around 0; NaN is no value.

    Args:
        names: of the values.
        least: the scale never ends below.
    """
    size = np.abs(np.nan_to_num(values))
    end = max(least, colour_end(values))
    places = sorted(np.argwhere(size > end).tolist(), key=lambda place: -size[tuple(place)])
    return ScaleEnd(end, tuple((names[row][column], float(values[row, column])) for row, column in places))
