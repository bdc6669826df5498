"""A law of loss against size and data: L(N, D) = E + A / N^alpha + B / D^beta, fitted to models trained alike."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

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
        """Of a model with n parameters after d tokens, or of many such."""
        return self.floor + self.a / n**self.alpha + self.b / d**self.beta


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
        found, error = _descend(torch.tensor(start, dtype=torch.float64), log_n, log_d, log_l)
        if error < least:
            best, least = found, error
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
