"""Shares of a logit, put together by sublayer and by part, see tfcore.measures.logit_attribution."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.answers import answers_of
from tfcore.measures.interventions import Part, columns_of
from tfcore.measures.logit_attribution import (
    Against,
    Contributions,
    Parts,
    contributions,
    parts_at,
    promoted_by,
    written,
)
from tfcore.model import Output, Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inside.stream.measure.text import read_of
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened

OTHERS = "all others"
FORWARD = "feed-forward"
MIXER = "mixer"
LARGEST = 12  # parts that a sum names
UP = 8  # tokens that a part raises most
DOWN = 3  # and lowers most


def instalments(attributed: Contributions) -> list[tuple[str, float]]:
    """The shares in the order of computation, all heads of a layer together, without parts that the model lacks. A
    mixer is what a layer has in the place of attention or beside it."""
    rows = [("embedding", attributed.embedding)]
    rows += [("positions", attributed.position)] if attributed.position else []
    for layer, heads in enumerate(attributed.heads):
        if attributed.attends[layer]:
            rows.append((f"attention {layer}", float(heads.sum())))
        elif heads.any():
            rows.append((f"{MIXER} {layer}", float(heads.sum())))
        if mixer := float(attributed.mixers[layer]):
            rows.append((f"{MIXER} {layer}", mixer))
        if forward := float(attributed.feedforward[layer]):
            rows.append((f"{FORWARD} {layer}", forward))
    return rows + ([("biases", attributed.biases)] if attributed.biases else [])


def largest_instalments(attributed: Contributions, most: int) -> list[tuple[str, float]]:
    """The `most` largest by size, in the order of computation, and the sum of all others behind them."""
    every = instalments(attributed)
    if len(every) <= most + 1:
        return every
    kept = sorted(sorted(range(len(every)), key=lambda i: -abs(every[i][1]))[:most])
    rest = sum(share for i, (_, share) in enumerate(every) if i not in kept)
    return [*(every[i] for i in kept), (f"{OTHERS} ({len(every) - most})", rest)]


KINDS = ("embedding", "positions", "attention", "mixer", "feed-forward", "biases")


def instalments_beside(
    first: Contributions, second: Contributions, most: int, by_kind: bool
) -> list[tuple[str, float, float]]:
    """The shares of the same parts in two logits.

    Args:
        most: parts at most, those with the largest share in either, in the order of computation.
        by_kind: all parts of a kind in one, as the parts of two models do not stand for each other.
    """
    both = [dict(instalments(one)) for one in (first, second)]
    if by_kind:
        both = [
            {kind: float(sum(s for name, s in one.items() if name.startswith(kind))) for kind in KINDS} for one in both
        ]
    names = [name for name in both[0] if both[0][name] or both[1].get(name)]
    largest = sorted(names, key=lambda name: -max(abs(one.get(name, 0.0)) for one in both))[:most]
    return [(name, both[0][name], both[1].get(name, 0.0)) for name in names if name in largest]


def shares_by_part(attributed: Contributions) -> tuple[Float[ndarray, "layer part"], list[str]]:
    """Shares of all parts in the columns of parts_of, NaN where a layer lacks the part; names of the columns."""
    shares = [[np.nan if part is None else attributed.share(part) for part in layer] for layer in attributed.parts]
    named = {"mix": MIXER, "FF": FORWARD}
    return np.array(shares), [named.get(name, f"head {name}") for name in columns_of(attributed.parts)]


def largest_place(attributed: Contributions) -> tuple[int, str]:
    """Layer and name of the part with the largest share."""
    shares, names = shares_by_part(attributed)
    layer, column = np.unravel_index(np.nanargmax(shares), shares.shape)
    return int(layer), names[column]


class Promoted(NamedTuple):
    """The tokens whose logits one part raises most and lowers most, in this order.

    Args:
        part: as in "head 0 of layer 3".
        ids, tokens: the tokens.
        shares: in their logits, less the mean over the vocabulary.
    """

    part: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    shares: tuple[float, ...]


def most_promoted(model: Transformer, tokenizer: Tokenizer, parts: Parts, part: Part, up: int, down: int) -> Promoted:
    """The first `up` and the last `down` tokens, or classes, by the share of one part; see `promoted_by`."""
    lift = promoted_by(model, parts, part)
    order = (-lift).argsort(kind="stable")
    ids = order.tolist() if len(order) <= up + down else [*order[:up].tolist(), *order[-down:].tolist()]
    named = f"head {part.head}" if part.is_head else {"mix": MIXER, "ff": FORWARD}[str(part.head)]
    title = f"{named} of layer {part.layer}"
    return Promoted(title, tuple(ids), tuple(answers_of(model, tokenizer).tokens(ids)), tuple(lift[ids].tolist()))


def _written(reading: Reading) -> Output:
    return written(opened(reading.model)[0], read_of(reading).ids)


def _parts(reading: Reading, position: int) -> Parts:
    return parts_at(opened(reading.model)[0], written_of(reading), position)


def _contributions(reading: Reading, position: int, token: int, against: Against) -> Contributions:
    return contributions(opened(reading.model)[0], parts_of(reading, position), token, against)


def _promoted(reading: Reading, position: int, part: Part) -> Promoted:
    model, tokenizer = opened(reading.model)
    return most_promoted(model, tokenizer, parts_of(reading, position), part, UP, DOWN)


written_of = kept(_written, entries=2)  # at all positions: 43 MB of 128 tokens of smollm2
parts_of = kept(_parts, entries=32)
contributions_of = kept(_contributions, entries=256)
promoted_of = kept(_promoted, entries=256)
