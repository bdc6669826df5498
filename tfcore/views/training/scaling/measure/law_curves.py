"""A law as curves: loss against one of size, data and compute while something else is held."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.scaling_laws import KAPLAN_COMPUTE, KaplanLaw, Law
from tfcore.views.training.scaling.measure.compute_budget import PER_TOKEN, optimum

Against = Literal["size", "data", "compute"]
POINTS = 81
# What is drawn: from 10^first to 10^last, and what is held on each curve.
SPANS: dict[Against, tuple[float, float]] = {"size": (6, 13), "data": (8, 14), "compute": (16, 28)}
HELD: dict[Against, tuple[float, ...]] = {
    "size": (1e9, 1e10, 1e11, 1e12, 1e13, float("inf")),
    "data": (1e7, 1e8, 1e9, 1e10, 1e11, float("inf")),
    "compute": (1e7, 1e8, 1e9, 1e10, 1e11, 1e12),
}


@dataclass(frozen=True, slots=True)
class LawCurves:
    """Loss against one quantity.

    Args:
        against: which: parameters, tokens or operations.
        x: its values.
        held: on each curve: tokens (against size) or parameters; infinite where nothing is short.
        loss: nats a token.
        best: of every budget the least loss of any size, against compute; empty otherwise.
        floor: that no size and no data get below; 0 where the law has none.
    """

    against: Against
    x: Float[ndarray, " x"]
    held: tuple[float, ...]
    loss: Float[ndarray, "held x"]
    best: Float[ndarray, " best"]
    floor: float


def law_curves(law: Law | KaplanLaw, against: Against) -> LawCurves:
    """Draw a law. Against compute, the law of arXiv:2001.08361 is its equation 1.3, for the best size of each budget:
    its other equation counts the tokens of a data set, not those of a training.
    """
    x = np.logspace(*SPANS[against], POINTS)
    floor = law.floor if isinstance(law, Law) else 0.0
    held, best = HELD[against], np.empty(0)
    if against == "size":
        loss = [law.loss(x, np.full_like(x, d)) for d in held]
    elif against == "data":
        loss = [law.loss(np.full_like(x, n), x) for n in held]
    elif isinstance(law, Law):
        loss = [law.loss(np.full_like(x, n), x / (PER_TOKEN * n)) for n in held]
        best = np.array([optimum(law, float(flops)).loss for flops in x])
    else:
        held, loss, best = (), [], KAPLAN_COMPUTE.loss(x)
    return LawCurves(against, x, held, np.array(loss).reshape(len(held), len(x)), best, floor)


def operations(law: Law | KaplanLaw, n: float, d: float) -> float:
    """Training operations of a model as the law counts them: 6 N D; half of that where equation 1.3 of
    arXiv:2001.08361 counts C_min, since a training at the critical batch size takes twice C_min (its section 5.1).
    """
    flops = PER_TOKEN * n * d
    return flops / 2 if isinstance(law, KaplanLaw) else flops
