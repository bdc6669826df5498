"""Our own ladder of models: the law fitted to the small ones, what it predicts of the larger, and how far it is off."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.measures.scaling_laws import Law, fit_law
from tfcore.training import ladder

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


def fitted(sizes: int | None) -> LadderFit:
    """The law fitted to the smallest sizes of our ladder; None is the law as it was written down.

    One row for each model that `python -m tfcore.training ladder-scaling` trained; the law beside them was written down
    before the largest was.
    """
    rows = ladder.read_table(ladder.SHIPPED / "scaling.csv")
    written = json.loads((ladder.SHIPPED / "scaling.json").read_text("utf-8"))
    law = Law(**written["law"])
    return as_written(rows, law, written["predicted"]) if sizes is None else refitted(rows, sizes, near=law)
