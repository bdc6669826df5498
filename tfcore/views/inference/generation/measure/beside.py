"""The next token after two texts, or in two models, which need not have the same vocabulary."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from jaxtyping import Float
from numpy import ndarray


class NextBeside(NamedTuple):
    """Two distributions of the next token.

    Args:
        tokens: the most likely of both, as pieces of text, the most likely first.
        first, second: their probabilities; not a number where a model has no such token.
        shared: the probability that both put on the same tokens: the sum over all of them of the smaller of both.
    """

    tokens: tuple[str, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]
    shared: float


def next_beside(
    first: Float[ndarray, " vocab"],
    second: Float[ndarray, " other"],
    ids: Mapping[str, int],
    others: Mapping[str, int],
    most: int,
) -> NextBeside:
    """The `most` most likely tokens of either distribution, in both; tokens are the same where their texts are.

    Args:
        first, second: probabilities.
        ids, others: text of a token -> its id, of both vocabularies.
    """
    by_id, by_other = ({id_: text for text, id_ in known.items()} for known in (ids, others))
    best = [by_id[i] for i in (-first).argsort(kind="stable")[: 2 * most].tolist() if i in by_id][:most]
    best += [by_other[i] for i in (-second).argsort(kind="stable")[: 2 * most].tolist() if i in by_other][:most]

    def of(text: str) -> tuple[float, float]:
        return (
            float(first[ids[text]]) if text in ids else math.nan,
            float(second[others[text]]) if text in others else math.nan,
        )

    found = {text: of(text) for text in best}
    listed = sorted(found, key=lambda text: -max(p for p in found[text] if p == p))
    shared = sum(min(float(first[i]), float(second[others[text]])) for text, i in ids.items() if text in others)
    return NextBeside(
        tuple(listed), tuple(found[one][0] for one in listed), tuple(found[one][1] for one in listed), shared
    )
