"""The next token as it comes about: the whole distribution, what each filter leaves of it, and the draw."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.generation.generate import stream
from tfcore.generation.sampling import Sampling
from tfcore.model import Transformer

FILTERS = ("softmax", "repetition penalty", "temperature", "top-k", "top-p", "min-p")


@dataclass(frozen=True, slots=True)
class NextToken:
    """One step of generation.

    Args:
        before: ids drawn before it, after the given text.
        order: all ids, the most likely first; as the scores are after the repetition penalty, because no later filter
            changes that order.
        probabilities: in this order, after each of FILTERS; one that is off leaves the row before it as it was.
        is_on: which filters are on.
        place: of the token that was drawn, in this order.
        u: the number from 0 to 1 that decided.
    """

    before: tuple[int, ...]
    order: Int[ndarray, " vocab"]
    probabilities: Float[ndarray, "filter vocab"]
    is_on: tuple[bool, ...]
    place: int
    u: float

    @property
    def token(self) -> int:
        """The id that was drawn."""
        return int(self.order[self.place])

    @property
    def unfiltered(self) -> int:
        """The place of the token on which the same u falls without any filter."""
        own = np.argsort(-self.probabilities[0], kind="stable")
        ends = self.probabilities[0][own].astype(float).cumsum()
        return int(own[min(np.searchsorted(ends, self.u * ends[-1], side="right"), len(own) - 1)])

    @property
    def left(self) -> Int[ndarray, " filter"]:
        """How many tokens can still be drawn after each filter."""
        return (self.probabilities > 0).sum(-1)

    @property
    def entropy(self) -> Float[ndarray, " filter"]:
        """Of each distribution, in bits."""
        p = self.probabilities
        logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
        return -(p * logs).sum(-1) + 0.0  # no minus zero


def next_token(model: Transformer, ids: Sequence[int], sampling: Sampling, seed: int, drawn: int) -> NextToken:
    """Token number `drawn` (0 is the first) of the continuation that tfcore.generate gives with this seed.

    Raises:
        ValueError: as tfcore.generate; no room in the context for that many tokens.
    """
    steps = list(stream(model, ids, max_new_tokens=drawn + 1, seed=seed, **asdict(sampling)))
    if len(steps) <= drawn:
        raise ValueError(f"token {drawn} does not fit behind {len(ids)} tokens; give fewer")
    last = steps[-1]
    found = {stage.name: stage.probabilities.numpy() for stage in last.filters}
    rows = [found["softmax"]]
    for name in FILTERS[1:]:
        rows.append(found.get(name, rows[-1]))
    order = np.argsort(-rows[1], kind="stable")
    return NextToken(
        before=tuple(step.token for step in steps[:-1]),
        order=order,
        probabilities=np.stack(rows)[:, order],
        is_on=tuple(name in found for name in FILTERS),
        place=int(np.flatnonzero(order == last.token)[0]),
        u=last.u,
    )
