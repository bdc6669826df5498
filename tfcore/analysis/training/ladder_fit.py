"""A ladder of models trained alike beside the law that was fitted to its lower rungs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.analysis.training.scaling_law import Law, fit_law

FEWEST = 3  # sizes that a law can be fitted to


@dataclass(frozen=True, slots=True)
class LadderFit:
    """Every rung with what the law says of it.

    Args:
        law: fitted to the rungs that are not foretold.
        n: parameters without the embeddings.
        d: tokens.
        loss: measured on held-out text, nats a token.
        said: by the law.
        foretold: the law was fitted without this rung.
    """

    law: Law
    n: Float[ndarray, " rung"]
    d: Float[ndarray, " rung"]
    loss: Float[ndarray, " rung"]
    said: Float[ndarray, " rung"]
    foretold: Bool[ndarray, " rung"]

    @property
    def residual(self) -> Float[ndarray, " rung"]:
        """Measured over said, minus 1: above zero where the model came out worse than the law says."""
        return self.loss / self.said - 1

    @property
    def sizes(self) -> list[float]:
        """The different sizes, from small to large."""
        return sorted(set(self.n.tolist()))


def as_written(rows: Sequence[Mapping[str, Any]], law: Law, foretold: Mapping[str, float]) -> LadderFit:
    """The ladder with the law and the predictions that were written down before the last size was trained.

    Args:
        rows: of the recipe's table: name, parameters, tokens, loss.
        law: of its scaling.json.
        foretold: name of a rung -> the loss that was said of it; of the others the law says it.
    """
    n, d, loss = (np.array([float(row[part]) for row in rows]) for part in ("parameters", "tokens", "loss"))
    said = np.array(
        [foretold.get(row["name"], law.loss(float(row["parameters"]), float(row["tokens"]))) for row in rows]
    )
    return LadderFit(law, n, d, loss, said, np.array([row["name"] in foretold for row in rows]))


def refitted(rows: Sequence[Mapping[str, Any]], sizes: int, near: Law | None = None) -> LadderFit:
    """The law fitted again to the smallest sizes alone, all larger ones foretold.

    Args:
        near: where the fit starts from, see fit_law.

    Raises:
        ValueError: fewer sizes than a law can be fitted to.
    """
    if sizes < FEWEST:
        raise ValueError(f"sizes={sizes} are too few to fit a law to; take {FEWEST} or more")
    n, d, loss = (np.array([float(row[part]) for row in rows]) for part in ("parameters", "tokens", "loss"))
    foretold = ~np.isin(n, sorted(set(n.tolist()))[:sizes])
    law = fit_law(*(values[~foretold].tolist() for values in (n, d, loss)), near=near)
    return LadderFit(law, n, d, loss, law.loss(n, d), foretold)
