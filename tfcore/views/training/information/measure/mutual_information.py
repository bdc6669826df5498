"""Mutual information of a joint distribution by three definitions; in bits."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.measures.information import check_probabilities, divergence_terms, entropy

KINDS = ("vowel", "consonant", "space", "other")
VOWELS = frozenset("aeiou")
CONSONANTS = frozenset("bcdfghjklmnpqrstvwxyz")


@dataclass(frozen=True, slots=True)
class JointInformation:
    """A joint distribution of X (rows) and Y (columns), in bits.

    Args:
        table: P(x, y).
        product: P(x) P(y), what it would be were they independent.
        h_x, h_y, h_xy: entropies.
        h_x_given_y, h_y_given_x: conditional entropies, as means over the rows or columns.
        by_entropies: I = H(X) + H(Y) - H(X, Y).
        by_condition: I = H(X) - H(X | Y).
        by_divergence: I = KL(joint || product).
        terms: what each cell adds to the last.
    """

    table: Float[ndarray, "x y"]
    product: Float[ndarray, "x y"]
    h_x: float
    h_y: float
    h_xy: float
    h_x_given_y: float
    h_y_given_x: float
    by_entropies: float
    by_condition: float
    by_divergence: float
    terms: Float[ndarray, "x y"]


def joint_information(table: Float[ndarray, "x y"]) -> JointInformation:
    """Mutual information of a joint table, each way from its own definition (Cover and Thomas, chapter 2).

    Raises:
        ValueError: a negative probability, or a sum that is not 1.
    """
    check_probabilities("the table", table)
    x, y = table.sum(1), table.sum(0)
    h_x, h_y, h_xy = entropy(x), entropy(y), entropy(table)
    h_x_given_y, h_y_given_x = conditional_entropy(table), conditional_entropy(table.T)
    terms = divergence_terms(table, np.outer(x, y))
    return JointInformation(
        table,
        np.outer(x, y),
        h_x,
        h_y,
        h_xy,
        h_x_given_y,
        h_y_given_x,
        h_x + h_y - h_xy,
        h_x - h_x_given_y,
        float(terms.sum()),
        terms,
    )


def conditional_entropy(table: Float[ndarray, "x y"]) -> float:
    """H(X | Y) = sum over y of P(y) H(X | Y = y): entropy of the row when the column is known."""
    weights = table.sum(0)
    return float(
        sum(weight * entropy(column / weight) for weight, column in zip(weights, table.T, strict=True) if weight)
    )


def kind_of(character: str) -> int:
    """Index in KINDS of a character."""
    small = character.lower()
    if small in VOWELS or small in CONSONANTS:
        return 0 if small in VOWELS else 1
    return 2 if character.isspace() else 3


def neighbours(text: str, apart: int) -> Int[ndarray, "4 4"]:
    """How often a character of one kind (row) has one of another kind (column) `apart` characters after it."""
    counts = np.zeros((len(KINDS), len(KINDS)), dtype=np.int64)
    kinds = [kind_of(character) for character in text]
    for first, second in zip(kinds, kinds[apart:], strict=False):
        counts[first, second] += 1
    return counts
