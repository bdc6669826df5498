"""Findings on positions: tables of vectors, products of queries and keys, biases, and schemes compared."""

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.part_configs import Positions
from tfcore.views.finding import Statement, state
from tfcore.views.foundations.positions.measure.effects import SCHEMES, LengthLosses, SchemeEffect, ShuffleResult
from tfcore.views.foundations.positions.measure.learned import (
    REACH,
    TABLE_ROWS,
    LearnedPositions,
    PositionTable,
    uniform_loss,
)
from tfcore.views.foundations.positions.measure.scores import LinearBiases, RotaryScores, TwoBases
from tfcore.views.foundations.positions.measure.sinusoidal import Shift, ShiftedProducts, SinusoidalTable

NAMES: dict[str, str] = {
    "none": "none",
    "sinusoidal": "sinusoidal",
    "learned": "learned",
    "rope": "RoPE",
    "alibi": "ALiBi",
}
TITLES: dict[Positions, str] = {scheme: NAMES[scheme][0].upper() + NAMES[scheme][1:] for scheme in SCHEMES}


def _each(values: Mapping[str, float], form: str) -> str:
    """Names with their values, in the order that they have."""
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


# ---- sinusoidal ----


def table_periods(table: SinusoidalTable) -> Statement:
    """How often the first and the last pair of dimensions of a table repeat, in positions."""
    length, d_model = table.table.shape
    return state(
        "periods",
        "Position vectors of {length} positions by {d_model} dimensions: stripes that get wider from left to right, "
        "one period every {shortest:.1f} positions at the left end and every {longest:,.0f} at the right.",
        length=length,
        d_model=d_model,
        shortest=float(table.wavelengths[0]),
        longest=float(table.wavelengths[-1]),
    )


def pair_periods(table: SinusoidalTable, pairs: tuple[int, int]) -> Statement:
    """After how many positions two pairs of dimensions repeat."""
    first, second = pairs
    return state(
        "pairs",
        "Pair {first} repeats after {one:,.1f} positions, pair {second} after {other:,.1f}.",
        first=first,
        second=second,
        one=float(table.wavelengths[first]),
        other=float(table.wavelengths[second]),
    )


def wavelength_range(waves: Float[ndarray, " pair"]) -> Statement:
    """The shortest and the longest of all wavelengths, in positions."""
    return state(
        "wavelengths",
        "{pairs} wavelengths, 2π · b^(2i/{width}): from {first:.2f} to {last:,.0f} positions.",
        pairs=len(waves),
        width=2 * len(waves),
        first=float(waves[0]),
        last=float(waves[-1]),
    )


def against_limit(waves: Float[ndarray, " pair"], base: float) -> Statement:
    """How close the longest wavelength comes to 2 pi base; the end of a sentence."""
    return state(
        "limit",
        "the last wavelength is 2π · b^(1 − 2/d), here {last:,.0f} of {limit:,.0f}.",
        last=float(waves[-1]),
        limit=2 * math.pi * base,
    )


def shift_products(shifted: ShiftedProducts, k: int, start: int) -> Statement:
    """The product of a position vector with itself, and with the one k further on where the table has it."""
    products = shifted.products[0]
    at_k = ", {at_k:.1f} at k = {k}" if k < len(products) else ""
    return state(
        "products",
        "PE(p) · PE(p + k) is {at_zero:.0f} = d/2 at k = 0" + at_k + "; the same from p = 0 and from p = {start}, to "
        "within {spread:.1e}.",
        at_zero=float(products[0]),
        at_k=float(products[k]) if at_k else None,
        k=k,
        start=start,
        spread=shifted.spread,
    )


def shift_error(shift: Shift, k: int, length: int) -> Statement:
    """The largest error of the matrix that moves the position vectors of a table on."""
    return state(
        "shift",
        "The matrix that moves position vectors on by {k}: 2 by 2 rotations on the diagonal, zero elsewhere; its "
        "largest error over {length} positions is {error:.1e}.",
        k=k,
        length=length,
        error=shift.error,
    )


# ---- learned ----


def learning(run: LearnedPositions, look: int) -> Statement:
    """A table after some training: the mean cosine of vectors, and the mean attention on the tokens before, over
    queries that have all four of them."""
    similarity, pattern = run.similarity[look], run.patterns[look]
    back = [float(np.diagonal(pattern, -k)[REACH:].mean()) for k in range(1, REACH + 1)]
    return state(
        "learning",
        "After {step} steps. Neighbouring positions: cosine {neighbours:.2f}; ten apart: {ten_apart:.2f}. Attention on "
        "the previous token {previous:.2f}, on the four before {four:.2f}.",
        step=int(run.steps[look]),
        neighbours=_cosine(similarity, 1),
        ten_apart=_cosine(similarity, 10),
        previous=back[0],
        four=sum(back),
    )


def loss_bounds(run: LearnedPositions) -> Statement:
    """The losses that a loss of this run is to be compared with, nats per token."""
    return state(
        "bounds", "uniform guess {uniform:.2f}, best possible {floor:.2f}", uniform=uniform_loss(), floor=run.floor
    )


def _cosine(similarity: Float[ndarray, "seq seq"], apart: int) -> float:
    """Mean cosine of positions this far apart."""
    return float(np.diagonal(similarity, apart).mean())


def vector_scale(table: PositionTable) -> Statement:
    """Where the colours of position vectors end, and the largest value of all that are shown."""
    largest = float(np.abs(table.shown).max())
    rest = ", the largest value." if table.scale >= largest else "; the largest value is {largest:.2f}."
    return state("scale", "Colours of the vectors end at ±{end:.2f}" + rest, end=table.scale, largest=largest)


def table_attention(table: PositionTable, head: int) -> Statement:
    """The position vectors of a trained model, and where they make a head of the first layer look."""
    n = len(table.table)
    return state(
        "table",
        "The first {positions} position vectors: neighbouring positions have a cosine of {neighbours:.2f}, those "
        "{apart} apart {far:.2f}. Head {head} over {rows} sequences of random tokens: {previous:.2f} on the previous "
        "token.",
        positions=n,
        neighbours=_cosine(table.similarity, 1),
        apart=n // 2,
        far=_cosine(table.similarity, n // 2),
        head=head,
        rows=TABLE_ROWS,
        previous=float(table.back(head)[1]),
    )


def other_weights(table: PositionTable, head: int) -> Statement:
    """The mean weights of a head on the tokens around the previous one."""
    back = table.back(head)[:4].tolist()
    return state("around", "on itself {b[0]:.2f}, two back {b[2]:.2f}, three back {b[3]:.2f}", b=back)


def component_share(table: PositionTable) -> Statement:
    """The share of the variance of all position vectors along their first principal components."""
    return state(
        "components",
        "All {positions} positions along the three directions in which their vectors vary most, which hold "
        "{share:.0f} % of the variance.",
        positions=len(table.waves),
        share=100 * float(table.explained.sum()),
    )


def previous_weights(table: PositionTable) -> Statement:
    """The mean weight of each head of the first layer on the previous token."""
    weights = [float(table.back(head)[1]) for head in range(len(table.patterns))]
    each = ", ".join(f"{weight:.2f}" for weight in weights)
    return state("previous", "Mean weight on the previous token, head by head: {each}.", each=each, weights=weights)


# ---- RoPE and ALiBi ----


def rotary_pairs(result: RotaryScores, moved: int, distance: int) -> Statement:
    """The pairs of dimensions that are shown, and how fast the first and the last of all turn."""
    return state(
        "arrows",
        "{shown} of {pairs} pairs of dimensions as arrows: the query at position {query} (long) and the key at {key} "
        "(short). Moving both rotates both arrows alike; the angle between them stays. Pair 0 turns once in "
        "{fastest:.1f} positions, the last once in {slowest:,.0f}.",
        shown=len(result.pairs),
        pairs=len(result.wavelengths),
        query=moved + distance,
        key=moved,
        fastest=float(result.wavelengths[0]),
        slowest=float(result.wavelengths[-1]),
    )


def rotary_products(result: RotaryScores, moved: int, distance: int) -> Statement:
    """q . k at distance 0, at the chosen one and at the furthest, and by how much any of them changes where both
    tokens are moved on."""
    at_start, at_moved = result.scores
    return state(
        "products",
        "q · k by distance: {at_zero:.1f} at distance 0, {at_distance:.1f} at {distance}, {at_furthest:.1f} at "
        "{furthest}. With the key at position {moved} the same to within {difference:.1e}.",
        at_zero=float(at_start[0]),
        at_distance=float(at_moved[distance]),
        distance=distance,
        at_furthest=float(at_start[-1]),
        furthest=int(result.distances[-1]),
        moved=moved,
        difference=result.difference,
    )


def base_halves(result: TwoBases) -> Statement:
    """Until which distance each of two bases leaves half of q . k."""
    (near, wide), (first, second) = result.halves, result.bases
    furthest = int(result.distances[-1])

    def until(distance: int | None) -> str:
        return f"at every distance up to {furthest:,}" if distance is None else f"until distance {distance:,}"

    return state(
        "halves",
        "On average half of q · k is left {near} with base {first:,.0f}, and {wide} with base {second:,.0f}.",
        near=until(near),
        wide=until(wide),
        first=first,
        second=second,
    )


def head_bias(result: LinearBiases, head: int) -> Statement:
    """The bias of a head one token back, and from the last token to the first."""
    return state(
        "bias",
        "Bias of head {head}: 0 on the diagonal, {one_back:.3g} one token back, {furthest:.3g} at the first token seen "
        "from the last.",
        head=head,
        one_back=-float(result.slopes[head]),
        furthest=float(result.bias[-1, 0]),
    )


def head_reach(result: LinearBiases, head: int) -> Statement:
    """How far back a head looks if all q . k are equal: its weight on the token itself, and the mean distance."""
    return state(
        "reach",
        "If all q · k were equal: head {head} puts {own:.2f} on the last token itself; mean distance {distance:.1f} "
        "tokens.",
        head=head,
        own=float(result.weights[head, 0]),
        distance=float(result.reach[head]),
    )


def slope_range(result: LinearBiases) -> Statement:
    """The steepest and the flattest slope."""
    slopes = result.slopes
    return state(
        "slopes",
        "{n} slopes, from {steepest:.3g} to {flattest:.3g}.",
        n=len(slopes),
        steepest=float(slopes.max()),
        flattest=float(slopes.min()),
    )


# ---- compared ----


def shuffle_changes(result: ShuffleResult) -> Statement:
    """The largest change of a word's output when the words are shuffled, with each scheme."""
    changes = {TITLES[scheme]: change for scheme, change in result.largest.items()}
    return state(
        "changes",
        "Largest change of a word's output when the words are shuffled: {each}.",
        each=_each(changes, ".1e"),
        changes=changes,
    )


def output_change(result: ShuffleResult, scheme: Positions) -> Statement:
    """How much the outputs of a text and of its shuffle differ with one scheme."""
    return state(
        "change",
        "Positions: {name}; left and right differ by up to {change:.1e}.",
        name=TITLES[scheme],
        change=result.largest[scheme],
    )


def shuffle_test(result: ShuffleResult, text: str, scheme: Positions) -> Statement:
    """The largest change of an output with a scheme and without any."""
    return state(
        "shuffle test",
        "Shuffle “{text}”, run it through a bidirectional Transformer with {name} positions, and a word's output "
        "changes by up to {change:.2f}. Without positions: {without:.0e}, rounding.",
        text=text,
        name=NAMES[scheme],
        change=result.largest[scheme],
        without=result.largest["none"],
    )


def mean_distances(effects: Mapping[Positions, SchemeEffect], head: int) -> Statement:
    """The mean distance from query to key of one head of the first layer under every scheme, in tokens."""
    distances = {NAMES[scheme]: effect.distance for scheme, effect in effects.items()}
    return state(
        "distances",
        "Attention weights of head {head} under every scheme and the causal mask. Mean distance in tokens: {each}.",
        head=head,
        each=_each(distances, ".1f"),
        distances=distances,
    )


def losses_and_rises(measured: LengthLosses, names: Mapping[str, str]) -> Statement:
    """The schemes in order of their loss at the trained length, nats per token, and of its rise from there to the
    furthest position.

    Args:
        names: scheme -> how it is called.
    """
    near = sorted(measured.loss, key=lambda scheme: measured.mean(scheme)[measured.within])
    losses = {names[scheme]: float(measured.mean(scheme)[measured.within]) for scheme in near}
    rises = {names[scheme]: measured.rise(scheme) for scheme in sorted(measured.loss, key=measured.rise)}
    return state(
        "losses and rises",
        "At position {trained} the loss is: {near}. From there to {furthest} it changes by: {far}.",
        trained=measured.trained,
        furthest=int(measured.ends[-1]),
        near=_each(losses, ".2f"),
        far=_each(rises, "+.2f"),
        losses=losses,
        rises=rises,
    )


def smallest_and_largest_rise(measured: LengthLosses, names: Mapping[str, str]) -> Statement:
    """The schemes whose loss rises least and most beyond the trained length, in nats per token.

    Args:
        names: scheme -> how it is called; those that are compared.
    """
    best, worst = min(names, key=measured.rise), max(names, key=measured.rise)
    other = "" if worst == best else ", {worst} {worst_rise:+.2f}"
    return state(
        "rise",
        "At position {furthest} {best} costs {best_rise:+.2f} nats per token against position {trained}" + other + ".",
        furthest=int(measured.ends[-1]),
        trained=measured.trained,
        best=names[best],
        best_rise=measured.rise(best),
        worst=names[worst],
        worst_rise=measured.rise(worst),
    )
