"""Our own ladder of models: the law fitted to the small ones, what it predicts of the larger, and how far it is off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.measures.quantities import round_count
from tfcore.measures.scaling_laws import LAWS, Law, fit_law

FEWEST = 3  # sizes that a law can be fitted to


@dataclass(frozen=True, slots=True)
class LadderFit:
    """Every rung of our ladder of models with what a law says of it.

    Args:
        law: fitted to the rungs that were not predicted.
        n: parameters without the embeddings.
        d: tokens.
        loss: measured on held-out text, nats a token.
        law_loss: the loss that the law says, nats a token.
        predicted: the law was fitted without this rung.
    """

    law: Law
    n: Float[ndarray, " rung"]
    d: Float[ndarray, " rung"]
    loss: Float[ndarray, " rung"]
    law_loss: Float[ndarray, " rung"]
    predicted: Bool[ndarray, " rung"]

    @property
    def residual(self) -> Float[ndarray, " rung"]:
        """Measured loss over the law's, minus 1: above zero where the model came out worse than the law says."""
        return self.loss / self.law_loss - 1

    @property
    def sizes(self) -> list[float]:
        """The different sizes, from small to large."""
        return sorted(set(self.n.tolist()))


def as_written(rows: Sequence[Mapping[str, Any]], law: Law, predicted: Mapping[str, float]) -> LadderFit:
    """The ladder with the law and the predictions that were written down before the last size was trained.

    Args:
        rows: of the recipe's table: name, parameters, tokens, loss.
        law: of its scaling.json.
        predicted: name of a rung -> its predicted loss; for the other rungs the law is evaluated.
    """
    n, d, loss = _columns(rows)
    law_loss = np.array(
        [predicted.get(row["name"], law.loss(float(row["parameters"]), float(row["tokens"]))) for row in rows]
    )
    return LadderFit(law, n, d, loss, law_loss, np.array([row["name"] in predicted for row in rows]))


def refitted(rows: Sequence[Mapping[str, Any]], sizes: int, near: Law | None = None) -> LadderFit:
    """The law fitted again to the smallest sizes alone, all larger ones predicted.

    Args:
        near: where the fit starts from, see fit_law.

    Raises:
        ValueError: fewer sizes than a law can be fitted to.
    """
    if sizes < FEWEST:
        raise ValueError(f"sizes={sizes} are too few to fit a law to; take {FEWEST} or more")
    n, d, loss = _columns(rows)
    predicted = ~np.isin(n, sorted(set(n.tolist()))[:sizes])
    law = fit_law(*(values[~predicted].tolist() for values in (n, d, loss)), near=near)
    return LadderFit(law, n, d, loss, law.loss(n, d), predicted)


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[Float[ndarray, " rung"]]:
    """Parameters, tokens and losses."""
    return [np.array([float(row[name]) for row in rows]) for name in ("parameters", "tokens", "loss")]


@dataclass(frozen=True, slots=True)
class LargestRung(Finding):
    """The rung with the most parameters, and of these with the most tokens.

    Args:
        n: parameters without the embeddings.
        d: tokens.
        predicted, measured: loss in nats a token.
    """

    n: float
    d: float
    predicted: float
    measured: float

    @property
    def numbers(self) -> tuple[str, str, str]:
        """Predicted and measured loss, and how far the second is from the first, in per cent."""
        error = f"{100 * (self.measured / self.predicted - 1):+.2f} %"
        return f"{self.predicted:.4f}", f"{self.measured:.4f}", error

    @property
    def sentence(self) -> str:
        return (
            f"The largest, {round_count(self.n)} parameters on {round_count(self.d)} tokens, was predicted at "
            f"{self.predicted:.4f} nats and came out at {self.measured:.4f}."
        )


def largest_rung(fit: LadderFit) -> LargestRung:
    """What was predicted of the largest rung, and what was measured."""
    i = np.lexsort((fit.d, fit.n))[-1]
    return LargestRung(float(fit.n[i]), float(fit.d[i]), float(fit.law_loss[i]), float(fit.loss[i]))


@dataclass(frozen=True, slots=True)
class LadderErrors(Finding):
    """How far the measured losses are from the law.

    Args:
        sizes: how many different numbers of parameters.
        fitted, predicted: how many rungs.
        fitted_within, predicted_within: the largest distance from the law among them, as a share.
    """

    sizes: int
    fitted: int
    predicted: int
    fitted_within: float
    predicted_within: float

    @property
    def counts(self) -> str:
        """How many models there are, and how many of them the law was fitted to."""
        models = self.fitted + self.predicted
        return f"{models} models, {self.sizes} sizes; fitted to {self.fitted}, predicted {self.predicted}."

    @property
    def numbers(self) -> tuple[str, str]:
        """How far predictions are off at most, and how many they are."""
        return f"{self.predicted_within:.2%}", f"{self.predicted} of {self.fitted + self.predicted} models"

    @property
    def sentence(self) -> str:
        return (
            f"Residuals: fitted rungs lie within {self.fitted_within:.2%} of the law, predicted ones within "
            f"{self.predicted_within:.2%}."
        )


def ladder_errors(fit: LadderFit) -> LadderErrors:
    """The largest residuals, of fitted and of predicted rungs."""
    distance, predicted = np.abs(fit.residual), fit.predicted
    return LadderErrors(
        sizes=len(fit.sizes),
        fitted=int((~predicted).sum()),
        predicted=int(predicted.sum()),
        fitted_within=float(distance[~predicted].max()),
        predicted_within=float(distance[predicted].max()),
    )


@dataclass(frozen=True, slots=True)
class LadderExponents(Finding):
    """Exponents of a ladder's law beside those of the refit on web text.

    Args:
        n, d: of parameters and tokens on our ladder.
        web_n, web_d: of parameters and tokens on web text.
    """

    n: float
    d: float
    web_n: float
    web_d: float

    @property
    def web(self) -> str:
        """Those of web text."""
        return f"Exponents of the refit on web text: {self.web_n:.2f}, {self.web_d:.2f}."

    @property
    def sentence(self) -> str:
        return f"The exponents, {self.n:.2f} for N and {self.d:.2f} for D, are not those of web text."


def ladder_exponents(law: Law) -> LadderExponents:
    """The exponents of this law beside those of the refit."""
    web = LAWS["refit"]
    return LadderExponents(law.alpha, law.beta, web.alpha, web.beta)
