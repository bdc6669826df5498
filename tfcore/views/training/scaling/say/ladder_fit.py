"""The words for our own ladder of models."""

from dataclasses import dataclass

import numpy as np

from tfcore.measures.quantities import round_count
from tfcore.measures.scaling_laws import LAWS, Law
from tfcore.views.finding import Finding
from tfcore.views.training.scaling.measure.ladder_fit import LadderFit


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
    """State the predicted and the measured loss of the largest rung."""
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
        """The exponents of web text."""
        return f"Exponents of the refit on web text: {self.web_n:.2f}, {self.web_d:.2f}."

    @property
    def sentence(self) -> str:
        return f"The exponents, {self.n:.2f} for N and {self.d:.2f} for D, are not those of web text."


def ladder_exponents(law: Law) -> LadderExponents:
    """The exponents of this law beside those of the refit."""
    web = LAWS["refit"]
    return LadderExponents(law.alpha, law.beta, web.alpha, web.beta)
