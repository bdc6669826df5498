"""The difference of two models' weight matrices: how large it is, and on how many directions it lies."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.measures.quantisation.matrices import kinds_of, matrices, not_told_apart
from tfcore.views.kept import kept
from tfcore.views.sources import Source, opened, title_of


@dataclass(frozen=True, slots=True)
class MovedWeights:
    """The matrices of two models, one by one.

    Args:
        kinds: of matrices, the columns.
        norms: relative norm of each difference, see relative_norm.
        ranks: its effective rank, see effective_rank; NaN where nothing moved.
        full: the largest rank that a matrix of each kind can have.
    """

    kinds: tuple[str, ...]
    norms: Float[ndarray, "layer kind"]
    ranks: Float[ndarray, "layer kind"]
    full: tuple[int, ...]

    @property
    def furthest(self) -> tuple[int, int]:
        """Layer and column of the matrix that moved most."""
        layer, column = np.unravel_index(int(self.norms.argmax()), self.norms.shape)
        return int(layer), int(column)


def relative_norm(before: Float[Tensor, "row column"], after: Float[Tensor, "row column"]) -> float:
    """|B - A| / |A| of two matrices, in Frobenius norms; 0 where they are equal."""
    return float((after - before).norm() / before.norm().clamp(min=torch.finfo(torch.float32).tiny))


def effective_rank(difference: Float[Tensor, "row column"]) -> float:
    """(sum s²)² / sum s⁴ of the singular values s (participation ratio): k where k of them are equal and the others 0.

    From the Gram matrix G of the shorter side, without the singular values: sum s² = tr G, and sum s⁴ = |G|². NaN for
    a difference of 0.
    """
    short = difference if difference.shape[0] <= difference.shape[1] else difference.T
    gram = short @ short.T
    squares = float(gram.square().sum())
    return float(gram.trace()) ** 2 / squares if squares > 0 else float("nan")


def why_not_by_matrix(first: Source, second: Source) -> str | None:
    """Why the matrices of two models cannot be subtracted, or None."""
    for one in (first, second):
        if (why := not_told_apart(opened(one)[0].config)) is not None:
            return f"The matrices of {title_of(one)} cannot be told apart by layer and kind: {why}"
    shapes = [_shapes(one) for one in (first, second)]
    if shapes[0] == shapes[1]:
        return None
    sizes = [f"{title_of(one)}: {_size(one)}" for one in (first, second)]
    return f"The matrices differ in their shapes ({'; '.join(sizes)}), and only equal shapes can be subtracted."


def _shapes(source: Source) -> list[tuple[int, str, tuple[int, int]]]:
    return [(one.layer, one.kind, one.shape) for one in matrices(opened(source)[0])]


def _size(source: Source) -> str:
    config = opened(source)[0].config
    return f"{config.n_layers} layers of width {config.d_model}, feed-forward layers of {config.ff_size}"


@torch.no_grad()
def _moved(first: Source, second: Source) -> MovedWeights:
    if (why := why_not_by_matrix(first, second)) is not None:
        raise ValueError(why)
    models = [opened(one)[0] for one in (first, second)]
    kinds = kinds_of(models[0].config)
    norms = np.zeros((models[0].config.n_layers, len(kinds)))
    ranks, full = np.full(norms.shape, np.nan), dict.fromkeys(kinds, 0)
    for before, after in zip(matrices(models[0]), matrices(models[1]), strict=True):
        place = before.layer, kinds.index(before.kind)
        full[before.kind] = min(before.shape)
        here, there = before.weight.float(), after.weight.float()
        if torch.equal(here, there):  # at once where it is one model, read in two ways
            continue
        norms[place], ranks[place] = relative_norm(here, there), effective_rank(there - here)
    return MovedWeights(kinds, norms, ranks, tuple(full.values()))


moved = kept(_moved, entries=16)
