"""Findings on the shares of a logit."""

from dataclasses import dataclass

import numpy as np

from tfcore.measures.interventions import flat_parts
from tfcore.measures.logit_attribution import Contributions
from tfcore.measures.token_text import visible
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inside.stream.measure.parts import (
    LARGEST,
    Promoted,
    instalments,
    largest_instalments,
    largest_place,
    shares_by_part,
)

NAMED = 4  # promoted tokens that a sentence names


@dataclass(frozen=True, slots=True)
class LogitSum(Finding):
    """A logit and the sum of the parts it is made of.

    Args:
        token: the token that the logit belongs to.
        logit: of the model, less what it is measured against.
        total: sum of all parts.
        count: how many parts there are: every head, feed-forward layer, embedding and the biases.
        shares: in the order of computation, all heads of a layer together; the largest, and the sum of all others.
        softcap: under which the model bends the logit afterwards; None where it does not.
    """

    token: str
    logit: float
    total: float
    count: int
    shares: tuple[tuple[str, float], ...]
    softcap: float | None = None

    @property
    def logit_text(self) -> str:
        """The logit with four digits, to be compared with `total_text`."""
        return f"{self.logit:.4f}"

    @property
    def total_text(self) -> str:
        """The sum with four digits."""
        return f"{self.total:.4f}"

    @property
    def error_text(self) -> str:
        """The difference between sum and logit: rounding."""
        return f"{abs(self.total - self.logit):.0e}"

    @property
    def sentence(self) -> str:
        shares = ", ".join(f"{name} {share:+.2f}" for name, share in self.shares)
        after = "" if self.softcap is None else f" The model then bends it under a soft cap of {self.softcap:g}."
        return f"The logit of '{visible(self.token)}' adds up to {self.total:.2f}: {shares}.{after}"


def logit_sum(attributed: Contributions, token: str) -> LogitSum:
    """The logit of `token`, as the sum of its shares."""
    count = len(flat_parts(attributed.parts)) + 1 + (attributed.position != 0) + (attributed.biases != 0)
    shares = tuple(largest_instalments(attributed, LARGEST))
    return LogitSum(token, attributed.logit, attributed.total, count, shares, attributed.softcap)


def largest_instalment(attributed: Contributions) -> Statement:
    """The sublayer with the largest share, and the scale of the final norm."""
    name, share = max(instalments(attributed), key=lambda row: row[1])
    return state(
        "largest instalment",
        "The largest share is that of {name}, {share:+.2f}. The scale of the final norm is held at its true value, "
        "{scale:.3f}.",
        name=name,
        share=share,
        scale=attributed.scale,
    )


def largest_part(attributed: Contributions) -> Statement:
    """The head or feed-forward layer with the largest share in a logit, of so many."""
    shares, names = shares_by_part(attributed)
    layer, part = largest_place(attributed)
    parts = "{layers} × {parts} parts" if not np.isnan(shares).any() else "{parts} parts of {layers} layers"
    return state(
        "largest part",
        f"Shares of {parts}; the largest is {{part}} of layer {{layer}}, {{share:+.2f}} logits.",
        layers=len(shares),
        parts=len(names) if not np.isnan(shares).any() else len(flat_parts(attributed.parts)),
        part=part,
        layer=layer,
        share=float(np.nanmax(shares)),
    )


def promotes(promoted: Promoted) -> Statement:
    """The tokens that a part raises most."""
    first = zip(promoted.tokens[:NAMED], promoted.shares, strict=False)
    return state(
        "promoted",
        "{part} promotes {tokens}.",
        part=promoted.part,
        tokens=", ".join(f"{visible(token)} by {share:.2f}" for token, share in first),
    )
