"""Attention of every head on a text, kept for all pictures of it, and which heads are shown of it."""

from dataclasses import dataclass, replace

from jaxtyping import Float
from numpy import ndarray

from tfcore.config import ModelConfig
from tfcore.measures.heads.kinds import HeadScores, Place
from tfcore.measures.heads.part_texts import Part, parts
from tfcore.measures.one_text import one_text
from tfcore.views.foundations.heads.measure.attention_maps import (
    AttentionReading,
    pool,
    read_attention,
    some_heads,
    without_sink,
)
from tfcore.views.foundations.heads.measure.head_ranking import (
    KIND,
    PairWeight,
    Ranking,
    rank_heads,
    standard_kinds,
    striking_head,
    strongest_look,
)
from tfcore.views.foundations.heads.measure.head_table import order
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, Source, opened

TILES = 36  # at most
TILE = 48  # cells along a side of a tile
SMALL_TILE = 32  # the same for texts of more tokens than TILE
STRONG = 0.5  # of a query's weight: an induction head with less has nothing to look at in a text

kinds_of = kept(standard_kinds, entries=16)


def part_of(reading: Reading) -> Part:
    """The part of the model whose attention is meant."""
    return reading.part or model_parts(reading.model)[-1]


def model_parts(model: Source) -> tuple[Part, ...]:
    """The parts of a model that have attention."""
    return parts(opened(model)[0].config)


def _read(reading: Reading) -> AttentionReading | None:
    if reading.hide_sink:
        seen = read(replace(reading, hide_sink=False))
        return None if seen is None else without_sink(seen)
    model, tokenizer = opened(reading.model)
    return read_attention(model, tokenizer, reading.text, part_of(reading), bos=reading.bos)


# The maps of all heads; None where the tokenizer makes no token of the text. Those of 512 tokens in 270 heads take
# 284 MB, so what is kept of them elsewhere is a copy of the part that is needed.
read = kept(_read, entries=16)


def attention(reading: Reading) -> AttentionReading:
    """A text with the maps of all heads.

    Raises:
        ValueError: the tokenizer makes no token of the text.
    """
    attended: AttentionReading | None = read(reading)
    if attended is None:
        raise ValueError("the tokenizer of this model makes no token of this text; type something else")
    return attended


def _implied(reading: Reading, layer: int) -> Float[ndarray, "head query key"]:
    model, name = opened(reading.model)[0], f"blocks.{layer}.attn.pattern"
    kept_there = model.activations(one_text(model, attention(reading).maps.ids.tolist()), name)
    matrices: Float[ndarray, "head query key"] = kept_there[name].squeeze(0).float().cpu().numpy()
    return matrices


implied_of = kept(_implied, entries=8)  # the matrices that the states of a layer imply


def heads_in(config: ModelConfig, layer: int) -> int:
    """How many heads of a layer have a (query, key) matrix: those of attention, or of a state in its place."""
    if config.attends(layer):
        return config.attention.n_heads
    return 0 if config.mixer is None or config.mixer_of(layer) in ("conv", "none") else config.mixer.n_heads


def layers_shown(reading: Reading) -> list[int]:
    """The layers that have such matrices, in the part that is meant."""
    config, layers = opened(reading.model)[0].config, len(attention(reading).maps.patterns)
    return [layer for layer in range(layers) if part_of(reading) != "decoder" or heads_in(config, layer)]


def can_roll_out(reading: Reading) -> bool:
    """Whether rows of all layers can be multiplied: all are attention, of a text on itself."""
    return attention(reading).within and bool(attention(reading).maps.heads.attends.all())


def map_of_head(reading: Reading, layer: int, head: int) -> Float[ndarray, "query key"]:
    """The attention of one head, a copy."""
    copied: Float[ndarray, "query key"] = attention(reading).maps.patterns[layer, head].copy()
    return copied


# ---- kinds of heads, and the one to look at first ----


def kinds(reading: Reading) -> HeadScores:
    """The kinds of the heads: of the model, or where the standard texts say nothing to it, on this text."""
    scores: HeadScores | None = kinds_of(reading.model, part_of(reading))
    return attention(reading).maps.heads if scores is None else scores


def kinds_rest_on(reading: Reading) -> str:
    """The texts that these kinds are told from, in words."""
    return "this text" if kinds_of(reading.model, part_of(reading)) is None else "the standard texts"


def _strongest_look(reading: Reading) -> PairWeight | None:
    attended = attention(reading)
    return strongest_look(attended.maps.patterns, attended.queries, attended.keys, attended.sink)


look_of_text = kept(_strongest_look, entries=64)  # the strongest of any head


def first_look(reading: Reading) -> tuple[int, int, int]:
    """Layer, head and query token to look at first: the model's strongest induction head, say, where this text gives it
    a word to look at; else the head with the strongest look of all, from one word at another."""
    attended, place = attention(reading), striking_head(kinds(reading))
    patterns = attended.maps.patterns
    own = strongest_look(patterns[place][None, None], attended.queries, attended.keys, attended.sink)
    if own is not None and own.weight >= STRONG:
        return *place, own.query
    every: PairWeight | None = look_of_text(reading)
    return (*place, patterns.shape[2] - 1) if every is None else (every.layer, every.head, every.query)


def token_to_follow(reading: Reading, layer: int, head: int) -> int:
    """The query token with the strongest look of a head, from one word at another; the last where there is none."""
    attended = attention(reading)
    patterns = attended.maps.patterns[layer, head][None, None]
    own = strongest_look(patterns, attended.queries, attended.keys, attended.sink)
    return len(attended.queries) - 1 if own is None else own.query


# ---- which heads have a tile ----


@dataclass(frozen=True, slots=True)
class Order:
    """How heads are ranked, and which of them have a tile.

    Args:
        by: see Ranking.
        query, key: where heads are ranked by the weight from one token to another.
        sort: of the tiles: "place", "kind" or "score".
        kind: of the heads that have a tile; "all" for every kind.
    """

    by: str = KIND
    query: int = 0
    key: int = 0
    sort: str = "place"
    kind: str = "all"


def ranked(reading: Reading, by: Order) -> Ranking:
    """The heads with the number that they are ranked by."""
    maps = attention(reading).maps
    return rank_heads(maps.patterns, maps.heads, kinds(reading), by.by, by.query, by.key)


def tile_places(reading: Reading, by: Order, layer: int) -> list[Place]:
    """The heads that have a tile, TILES at most; by place, those of a few layers, such as 0 to 3 or 4 to 7.

    Args:
        layer: one of them.
    """
    known = kinds(reading)
    places = ranked(reading, by).order if by.sort == "score" else order(known, by.sort)
    fitting = [place for place in places if known.attends[place] and by.kind in ("all", known.kind[place])]
    if by.sort == "place" and len(fitting) > TILES:
        layers = max(1, TILES // known.kind.shape[1])
        first = layer // layers * layers
        fitting = [place for place in fitting if first <= place[0] < first + layers]
    return fitting[:TILES]


def longer_side(reading: Reading) -> int:
    """Tokens along the longer side of the maps."""
    attended = attention(reading)
    return max(len(attended.queries), len(attended.keys))


def tile_side(reading: Reading) -> int:
    """Cells along a side of a tile, at most."""
    return TILE if longer_side(reading) <= TILE else SMALL_TILE


def _small_maps(reading: Reading, side: int) -> Float[ndarray, "layer head row column"]:
    return pool(attention(reading).maps.patterns, side)


small_maps = kept(_small_maps, entries=16)


def tile_maps(reading: Reading, places: list[Place]) -> Float[ndarray, "place row column"]:
    """The maps of some heads, small enough for tiles."""
    side = tile_side(reading)
    maps = attention(reading).maps.patterns if longer_side(reading) <= side else small_maps(reading, side)
    return some_heads(maps, places)
