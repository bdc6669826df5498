"""Scaling laws of loss against parameters and tokens: their form, the fit, and published constants.

N are parameters, D tokens, C = 6 N D operations of training. Losses are in nats per token of each paper's own text and
tokenizer: the shapes of two papers' laws can be compared, their losses cannot.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor

Number = TypeVar("Number", float, ndarray)
STEPS = 500  # of L-BFGS from each start, at most
HUBER = 1e-3  # where the loss of the fit turns from square to linear (arXiv:2203.15556, section D.2)


@dataclass(frozen=True, slots=True)
class Law:
    """L(N, D) = floor + a / N^alpha + b / D^beta, in nats a token (arXiv:2203.15556, equation 2)."""

    floor: float
    a: float
    alpha: float
    b: float
    beta: float

    def loss(self, n: Number, d: Number) -> Number:
        """The loss of a model with n parameters after d tokens, or of many such."""
        return self.floor + self.a / n**self.alpha + self.b / d**self.beta

    @property
    def size_exponent(self) -> float:
        """The exponent of the compute-optimal parameters in the budget (arXiv:2203.15556, equation 4)."""
        return self.beta / (self.alpha + self.beta)

    @property
    def data_exponent(self) -> float:
        """The exponent of the compute-optimal tokens in the budget."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def frontier_exponent(self) -> float:
        """The exponent of the least loss above the floor in the budget, its sign turned."""
        return self.alpha * self.beta / (self.alpha + self.beta)

    @property
    def latex(self) -> str:
        """The equation with its constants, two digits behind the point for exponents and floor."""
        return (
            rf"L(N, D) = {self.floor:.2f} + \frac{{{_in_latex(self.a)}}}{{N^{{{self.alpha:.2f}}}}} + "
            rf"\frac{{{_in_latex(self.b)}}}{{D^{{{self.beta:.2f}}}}}"
        )


def _in_latex(value: float) -> str:
    """12.3, 9,951 or 1.23 · 10⁷, as LaTeX."""
    if 1e-2 <= value < 1e5:
        return f"{value:,.0f}".replace(",", "{,}") if value >= 999.5 else f"{value:.3g}"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"


def fit_law(n: Sequence[float], d: Sequence[float], loss: Sequence[float], *, near: Law | None = None) -> Law:
    """The law with the least Huber error of log L, by L-BFGS from several starts (arXiv:2203.15556, equation 3).

    The three terms are added as logarithms, so none of them can become negative.

    Args:
        n, d, loss: parameters, tokens and nats a token of each model.
        near: start from this law alone, which takes a tenth of the time; for data that hardly differ from its own.
    """
    log_n, log_d, log_l = (torch.tensor(np.log(values), dtype=torch.float64) for values in (n, d, loss))
    best, least = torch.zeros(5, dtype=torch.float64), float("inf")
    for start in _starts(float(log_n.mean()), float(log_d.mean()), near):
        fitted, error = _descend(torch.tensor(start, dtype=torch.float64), log_n, log_d, log_l)
        if error < least:
            best, least = fitted, error
    log_e, log_a, alpha, log_b, beta = best.tolist()
    floor, a, b = (float(np.exp(value)) for value in (log_e, log_a, log_b))
    return Law(floor, a, alpha, b, beta)


def _starts(log_n: float, log_d: float, near: Law | None) -> list[list[float]]:
    """(log E, log A, alpha, log B, beta) to descend from."""
    if near is not None:
        return [[float(np.log(near.floor)), float(np.log(near.a)), near.alpha, float(np.log(near.b)), near.beta]]
    return [
        [log_e, float(np.log(share)) + exponent * log_n, exponent, float(np.log(share)) + exponent * log_d, exponent]
        for log_e, exponent, share in itertools.product((-0.5, 0.5), (0.3, 0.6), (0.2, 1.0))
    ]


def predicted(law: Tensor, log_n: Tensor, log_d: Tensor) -> Tensor:
    """log L of (log E, log A, alpha, log B, beta)."""
    log_e, log_a, alpha, log_b, beta = law
    return torch.logsumexp(torch.stack([log_e.expand_as(log_n), log_a - alpha * log_n, log_b - beta * log_d]), 0)


def _descend(law: Tensor, log_n: Tensor, log_d: Tensor, log_l: Tensor) -> tuple[Tensor, float]:
    law = law.clone().requires_grad_(True)
    optimizer = torch.optim.LBFGS(
        [law], max_iter=STEPS, tolerance_grad=1e-12, tolerance_change=1e-14, line_search_fn="strong_wolfe"
    )

    def error() -> Tensor:
        optimizer.zero_grad()
        value = torch.nn.functional.huber_loss(predicted(law, log_n, log_d), log_l, delta=HUBER, reduction="sum")
        value.backward()
        return value

    with torch.enable_grad():
        optimizer.step(error)
    with torch.no_grad():
        value = torch.nn.functional.huber_loss(predicted(law, log_n, log_d), log_l, delta=HUBER, reduction="sum")
    return law.detach(), float(value) if torch.isfinite(value) else float("inf")


PF_DAY = 1e15 * 24 * 3600  # operations: the unit of compute of arXiv:2001.08361
LawName = Literal["refit", "printed", "unrounded"]
AnyLawName = LawName | Literal["kaplan"]


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """L(x) = (scale / x)^exponent, where nothing but x is short (arXiv:2001.08361, equations 1.1 to 1.3)."""

    scale: float
    exponent: float

    def loss(self, x: Number) -> Number:
        """The loss at x parameters, tokens or operations."""
        return (self.scale / x) ** self.exponent


@dataclass(frozen=True, slots=True)
class KaplanLaw:
    """L(N, D) = ((n_c / N)^(alpha_n / alpha_d) + d_c / D)^alpha_d (arXiv:2001.08361, equation 1.5).

    N leaves out the embeddings; D is the size of a data set on which training stops before it overfits.
    """

    n_c: float
    alpha_n: float
    d_c: float
    alpha_d: float

    def loss(self, n: Number, d: Number) -> Number:
        """The loss of a model with n parameters on a data set of d tokens, or of many such."""
        return ((self.n_c / n) ** (self.alpha_n / self.alpha_d) + self.d_c / d) ** self.alpha_d


@dataclass(frozen=True, slots=True)
class Split:
    """A budget split by a power law: N = n (C / flops)^exponent, and D = C / 6N.

    Args:
        n: parameters at the budget `flops`.
        exponent: of the parameters; 1 - exponent is that of the tokens.
    """

    n: float
    flops: float
    exponent: float

    def size(self, flops: Number) -> Number:
        """Parameters for a budget of so many operations, or for many such."""
        return self.n * (flops / self.flops) ** self.exponent


# arXiv:2203.15556, equation 10 as printed (approach 3); with more digits, from the paper's TeX source as
# arXiv:2404.10102 gives them; and the fit of arXiv:2404.10102 to the points read off the paper's figure 4.
LAWS: dict[LawName, Law] = {
    "refit": Law(floor=1.8172, a=482.01, alpha=0.3478, b=2085.43, beta=0.3658),
    "printed": Law(floor=1.69, a=406.4, alpha=0.34, b=410.7, beta=0.28),
    "unrounded": Law(floor=1.6934, a=406.4, alpha=0.3392, b=410.7, beta=0.2849),
}
# arXiv:2001.08361: table 2 for both together, equations 1.1, 1.2 and 1.3 for each alone.
KAPLAN = KaplanLaw(n_c=6.4e13, alpha_n=0.076, d_c=1.8e13, alpha_d=0.103)
KAPLAN_COMPUTE = PowerLaw(3.1e8 * PF_DAY, 0.050)
# Table 6: N = 1.3e9 C_min^0.73 in PF-days. A training at the critical batch size takes C = 2 C_min (section 5.1).
KAPLAN_SPLIT = Split(1.3e9, 2 * PF_DAY, 0.73)
# arXiv:2203.15556: exponents of table 2, each through the row for 67 billion parameters of table 3 or A3.
APPROACH_1 = Split(67e9, 5.76e23, 0.50)
APPROACH_2 = Split(67e9, 6.88e23, 0.49)


def named_law(name: AnyLawName) -> Law | KaplanLaw:
    """The law of this name: one of LAWS, or KAPLAN."""
    return KAPLAN if name == "kaplan" else LAWS[name]
