"""Views of the heads of a model on a text: all of them, one in full, one token in some of them."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.attention import attention_scores, attention_weights
from tfcore.charts.theme import Figure
from tfcore.charts.tokens import token_heatmap
from tfcore.input_checks import other_mixer
from tfcore.measures.heads.kinds import Place, score_heads
from tfcore.measures.heads.sink import without_keys
from tfcore.measures.token_text import tick_labels, visible
from tfcore.mixers import implied_matrix
from tfcore.views.finding import Finding, state
from tfcore.views.foundations.heads import say
from tfcore.views.foundations.heads.draw import maps
from tfcore.views.foundations.heads.draw import portrait as portraits
from tfcore.views.foundations.heads.draw.head_map import kind_map, value_map
from tfcore.views.foundations.heads.draw.maps import MAP_CELLS, Form
from tfcore.views.foundations.heads.measure.attention import (
    Order,
    attention,
    heads_in,
    implied_of,
    kinds,
    kinds_rest_on,
    longer_side,
    map_of_head,
    ranked,
    tile_maps,
    tile_places,
    tile_side,
    token_to_follow,
)
from tfcore.views.foundations.heads.measure.attention_maps import (
    AttentionReading,
    hidden_sink,
    map_findings,
    map_table,
    pool,
    pool_keys,
    rollout,
    sinks,
    some_heads,
    strongest_key,
    token_table,
)
from tfcore.views.foundations.heads.measure.head_ranking import KIND, rank_heads, standard_kinds
from tfcore.views.foundations.heads.measure.head_table import head_table
from tfcore.views.sources import Reading, opened
from tfcore.views.view import View, view

KEYS = 256  # columns of one token's row; more tokens share them
Window = tuple[int, int] | None  # the first token that is drawn, and the one after the last; None for all of them


# ---- all heads ----


@view
def head_map(reading: Reading, order: Order, layer: int, head: int) -> View:
    """All heads of a model, ranked by what they do on a text (kinds: arXiv:2209.11895, arXiv:2309.17453).

    Args:
        order: what they are coloured by.
        layer, head: the one that is framed.
    """
    read, known, ranking = attention(reading), kinds(reading), ranked(reading, order)
    strongest = say.strongest_heads(ranking, read.queries, read.keys, order.query, order.key)
    by_kind, on = order.by == KIND, kinds_rest_on(reading)
    first = "" if on == "this text" else " without their first token"
    left_out = read.learned_sink is not None and (first or read.hides_sink)
    without = " What learned sinks take is left out." if left_out else ""
    if by_kind:
        chart = kind_map(known.kind, known.score, (layer, head))
    else:
        chart = value_map(ranking.values, ranking.most, (layer, head))
    return View(
        key="map",
        title="Map of all heads",
        result=known,
        chart=chart,
        described=say.kinds_of_heads(known, say.other_layers(opened(reading.model)[0].config)) if by_kind else None,
        findings=() if by_kind else (strongest,),
        note=f"Measured on {on}{first}; induction on repeated random tokens.{without}" if by_kind else "",
        table=lambda: head_table(attention(reading).maps.heads, known),
        formula=r"A = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + \text{mask}\right)",
        papers="Vaswani et al. 2017, arXiv:1706.03762, equation 1. Rollout: arXiv:2005.00928, section 3.",
        terms=("attention head", "attention sink", "induction head"),
        code=(attention_scores, attention_weights, score_heads, standard_kinds, rank_heads),
    )


@view
def mosaic(reading: Reading, order: Order, layer: int, head: int, log: bool = False) -> View:
    """The attention maps of some heads, one tile each.

    Args:
        order: which heads, in which order, and the number above each.
        layer, head: the one that is framed; where tiles stand by layer, those around it are shown.
        log: colours by the logarithm of the weight.

    Raises:
        ValueError: none of these heads is of the kind asked for.
    """
    read, known, ranking = attention(reading), kinds(reading), ranked(reading, order)
    if not (places := tile_places(reading, order, layer)):
        raise ValueError(f"no head of these layers is {order.kind!r}; sort by score, or choose another kind")
    side = tile_side(reading)
    pooled = " A cell shows the largest of the weights it stands for." if longer_side(reading) > side else ""
    labels = [f"{str(known.kind[place]).replace(' token', '')} {ranking.label(place)}" for place in places]
    columns = maps.mosaic_columns(len(places), known.kind.shape[1])
    layers = sorted({layer for layer, _ in places})
    total = int(known.attends.sum())
    some = f" Shown are {len(places)} of {total} heads" if len(places) < total else ""
    where = f", of layers {layers[0]} to {layers[-1]}." if some and len(layers) > 1 else "." if some else ""
    hidden = "".join(f" {one}" for one in sinks(read))
    full = "darker is more weight, by its logarithm from 0.001 to 1" if log else "full colour is weight 1"
    height = maps.mosaic_height(len(places), columns)
    small = tile_maps(reading, places)
    return View(
        key="mosaic",
        title="Attention maps, one tile a head",
        result=places,
        chart=maps.mosaic(small, labels, places, (layer, head), columns=columns, height=height, log=log),
        min_width=maps.TILES_WIDTH,
        described=say.head_kinds(known, places),
        note=f"Layer.head, the number the map is coloured by, the kind. Rows are query tokens, columns key tokens, "
        f"{full}.{pooled}{some}{where}{hidden}",
        table=lambda: head_table(attention(reading).maps.heads, known),
    )


# ---- one head ----


@view
def implied(reading: Reading, layer: int, head: int) -> View:
    """The (query, key) matrix that the state of a layer implies, which stands in the place of attention: its outputs
    are that matrix times the values (arXiv:2405.21060, section 3).

    Raises:
        ValueError: the layer has attention, or neither.
    """
    config = opened(reading.model)[0].config
    if config.attends(layer) or not heads_in(config, layer):
        raise ValueError(f"layer {layer} carries no state in the place of attention; see the map of all heads")
    matrix, read = implied_of(reading, layer)[head].copy(), attention(reading)
    drawn = slice(-MAP_CELLS, None)
    labels, cells = tick_labels(read.queries)[drawn], matrix[drawn, drawn]
    most = float(np.abs(np.tril(cells, -1)).max()) or float(np.abs(cells).max()) or 1.0
    skip = " What a token adds of its own value besides (D v) is not in it." if config.mixer_of(layer) == "ssm" else ""
    part = f" Shown are the last {MAP_CELLS} of {len(matrix)} tokens." if len(matrix) > MAP_CELLS else ""
    chart = token_heatmap(
        cells,
        labels,
        blocked=np.triu(np.ones(cells.shape, dtype=bool), 1),
        height=580,
        scale="@signed",
        zmin=-most,
        zmax=most,
        hover="%{y} has %{z:.3g} of the value of %{x}",
    )
    return View(
        key="implied",
        title=f"Layer {layer}, head {head}: the matrix that its state implies",
        result=matrix,
        chart=chart,
        min_width=340,
        findings=(say.implied_rows(matrix, layer, head, read.queries, read.keys),),
        note=f"Colours end at the largest entry below the diagonal.{skip}{part}",
        table=lambda: map_table(matrix, read.queries, read.keys),
        formula=r"o_i = q_i^\top S_i = \sum_{j \le i} M_{ij}\, v_j",
        papers="arXiv:2405.21060, section 3; as it is computed, with its rules, on the page on linear-time mixers.",
        code=(implied_matrix,),
    )


@view
def portrait(reading: Reading, layer: int, head: int, token: int | None = None) -> View:
    """One head over a line of the text: arcs to the tokens that the chosen one attends to (arXiv:1706.03762, eq. 1).

    Args:
        token: the chosen one; None for the one with the head's strongest look.
    """
    token = token_to_follow(reading, layer, head) if token is None else token
    read, pattern = attention(reading), map_of_head(reading, layer, head)
    labels = tick_labels(read.queries)
    line = portraits.line_of(labels, pattern[token], token)
    part = f" {len(line.tokens)} of {len(labels)} tokens; {portraits.GAP} stands for others." if line.gaps else ""
    most = strongest_key(pattern, token, read.queries, read.keys)
    return View(
        key="portrait",
        title=f"Head {layer}.{head} over the text",
        result=pattern,
        chart=portraits.portrait(pattern, line, token),
        min_width=line.pixels,
        at=line.place(token),
        findings=(state("head and key", "Head {layer}.{head}. {most}", layer=layer, head=head, most=most),),
        note=f"Pale: the strongest look of every other token.{part}",
        table=lambda: map_table(pattern, read.queries, read.keys),
    )


@view
def head(
    reading: Reading, layer: int, head: int, token: int, form: Form = "map", window: Window = None, log: bool = False
) -> View:
    """The tokens that one attention head of a trained model looks at (arXiv:1706.03762, equation 1).

    Args:
        token: the query token that is spoken of.
        form: cells, or lines between two columns of tokens.
        window: the first token that is drawn, and the one after the last; None for all of them, cells pooled and lines
            of those around the token where they are too many.
        log: colours of cells by the logarithm of the weight.
    """
    read = attention(reading)
    kind = say.head_kind(kinds(reading), layer, head, kinds_rest_on(reading))
    hidden = sinks(read, layer, head)
    title = str(kind).removesuffix(".")
    return _one_map(read, map_of_head(reading, layer, head), title, hidden, token, form, window, log)


@view
def layer_mean(
    reading: Reading, layer: int, token: int, form: Form = "map", window: Window = None, log: bool = False
) -> View:
    """The mean of all heads of a layer. See head."""
    read = attention(reading)
    patterns = read.maps.patterns[layer]
    hidden = sinks(read, layer)
    title = f"Layer {layer}: mean of {len(patterns)} heads"
    return _one_map(read, patterns.mean(0), title, hidden, token, form, window, log)


@view
def rolled_out(
    reading: Reading, layer: int, token: int, form: Form = "map", window: Window = None, log: bool = False
) -> View:
    """Attention rollout: layers multiplied, half of each being the residual connection (arXiv:2005.00928). See head."""
    read = attention(reading)
    if said := other_mixer(opened(reading.model)[0].config, "this model"):
        raise ValueError(f"rollout multiplies the attention of all layers, and {said}; take a model of attention alone")
    *_, rolled = rollout(read.maps.patterns[: layer + 1])
    hidden: tuple[Finding, ...] = (hidden_sink(read),) if read.hides_sink else ()
    if read.learned_sink is not None:
        hidden += (say.rollout_without_sinks(),)
    unseen = read.sink if read.hides_sink else np.zeros_like(read.sink)
    on_first = say.rollout_on_first(rolled, token, read.queries, unseen, layer + 1)
    title = f"Layers 0 to {layer}, multiplied: rollout"
    more = hidden + ((on_first,) if on_first else ())
    return _one_map(read, rolled.copy(), title, more, token, form, window, log)


def _one_map(
    read: AttentionReading,
    pattern: Float[ndarray, "query key"],
    title: str,
    more: tuple[Finding, ...],
    token: int,
    form: Form,
    window: Window,
    log: bool,
) -> View:
    """A map of any of these, as cells or as lines.

    Args:
        more: what is said besides.
    """
    queries, keys, n, lines = read.queries, read.keys, max(pattern.shape), form == "lines"
    if window is None and (lines or n <= MAP_CELLS):
        start = token // MAP_CELLS * MAP_CELLS
        window = start, min(n, start + MAP_CELLS)
    most, drawn = map_findings(read, pattern, token, window, MAP_CELLS)
    return View(
        key="closer",
        title=title,
        result=pattern,
        chart=_lines(read, pattern, token, window) if lines else _cells(read, pattern, window, log),
        min_width=340,
        cursor=not lines,
        described=state("map and key", "{title}; {most}", title=title, most=most),
        findings=(most, *(() if lines else (drawn,)), *more),
        note=f"Shape (query, key) = {pattern.shape}; the stronger the line, the more weight." if lines else "",
        table=lambda: map_table(pattern, queries, keys),
        code=(without_keys, rollout),
    )


def _cells(read: AttentionReading, pattern: Float[ndarray, "query key"], window: Window, log: bool) -> Figure:
    queries, keys = tick_labels(read.queries), tick_labels(read.keys)
    if window is None:
        step = -(-max(pattern.shape) // MAP_CELLS)
        cells, queries, keys = pool(pattern, MAP_CELLS), queries[::step], keys[::step]
    else:
        drawn = slice(*window)
        cells, queries, keys = pattern[drawn, drawn], queries[drawn], keys[drawn]
    return token_heatmap(cells, queries, keys, height=580, bar=False, scale="@logweights" if log else "@weights")


def _lines(read: AttentionReading, pattern: Float[ndarray, "query key"], token: int, window: Window) -> Figure:
    start, stop = window or (0, max(pattern.shape))
    queries, keys = tick_labels(read.queries)[start:stop], tick_labels(read.keys)[start:stop]
    chosen = token - start if start <= token < stop else None
    return maps.lines(pattern[start:stop, start:stop], queries, keys, chosen, height=580)


# ---- one token ----


@view
def one_token(reading: Reading, order: Order, layer: int, head: int, token: int, log: bool = False) -> View:
    """One query token in the heads that have a tile (see mosaic), and in the chosen one.

    Args:
        layer, head: the chosen one.
        token: the query token.
        log: colours by the logarithm of the weight.
    """
    read, chosen = attention(reading), (layer, head)
    patterns = read.maps.patterns
    places: list[Place] = tile_places(reading, order, layer)
    places = places if chosen in places else [chosen, *places]
    every = len(places) == int(kinds(reading).attends.sum())
    which = "every head" if every else "the heads that are shown above"
    weights, step = pool_keys(some_heads(patterns[:, :, [token]], places).squeeze(1), KEYS)
    pooled = f" A cell shows the largest weight of {step} tokens, of which the first is named." if step > 1 else ""
    query, keys = visible(read.queries[token]), read.keys
    return View(
        key="one token",
        title=f"One query token, in {'every head' if every else f'{len(places)} heads'}",
        result=weights,
        chart=maps.one_token(
            weights,
            places,
            tick_labels(keys)[::step],
            token // step if read.within else None,
            chosen,
            height=maps.one_token_height(len(places)),
            log=log,
        ),
        min_width=640,
        described=state(
            "token in heads",
            "Attention of '{query}' in {n} heads. In layer {layer}, head {head}: {most}",
            query=query,
            n=len(places),
            layer=layer,
            head=head,
            most=strongest_key(patterns[chosen], token, read.queries, keys),
        ),
        note=f"One row for {which}: the attention weights of '{query}' over the key tokens.{pooled}",
        table=lambda: token_table(attention(reading).maps, token, keys, places),
    )
