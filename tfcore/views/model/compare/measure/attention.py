"""Attention maps of two models head by head: how much weight lies elsewhere, and whether a head's kind changes."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.heads.kinds import HeadScores, Place, score_heads
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.heads.sink import score_without, sink_tokens, without_keys
from tfcore.views.kept import kept
from tfcore.views.model.compare.measure.pair import both_texts, read_text, why_not_by_token
from tfcore.views.sources import Reading, Source, opened, title_of


@dataclass(frozen=True, slots=True)
class ReadMaps:
    """The maps of a model on a text.

    Args:
        patterns: among the tokens of the text, each row divided by its sum.
        heads: kinds of the heads on it.
    """

    patterns: Float[ndarray, "layer head query key"]
    heads: HeadScores


@dataclass(frozen=True, slots=True)
class ComparedHeads:
    """All heads of two models.

    Args:
        distance: mean total variation distance of each head's two maps, see total_variation.
        before, after: kinds of the heads in the first model and in the second.
    """

    distance: Float[ndarray, "layer head"]
    before: HeadScores
    after: HeadScores

    @property
    def furthest(self) -> Place:
        """The head whose maps differ most."""
        layer, head = np.unravel_index(int(self.distance.argmax()), self.distance.shape)
        return int(layer), int(head)

    @property
    def changed(self) -> ndarray:
        """Whether each head is of another kind."""
        return np.asarray(self.before.kind != self.after.kind)


def total_variation(
    first: Float[ndarray, "*head query key"], second: Float[ndarray, "*head query key"]
) -> Float[ndarray, "*head"]:
    """Half of sum |a - b| over the keys, as a mean over the queries: the share of a query's weight that lies
    elsewhere, from 0 for equal maps to 1."""
    return np.abs(first.astype(np.float32) - second).sum(-1).mean(-1) / 2


def why_not_by_head(first: Source, second: Source) -> str | None:
    """Why the heads of two models are no pairs, or None."""
    configs = [opened(one)[0].config for one in (first, second)]
    shapes = [f"{config.n_layers} layers of {config.attention.n_heads} heads" for config in configs]
    if shapes[0] != shapes[1]:
        names = title_of(first), title_of(second)
        return (
            f"The heads of {names[0]} ({shapes[0]}) and of {names[1]} ({shapes[1]}) are no pairs: maps are compared "
            "where both have as many."
        )
    if why_not_by_token(first, second) is not None:
        return "Both cut the text into other tokens, so their maps have different rows and columns."
    return None


def _maps(reading: Reading, ids: tuple[int, ...], start: int, end: int) -> ReadMaps:
    model, tokenizer = opened(reading.model)
    read = attention_maps(model, ids)
    inside = read.ids[start:end]
    patterns = read.patterns[:, :, start:end]
    hidden = np.ones(len(ids), dtype=bool)
    hidden[start:end] = sink_tokens(tokenizer, inside.tolist(), around=False) if reading.hide_sink else False
    if not hidden.any():
        return ReadMaps(patterns.astype(np.float16), read.heads)
    patterns = without_keys(patterns, hidden)[..., start:end]
    sinks = hidden[start:end]
    scores = score_without(patterns, inside, sinks) if sinks.any() else score_heads(patterns, inside)
    return ReadMaps(patterns.astype(np.float16), scores)


_kept_maps = kept(_maps, entries=4)


def maps_of(reading: Reading, other: Source) -> ReadMaps:
    """The maps of the reading's model on the text that both read."""
    read = read_text(reading, other)
    return _kept_maps(replace(reading, part=None), read.ids, read.span.start, read.span.stop)


def _compared(reading: Reading, other: Source) -> ComparedHeads:
    if (why := why_not_by_head(reading.model, other)) is not None:
        raise ValueError(why)
    both_texts(reading, other)
    first, second = maps_of(reading, other), maps_of(replace(reading, model=other), reading.model)
    pairs = zip(first.patterns, second.patterns, strict=True)  # layer by layer: a copy of all would be 18 MB
    return ComparedHeads(np.stack([total_variation(*pair) for pair in pairs]), first.heads, second.heads)


_kept_heads = kept(_compared, entries=16)


def compared_heads(reading: Reading, other: Source) -> ComparedHeads:
    """All heads of two models on a text.

    Raises:
        ValueError: see why_not_by_head.
    """
    return _kept_heads(replace(reading, part=None), other)
