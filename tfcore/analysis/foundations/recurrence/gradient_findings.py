"""What is said of the gradient that arrives."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.analysis.finding import Finding
from tfcore.measures.quantities import compact, power
from tfcore.training.recurrent.gradients import Arriving
from tfcore.training.recurrent.networks import IN_SENTENCE, Kind
from tfcore.training.recurrent.real_model import RealGradient

AGREED = 1e-12  # relative; what is less is rounding, and differs from machine to machine
FROM = 1  # steps back: the last token itself is left out of rates


@dataclass(frozen=True, slots=True)
class GradientReach(Finding):
    """The norms that arrive at the token farthest back.

    Args:
        distance: steps back.
        norms: of every network, in the order drawn.
    """

    distance: int
    norms: tuple[tuple[Kind, float], ...]

    @property
    def sentence(self) -> str:
        said = [f"{_size(norm)} in {IN_SENTENCE[kind]}" for kind, norm in self.norms]
        return (
            f"Of a gradient of norm 1 at the output, what arrives {self.distance} tokens back has norm "
            f"{', '.join(said[:-1])} and {said[-1]}."
        )


@dataclass(frozen=True, slots=True)
class JacobianProducts(Finding):
    """How the product of Jacobians compares with autograd.

    Args:
        rates: of each recurrent network, the factor per step: the geometric mean from 1 step back to the farthest.
        largest: the largest singular value of the RNN's recurrent weights.
        cell_share: what comes along the LSTM's cell state alone, over all that arrives, at the token farthest back.
        difference: the largest relative one between product and autograd.
    """

    rates: tuple[tuple[Kind, float], ...]
    largest: float
    cell_share: float
    difference: float

    @property
    def sentence(self) -> str:
        rates = ", ".join(f"{rate:.2f} in {IN_SENTENCE[kind]}" for kind, rate in self.rates)
        bound = f"The largest singular value of the RNN's recurrent weights is {self.largest:.2f}: " + (
            "below 1, so that every step must shrink the gradient."
            if self.largest < 1
            else "above 1, so that a gradient may grow, and need not."
        )
        return (
            f"Factor per step: {rates}. {bound} Along the LSTM's cell state alone, through its forget gates, comes "
            f"{_size(self.cell_share)} times what arrives at the token farthest back. The product of Jacobians "
            f"and autograd agree within {power(max(AGREED, self.difference))} of the norm."
        )


def gradient_reach(found: Sequence[Arriving]) -> GradientReach:
    """At the token farthest back."""
    return GradientReach(len(found[0].measured) - 1, tuple((one.kind, float(one.measured[-1])) for one in found))


def jacobian_products(found: Sequence[Arriving]) -> JacobianProducts:
    """Of the recurrent networks among them."""
    recurrent = {one.kind: one for one in found if one.product is not None}
    lstm, rnn = recurrent["lstm"], recurrent["rnn"]
    if lstm.cell is None or rnn.largest is None:
        raise ValueError("the cell state's part and the largest singular value are missing: see arriving()")
    return JacobianProducts(
        tuple((kind, rate(one)) for kind, one in recurrent.items()),
        rnn.largest,
        float(lstm.cell[-1] / lstm.measured[-1]),
        max(_difference(one) for one in recurrent.values()),
    )


def _size(norm: float) -> str:
    return compact(norm) if 0.01 <= norm < 1000 else power(norm)


def rate(one: Arriving) -> float:
    """The factor per step: the geometric mean from FROM steps back to the farthest."""
    steps = len(one.measured) - 1 - FROM
    return float((one.measured[-1] / one.measured[FROM]) ** (1 / steps))


def _difference(one: Arriving) -> float:
    return float(np.abs(one.product / one.measured - 1).max()) if one.product is not None else 0.0


@dataclass(frozen=True, slots=True)
class RealReach(Finding):
    """The norms between the nearest and the farthest token.

    Args:
        name, layers: of the model.
        distance: of the farthest token.
        near, far: medians over the nearer half of the distances from 1 on, and over the farther half.
    """

    name: str
    layers: int
    distance: int
    near: float
    far: float

    @property
    def sentence(self) -> str:
        near, far, half = compact(self.near, 2), compact(self.far, 2), self.distance // 2
        return (
            f"In {self.name}, a trained Transformer of {self.layers} layers, the median norm is {near} up to {half} "
            f"tokens back and {far} from there to {self.distance}."
        )


def real_reach(found: RealGradient) -> RealReach:
    """Medians of both halves."""
    last = len(found.measured) - 1
    near, far = found.measured[1 : last // 2 + 1], found.measured[last // 2 + 1 :]
    return RealReach(found.name, found.layers, last, float(np.median(near)), float(np.median(far)))
