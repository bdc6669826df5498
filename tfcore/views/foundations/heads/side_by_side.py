"""Views of two heads side by side: on one text, on two, or of two models."""

from dataclasses import replace
from typing import NamedTuple

from jaxtyping import Float
from numpy import ndarray

from tfcore.charts.tokens import QUERY, token_heatmap
from tfcore.measures.heads.kinds import Place
from tfcore.measures.token_text import label, tick_labels
from tfcore.views.finding import Finding, state
from tfcore.views.foundations.heads import say
from tfcore.views.foundations.heads.draw.maps import SIDE_CELLS
from tfcore.views.foundations.heads.measure.attention import attention, map_of_head
from tfcore.views.foundations.heads.measure.attention_maps import map_range, map_table, overlap, pool, sinks
from tfcore.views.sources import Reading
from tfcore.views.view import View, view


class Beside(NamedTuple):
    """A map that stands beside another.

    Args:
        pattern: the attention weights of its head.
        verdict: what comparing both comes to, in a word or a number; empty for the first of the two.
    """

    pattern: Float[ndarray, "query key"]
    verdict: str = ""


@view
def one_of_two(reading: Reading, layer: int, head: int, log: bool = False, named: bool = False) -> View:
    """One of two maps side by side.

    Args:
        log: colours by the logarithm of the weight.
        named: whose query tokens they are is said, where the other map is of another model.
    """
    return replace(_map(reading, layer, head, log, named), key="one", title="The left map")


@view
def two_heads(reading: Reading, layer: int, head: int, other_layer: int, other_head: int, log: bool = False) -> View:
    """Two heads on one text: how much of their weight lies on the same tokens."""
    patterns = attention(reading).maps.patterns
    shared = say.shared_weight(patterns[layer, head], patterns[other_layer, other_head])
    return _beside(_map(reading, other_layer, other_head, log), shared, f"{shared.values['share']:.0%}")


@view
def two_texts(reading: Reading, other: Reading, layer: int, head: int, log: bool = False) -> View:
    """One head on two texts, and whether it is of the same kind on both."""
    same = say.same_kind(attention(reading).maps.heads, attention(other).maps.heads, layer, head)
    return _beside(_map(other, layer, head, log), same, same.verdict)


@view
def two_models(reading: Reading, other: Reading, place: Place, other_place: Place, log: bool = False) -> View:
    """The same text in two models, a head of each.

    Args:
        place, other_place: layer and head in the first and in the second.
    """
    scores = attention(reading).maps.heads, attention(other).maps.heads
    compared = say.heads_of_models((_name(reading), _name(other)), scores, (place, other_place))
    return _beside(_map(other, *other_place, log, named=True), compared, compared.verdict)


def _beside(right: View, compared: Finding, verdict: str) -> View:
    """The map on the right, with what comparing both comes to."""
    return replace(right, result=right.result._replace(verdict=verdict), findings=(*right.findings, compared))


def _map(reading: Reading, layer: int, head: int, log: bool, named: bool = False) -> View:
    """The map on the right."""
    read, pattern = attention(reading), map_of_head(reading, layer, head)
    kind, queries, keys = say.head_kind(read.maps.heads, layer, head), read.queries, read.keys
    step = map_range(pattern, None, SIDE_CELLS).pooled
    pooled = f" A cell is the largest weight of {step} by {step}." if step > 1 else ""
    return View(
        key="other",
        title="The right map",
        result=Beside(pattern),
        chart=token_heatmap(
            pool(pattern, SIDE_CELLS),
            tick_labels(queries)[::step],
            tick_labels(keys)[::step],
            height=520,
            bar=False,
            scale="@logweights" if log else "@weights",
            title=f"{QUERY} of {label(_name(reading), 40)}" if named else QUERY,
        ),
        min_width=400,
        cursor=True,
        described=state("map of a head", "Attention of layer {kind.layer}, head {kind.head}: {kind.name}", kind=kind),
        findings=(kind, *sinks(read, layer, head)),
        note=f"Shape (query, key) = {pattern.shape}.{pooled}",
        table=lambda: map_table(pattern, queries, keys),
        papers="Many heads can be taken out at little loss: arXiv:1905.10650. Names of heads: arXiv:2209.11895",
        code=(overlap,),
    )


def _name(reading: Reading) -> str:
    return reading.model if isinstance(reading.model, str) else "a model of your own"
