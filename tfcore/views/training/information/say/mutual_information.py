"""The words for what two variables share."""

from dataclasses import dataclass

from jaxtyping import Int
from numpy import ndarray

from tfcore.views.finding import Finding, Statement, state
from tfcore.views.training.information.measure.mutual_information import JointInformation
from tfcore.views.training.information.say.entropy import bits_text


@dataclass(frozen=True, slots=True)
class SharedInformation(Finding):
    """The entropies of two variables and their mutual information, in bits.

    Args:
        shared: I(X; Y).
        h_x, h_y, h_xy: entropies of X, of Y, and of both.
        h_x_given_y: of X when Y is known.
    """

    shared: float
    h_x: float
    h_y: float
    h_xy: float
    h_x_given_y: float

    @property
    def metrics(self) -> dict[str, str]:
        """Name -> value of each number."""
        return {
            "I(X; Y)": bits_text(self.shared),
            "H(X)": bits_text(self.h_x),
            "H(Y)": bits_text(self.h_y),
            "H(X, Y)": bits_text(self.h_xy),
            "H(X | Y)": bits_text(self.h_x_given_y),
        }

    @property
    def sentence(self) -> str:
        return (
            f"H(X) = {bits_text(self.h_x)} and H(Y) = {bits_text(self.h_y)} bits overlap by I(X; Y) = "
            f"{bits_text(self.shared)} bits, so that H(X, Y) is {bits_text(self.h_xy)} and not "
            f"{bits_text(self.h_x + self.h_y)}."
        )


def shared_information(result: JointInformation) -> SharedInformation:
    """State the information that X and Y of a joint table share."""
    return SharedInformation(result.by_divergence, result.h_x, result.h_y, result.h_xy, result.h_x_given_y)


def three_ways(result: JointInformation) -> Statement:
    """The mutual information of a joint table by each definition, in bits; they differ by rounding alone."""
    three = (result.by_entropies, result.by_condition, result.by_divergence)
    return state(
        "three ways",
        "H(X) + H(Y) − H(X, Y) = {by_entropies:.6f}; H(X) − H(X | Y) = {by_condition:.6f}; "
        "KL(joint‖product) = {by_divergence:.6f} bits. Largest difference: {spread:.1g}.",
        by_entropies=result.by_entropies,
        by_condition=result.by_condition,
        by_divergence=result.by_divergence,
        spread=max(three) - min(three),
    )


def cell_sum(result: JointInformation) -> Statement:
    """State the sum of the terms of all cells of a joint table, in bits."""
    words = "All cells sum to the mutual information, {bits} bits."
    return state("cell sum", words, bits=bits_text(float(result.terms.sum())))


def pair_count(counts: Int[ndarray, "4 4"], apart: int) -> Statement:
    """How many pairs of characters were counted, Y so many characters after X."""
    return state(
        "pairs",
        "{pairs:whole} pairs of characters, counted: X and, {apart} later, Y.",
        pairs=int(counts.sum()),
        apart=apart,
    )
