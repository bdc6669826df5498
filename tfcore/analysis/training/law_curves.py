"""A law as curves: loss against one of size, data and compute while something else is held."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.training.compute_budget import PER_TOKEN, optimum
from tfcore.measures.quantities import power, round_count
from tfcore.measures.scaling_laws import KAPLAN_COMPUTE, LAWS, KaplanLaw, Law

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


@dataclass(frozen=True, slots=True)
class LossParts(Finding):
    """What the loss of one model is made of, in nats a token.

    Args:
        n: parameters.
        d: tokens.
        floor: the irreducible loss E; 0 where the law has none.
        size: by how much unlimited parameters would lower the loss, the tokens the same.
        data: by how much unlimited tokens would lower it, the parameters the same.
        loss: all of it. The three parts add up to it where the law is a sum.
    """

    n: float
    d: float
    floor: float
    size: float
    data: float
    loss: float

    @property
    def numbers(self) -> tuple[str, str, str, str]:
        """Loss, irreducible loss, and what is due to finite parameters and to finite tokens."""
        floor = f"{self.floor:.2f}" if self.floor else "none"
        return f"{self.loss:.3f}", floor, f"{self.size:.3f}", f"{self.data:.3f}"

    @property
    def sentence(self) -> str:
        floor = f"E {self.floor:.2f}" if self.floor else "no E"
        return (
            f"{round_count(self.n)} parameters on {round_count(self.d)} tokens "
            f"({power(PER_TOKEN * self.n * self.d)} operations) end at {self.loss:.3f} nats per token. "
            f"What it is made of: {floor}, size {self.size:.3f}, data {self.data:.3f}."
        )


def loss_parts(law: Law | KaplanLaw, n: float, d: float, against: Against = "size") -> LossParts:
    """Take the loss of one model apart by letting parameters, then tokens, go to infinity.

    Against compute, the loss of arXiv:2001.08361 is that of the curve that law_curves draws: see operations.
    """
    endless, loss = float("inf"), law.loss(n, d)
    floor = law.floor if isinstance(law, Law) else 0.0
    size, data = loss - law.loss(endless, d), loss - law.loss(n, endless)
    if isinstance(law, KaplanLaw) and against == "compute":
        loss = KAPLAN_COMPUTE.loss(operations(law, n, d))
    return LossParts(n, d, floor, size, data, loss)


def operations(law: Law | KaplanLaw, n: float, d: float) -> float:
    """Training operations of a model as the law counts them: 6 N D; half of that where equation 1.3 of
    arXiv:2001.08361 counts C_min, since a training at the critical batch size takes twice C_min (its section 5.1).
    """
    flops = PER_TOKEN * n * d
    return flops / 2 if isinstance(law, KaplanLaw) else flops


@dataclass(frozen=True, slots=True)
class DueToSizeAndData(Finding):
    """Whether parameters or tokens limit the loss of GPT-3 more, by the refitted law, and that of Chinchilla.

    Args:
        gpt3, chinchilla: their losses, taken apart.
    """

    gpt3: LossParts
    chinchilla: LossParts

    @property
    def limit(self) -> str:
        """Of GPT-3: the part that is larger."""
        return "Tokens" if self.gpt3.data > self.gpt3.size else "Parameters"

    @property
    def sentence(self) -> str:
        gpt3, other = self.gpt3, self.chinchilla
        return (
            f"{self.limit}: by the refitted law, unlimited parameters would lower its loss by {gpt3.size:.3f} nats, "
            f"unlimited tokens by {gpt3.data:.3f}. For Chinchilla, {round_count(other.n)} on {round_count(other.d)}, "
            f"it would be {other.size:.3f} and {other.data:.3f}."
        )


def due_to_size_and_data() -> DueToSizeAndData:
    """GPT-3, of 175 B parameters on 300 B tokens, and Chinchilla, of 70 B on 1.4 T."""
    law = LAWS["refit"]
    return DueToSizeAndData(loss_parts(law, 175e9, 300e9), loss_parts(law, 70e9, 1.4e12))


@dataclass(frozen=True, slots=True)
class FrontierExponent(Finding):
    """The slope of the compute-optimal frontier by the refitted law, on logarithmic axes.

    Args:
        exponent: of the budget, its sign turned.
    """

    exponent: float

    @property
    def sentence(self) -> str:
        return (
            "Without E that line is straight: a power law with exponent αβ / (α + β), "
            f"{self.exponent:.2f} for the refit."
        )


def frontier_exponent() -> FrontierExponent:
    """Of the refitted law."""
    return FrontierExponent(LAWS["refit"].frontier_exponent)
