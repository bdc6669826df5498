"""Heads over a distribution of texts: all of them by two measures, one of them closely, found by the kinds of tokens
that they go from and to, and what one does on a text beside what it usually does."""

from typing import Literal

import numpy as np
import pandas as pd

from tfcore.measures.atlas.ablation import ablate_heads, interval
from tfcore.measures.atlas.atlas import MEASURES, Atlas
from tfcore.measures.atlas.atlas import atlas_of as _means_of_sums
from tfcore.measures.atlas.ranks import effective_rank
from tfcore.measures.atlas.search import LEAST, nearest_heads, search_heads
from tfcore.measures.atlas.token_kinds import PARTITION, token_kinds
from tfcore.measures.heads.kinds import Place
from tfcore.measures.one_text import pieces_of
from tfcore.measures.token_text import label, tick_labels
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.finding import Finding
from tfcore.views.inside.atlas import say
from tfcore.views.inside.atlas.draw import (
    ExampleRow,
    Tool,
    distances_figure,
    effect_figure,
    examples_figure,
    examples_width,
    heads_figure,
    kinds_figure,
    nearest_figure,
    role_figure,
    search_figure,
    standing_figure,
)
from tfcore.views.inside.atlas.measure import atlas_of, head_kinds, kind_pairs, numbers_of, role_on_text, standing
from tfcore.views.sources import Reading, Source, opened
from tfcore.views.view import View, view

Colour = Literal["layer", "kind"]
HEIGHT = 440  # of all heads
MOST = 12  # heads that a search shows
NEAREST = 8
BEGINNING = 16  # tokens of a text that say which it is
LETTERS = 60
# Measures of a head's sheet, in their order; those that an atlas lacks are left out.
ON_SHEET = (
    *("effect", "activity", "first", "self", "previous", "next", "same", "after_same", "bracket"),
    *("distance", "entropy", "ov_rank", "qk_rank"),
)
PAPERS = (
    "Heads seen over a distribution: HeadVis, Transformer Circuits 2026. Attention sinks: arXiv:2309.17453. Mean "
    "ablation: arXiv:2211.00593, section 2. Induction: arXiv:2209.11895. Effective rank: Roy and Vetterli, EUSIPCO "
    "2007, definition 1. Weights on the sink (the first token, or what stands around every text of an encoder) are "
    "counted apart. “By distance alone” is what a head would give a kind of token if it looked by distance and by "
    "nothing else: its mean weight at each distance, summed over where tokens of that kind stand."
)


@view
def scatter(
    model: Source,
    x: str,
    y: str,
    colour: Colour = "layer",
    chosen: tuple[Place, ...] = (),
    layer: int = 0,
    head: int = 0,
    tool: Tool = "select",
    corpus: str = "",
    so_far: Atlas | None = None,
) -> View:
    """A dot for each head of a model, by two measures over many texts.

    Args:
        x, y: measures, see tfcore.measures.atlas.atlas.MEASURES.
        colour: of the dots: the layer, or the kind of head.
        chosen: heads on a list, as (layer, head); none: all are drawn alike.
        layer, head: the head with a ring.
        tool: what the pointer draws in the app, a box or a lasso.
        corpus: a text of one's own that heads are measured on; empty takes what is stored beside the model's weights.

    Raises:
        ValueError: the atlas has no such measure, or the model no such head.
    """
    atlas = atlas_of(model, corpus, so_far)
    one, other = numbers_of(atlas, x), numbers_of(atlas, y)
    place = _place(atlas, layer, head)
    kinds = head_kinds(atlas) if colour == "kind" else None
    return View(
        key="scatter",
        title="All heads by two measures",
        result=(one, other),
        chart=heads_figure(one, other, (MEASURES[x], MEASURES[y]), kinds, chosen, place, tool, HEIGHT),
        min_width=330,
        findings=(say.together(one, other, (x, y)), say.measured(atlas)),
        table=lambda: heads_table(atlas, chosen),
        formula=r"\text{effect}_h = \frac{1}{n} \sum_t \left[ \ell_t(z_h \leftarrow \bar z_h) - \ell_t \right] \qquad "
        r"\text{activity}_h = 1 - \overline{A_{q,0}} - \overline{A_{q,q}}",
        papers=PAPERS,
        terms=("attention head", "attention sink", "mean ablation"),
        code=(_means_of_sums, ablate_heads, effective_rank, head_kinds),
    )


def heads_table(atlas: Atlas, chosen: tuple[Place, ...] = ()) -> pd.DataFrame:
    """The measures of the heads on a list, or of all heads, a row each."""
    layers, heads = np.indices(atlas.shape).reshape(2, -1)
    whole = {"layer": layers, "head": heads, "kind": head_kinds(atlas).ravel()}
    whole |= {MEASURES[name].title: values.ravel() for name, values in atlas.measures.items()}
    table = pd.DataFrame(whole)
    listed = [one * atlas.shape[1] + other for one, other in chosen]
    return table.iloc[listed] if chosen else table


def _place(atlas: Atlas, layer: int, head: int) -> Place:
    layers, heads = atlas.shape
    if not (0 <= layer < layers and 0 <= head < heads):
        raise ValueError(f"there is no head {layer}.{head}: the last one is {layers - 1}.{heads - 1}")
    return layer, head


# ---- the sheet of a head ----


@view
def distances(model: Source, layer: int, head: int, corpus: str = "", so_far: Atlas | None = None) -> View:
    """The weight of a head by distance, beside the median of all heads. See scatter."""
    atlas = atlas_of(model, corpus, so_far)
    place = _place(atlas, layer, head)
    both = atlas.distances + atlas.ahead
    median, ahead = np.median(both, axis=(0, 1)), atlas.ahead[place]
    return View(
        key="distances",
        title="How far it looks",
        result=both[place],
        chart=distances_figure(
            atlas.distances[place], ahead if ahead.any() else None, median, atlas.octaves, height=250
        ),
        min_width=300,
        findings=(say.distances(place, both[place], median, atlas.octaves),),
        note="Weight on the sink is left out.",
        table=lambda: pd.DataFrame(
            {"distance": atlas.octaves, "before": atlas.distances[place], "after": ahead, "median of all heads": median}
        ),
        papers=PAPERS,
        terms=("attention sink",),
    )


@view
def measures(model: Source, layer: int, head: int, corpus: str = "", so_far: Atlas | None = None) -> View:
    """Each measure of a head among those of all heads. See scatter."""
    atlas = atlas_of(model, corpus, so_far)
    place = _place(atlas, layer, head)
    names = [name for name in ON_SHEET if name in atlas.measures and np.isfinite(atlas.measures[name][place])]
    stands = {name: standing(atlas.measures[name], place) for name in names}
    return View(
        key="measures",
        title="Where it stands among all heads",
        result=stands,
        chart=standing_figure(
            [MEASURES[name].title for name in names],
            [atlas.measures[name] for name in names],
            [f"{stands[name].value:{MEASURES[name].format}}" for name in names],
            list(stands.values()),
        ),
        min_width=420,
        findings=(say.stands_out(place, stands),),
        note="A stroke is a head, from the smallest value at the left to the largest; 1st has the largest.",
        table=lambda: pd.DataFrame(
            {
                "measure": [MEASURES[name].title for name in names],
                "unit": [MEASURES[name].unit for name in names],
                "value": [one.value for one in stands.values()],
                "rank": [one.rank for one in stands.values()],
                "of": [one.heads for one in stands.values()],
                "what it is": [MEASURES[name].says for name in names],
            }
        ),
        papers=PAPERS,
        code=(effective_rank, standing),
    )


@view
def kinds(model: Source, layer: int, head: int, corpus: str = "", so_far: Atlas | None = None) -> View:
    """From which kinds of tokens a head looks at which, beyond what its distances alone give. See scatter."""
    atlas = atlas_of(model, corpus, so_far)
    place = _place(atlas, layer, head)
    pairs = kind_pairs(atlas, place)
    often = atlas.counts >= LEAST
    shown = np.flatnonzero(often if often.any() else atlas.counts > 0).tolist()
    return View(
        key="kinds",
        title="From which kind of token to which",
        result=pairs,
        chart=kinds_figure(atlas, place, shown, height=520),
        min_width=430,
        cursor=True,
        findings=(say.Pairs(place, pairs[0] if pairs else None),),
        note="Red: more weight than by distance alone; blue: less. A token has several kinds.",
        table=lambda: pd.DataFrame(pairs, columns=["query", "key", "weight", "by distance alone"]),
        papers=PAPERS,
        terms=("query token", "key token"),
        code=(token_kinds, kind_pairs),
    )


@view
def effect(model: Source, layer: int, head: int, corpus: str = "", so_far: Atlas | None = None) -> View:
    """The change of the loss of each of some texts where a head always writes its mean. See scatter.

    Raises:
        ValueError: it was not measured.
    """
    atlas = atlas_of(model, corpus, so_far)
    place = _place(atlas, layer, head)
    found = say.effect_found(atlas, place)
    by_text, tokenizer = atlas.by_text[place], opened(model)[1]
    texts = [label(tokenizer.decode(ids[:BEGINNING].tolist()), LETTERS) for ids in atlas.sample]
    return View(
        key="effect",
        title="What it adds: mean ablation",
        result=by_text,
        chart=effect_figure(by_text, texts, found.mean, (found.low, found.high), found.unit, height=230),
        min_width=300,
        findings=(found,),
        note="A bar for each text; line and band: the mean and its 95 % interval.",
        table=lambda: pd.DataFrame({"text": texts, "change": by_text}),
        papers=PAPERS,
        terms=("mean ablation", "confidence interval"),
        code=(ablate_heads, interval),
    )


@view
def examples(
    model: Source, layer: int, head: int, tenth: int = 0, corpus: str = "", so_far: Atlas | None = None
) -> View:
    """Where a head does much and where it does little: examples from each tenth of its activity. See scatter.

    Args:
        tenth: 10 for its most active, 1 for its least; 0 shows one of each.
    """
    atlas = atlas_of(model, corpus, so_far)
    place = _place(atlas, layer, head)
    rows = _example_rows(atlas, opened(model)[1], place, tenth)
    said: tuple[Finding, ...] = (say.tenths(place, atlas.deciles[place]),)
    return View(
        key="examples",
        title="Examples by how much it does",
        result=rows,
        chart=examples_figure(rows),
        min_width=examples_width(rows),
        findings=said,
        note="Orange: the token it looks from; blue: the one it looks at most, with the weight.",
        table=lambda: pd.DataFrame(
            {
                "tenth": [row.tenth for row in rows],
                "text": ["".join(token or "⋯" for token in row.tokens) for row in rows],
                "from": [row.tokens[row.query] for row in rows],
                "to": [row.tokens[row.key] for row in rows],
                "weight": [row.weight for row in rows],
            }
        ),
        papers=PAPERS,
        terms=("query token", "key token"),
    )


def _example_rows(atlas: Atlas, tokenizer: Tokenizer, place: Place, tenth: int) -> list[ExampleRow]:
    """The examples of one tenth, or the most active one of each tenth, those of the most active tenth first."""
    from_top = range(10, 0, -1) if tenth == 0 else [tenth]
    found = []
    for one in from_top:
        for example in atlas.examples.of(*place, one - 1)[: 1 if tenth == 0 else None]:
            ids = [token for token in example.ids if token is not None]
            labels = iter(tick_labels(pieces_of(tokenizer, ids)))
            tokens = tuple(None if token is None else next(labels) for token in example.ids)
            found.append(ExampleRow(one, tokens, example.query, example.key, example.weight))
    return found


@view
def nearest(model: Source, layer: int, head: int, corpus: str = "", so_far: Atlas | None = None) -> View:
    """The heads that behave most like one. See scatter."""
    atlas = atlas_of(model, corpus, so_far)
    place = _place(atlas, layer, head)
    found = nearest_heads(atlas, *place, most=NEAREST)
    return View(
        key="nearest",
        title="Heads that behave alike",
        result=found,
        chart=nearest_figure(found, height=250),
        min_width=260,
        findings=(say.nearest(place, found),),
        table=lambda: pd.DataFrame(found, columns=["layer", "head", "distance"]),
        papers=PAPERS,
        code=(nearest_heads,),
    )


# ---- search ----


@view
def search(
    model: Source,
    query_kind: str,
    key_kind: str,
    layer: int = 0,
    head: int = 0,
    corpus: str = "",
    so_far: Atlas | None = None,
) -> View:
    """The heads that go most from one kind of token to another, beyond what their distances alone give. See scatter.

    Args:
        query_kind, key_kind: of tfcore.measures.atlas.token_kinds.KINDS.
        layer, head: written bold.

    Raises:
        ValueError: there is no such kind.
    """
    atlas = atlas_of(model, corpus, so_far)
    found = search_heads(atlas, query_kind, key_kind)
    shown = found[:MOST]
    return View(
        key="search",
        title="Heads from one kind of token to another",
        result=found,
        chart=search_figure(shown, (layer, head), height=90 + 26 * MOST),
        min_width=320,
        findings=(say.searched(query_kind, key_kind, found), say.measured(atlas)),
        table=lambda: pd.DataFrame(found, columns=["layer", "head", "weight", "by_position", "share"]),
        papers=PAPERS,
        terms=("query token", "key token"),
        code=(search_heads, token_kinds),
    )


# ---- a text beside the distribution ----


@view
def role(reading: Reading, layer: int, head: int, token: int | None = None) -> View:
    """Where a head looks on a text, by kinds of tokens, beside where it usually looks.

    Args:
        reading: the model and the text.
        token: from which it looks; None takes all of the text.

    Raises:
        ValueError: nothing is stored of this model; it has no such head or the text no such token.
    """
    place = _place(atlas_of(reading.model), layer, head)
    found = role_on_text(reading, place, token)
    return View(
        key="role",
        title="Its role here, and usually",
        result=found,
        chart=role_figure(found, height=400),
        min_width=300,
        findings=(say.role_compared(place, found),),
        note="Solid: here; outlined: over the distribution. Every token is of one of these kinds.",
        table=lambda: pd.DataFrame({"kind": PARTITION, "here": found.here, "usually": found.usual}),
        papers=PAPERS,
        terms=("attention sink",),
        code=(role_on_text, token_kinds),
    )
