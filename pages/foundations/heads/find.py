"""The page on heads: all heads of a model as one map, and the tiles beside it that show some of them."""

from dataclasses import dataclass

import streamlit as st

from pages.foundations.heads import experiments
from pages.foundations.heads.reading import Choice, first_view
from pages.ui import controls
from pages.ui.components.figure import Event, figure
from tfcore.analysis.foundations.attention_maps import hidden_sink
from tfcore.analysis.foundations.head_ranking import DISTANCE, ENTROPY, KIND, PAIR, Ranking, rank_heads, strongest_pair
from tfcore.analysis.foundations.heads import head_kinds, head_table, order
from tfcore.figures.foundations import head_map
from tfcore.figures.foundations import heads as figures
from tfcore.measures.heads.kinds import Place

TILES = 36  # at most
TILE = 48  # cells along a side of a tile
SMALL_TILE = 32  # the same for texts of more tokens than TILE
SORTS = {"place": "by layer", "kind": "by kind", "score": "by score"}
RANKS = {
    KIND: "kind of head",
    PAIR: "weight from a token to a token",
    "previous token": "weight on the previous token",
    "next token": "weight on the next token",
    "first token": "weight on the first token",
    "last token": "weight on the last token",
    "same place": "weight on the same place",
    "self": "weight on the token itself",
    "duplicate": "weight on the same token earlier",
    "induction": "weight on what followed it earlier (induction)",
    "local": "weight on neighbours",
    "broad": "share of the largest entropy",
    ENTROPY: "entropy",
    DISTANCE: "distance",
}


@dataclass(frozen=True, slots=True)
class Found:
    """The heads that are shown.

    Args:
        places: those with a tile.
        selected: the one that is looked at.
    """

    places: list[Place]
    selected: Place


def find_heads(choice: Choice) -> Found:
    """The map and its tiles in two columns; a click on either chooses a head."""
    layers, heads = choice.kinds.kind.shape
    first_layer, first_head, _ = first_view(choice)
    left, right = st.columns([10, 17], gap="medium")
    scores = choice.reading.found.heads.scores
    ranks = {by: label for by, label in RANKS.items() if by in (KIND, PAIR, ENTROPY, DISTANCE) or by in scores}
    with choice.more:
        by = controls.select("Colour and rank heads by", "rank", list(ranks), KIND, ranks)
        query, key = _pair(choice) if by == PAIR else (0, 0)
    with right:
        one, other = st.columns(2)
        with one:
            layer = controls.place("Layer", "layer", layers, first_layer)
        with other:
            head = controls.place("Head", "head", heads, first_head)
    with choice.more:
        sort = controls.select("Tiles", "sort", list(SORTS), "place", SORTS)
        kinds = ["all", *sorted(set(choice.kinds.kind.ravel()))]
        kind = controls.select("Heads of kind", "kind", kinds, "all")
    ranking = rank_heads(choice.reading.found.patterns, choice.reading.found.heads, choice.kinds, by, query, key)
    fitting = [place for place in _ordered(choice, ranking, sort) if kind in ("all", choice.kinds.kind[place])]
    if sort == "place" and len(fitting) > TILES:
        fitting = _around(fitting, layer, max(1, TILES // heads))
    with left:
        _map(choice, by, query, key, layer, head)
    with right:
        _tiles(choice, ranking, fitting[:TILES], (layer, head))
    return Found(fitting[:TILES], (layer, head))


def _pair(choice: Choice) -> tuple[int, int]:
    """The query token and the key token whose weight heads are ranked by."""
    n_query, n_key = choice.reading.found.patterns.shape[2:]
    first = strongest_pair(choice.reading.found.patterns, choice.reading.sink)
    one, other = st.columns(2)
    with one:
        query = controls.place("From token", "from", n_query, first.query)
    with other:
        key = controls.place("To token", "to", n_key, first.key)
    return query, key


def _ordered(choice: Choice, ranking: Ranking, sort: str) -> list[Place]:
    """The heads in the order of their tiles."""
    return ranking.order if sort == "score" else order(choice.kinds, sort)


def _around(places: list[Place], layer: int, layers: int) -> list[Place]:
    """Those of a few layers, one of which is the chosen one: layers 0 to 3, 4 to 7 and so on."""
    first = layer // layers * layers
    return [place for place in places if first <= place[0] < first + layers]


def _map(choice: Choice, by: str, query: int, key: int, layer: int, head: int) -> None:
    """All heads, one cell each."""
    kinds = choice.kinds
    shown = experiments.head_map(choice.reading, kinds, by, query, key, layer, head)
    height = head_map.kind_map_height(kinds.kind) if by == KIND else head_map.value_map_height(kinds.kind)
    first = " without their first token" if choice.kinds_on != "this text" else ""
    said = f"Measured on {choice.kinds_on}{first}; induction on repeated random tokens."
    said = said if by == KIND else shown.caption
    figure(
        shown.figure,
        key="map",
        alt=shown.alt,
        height=height,
        caption=f"{said} Click a cell to look at its head.",
        table=lambda: head_table(choice.reading.found.heads, kinds),
        on_click=_choose_cell,
    )


def _tiles(choice: Choice, ranking: Ranking, places: list[Place], selected: Place) -> None:
    """The maps of some heads."""
    if not places:
        st.info("No head of these layers is of this kind; order the tiles by score, or choose another kind.")
        return
    kinds = choice.kinds
    side = TILE if choice.tokens <= TILE else SMALL_TILE
    pooled = " A cell shows the largest of the weights it stands for." if choice.tokens > side else ""
    labels = [f"{str(kinds.kind[place]).replace(' token', '')} {ranking.label(place)}" for place in places]
    columns = figures.mosaic_columns(len(places), kinds.kind.shape[1])
    layers = sorted({layer for layer, _ in places})
    some = f" Shown are {len(places)} of {kinds.kind.size} heads" if len(places) < kinds.kind.size else ""
    where = f", of layers {layers[0]} to {layers[-1]}." if some and len(layers) > 1 else "." if some else ""
    hidden = f" {hidden_sink(choice.reading)}" if choice.hide_sink else ""
    full = "darker is more weight, by its logarithm from 0.001 to 1" if choice.log else "full colour is weight 1"
    height = figures.mosaic_height(len(places), columns)
    figure(
        figures.mosaic(
            choice.tiles(places, side), labels, places, selected, columns=columns, height=height, log=choice.log
        ),
        key="mosaic",
        alt=str(head_kinds(kinds, places)),
        height=height,
        min_width=figures.TILES_WIDTH,
        caption=f"Layer.head, the number the map is coloured by, the kind. Rows are query tokens, columns key tokens, "
        f"{full}.{pooled}{some}{where}{hidden}",
        table=lambda: head_table(choice.reading.found.heads, kinds),
        on_click=_choose_tile,
    )


def _choose_cell(event: Event) -> None:
    """A click on a cell of the map."""
    match event:
        case {"x": int(head), "y": int(layer)}:
            controls.set_values(layer=layer, head=head)


def _choose_tile(event: Event) -> None:
    """A click on a tile."""
    match event["customdata"]:
        case [int(layer), int(head)]:
            controls.set_values(layer=layer, head=head)
