"""Findings on recurrent networks beside a Transformer: gradients, trainings of equal size, time, and alignment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.measures.quantities import compact, power, span
from tfcore.measures.timing import milliseconds
from tfcore.training.alike import Comparison, Repeats
from tfcore.training.recurrent.alignment import LENGTHS, TRAINED, AlignmentEvaluation, AlignmentRepeats, Order
from tfcore.training.recurrent.comparison import TaskName
from tfcore.training.recurrent.gradients import Arriving
from tfcore.training.recurrent.networks import IN_SENTENCE, KINDS, Kind, NetworkConfig, sizes
from tfcore.training.recurrent.passes import TimedPass
from tfcore.training.recurrent.real_model import RealGradient
from tfcore.views import alike
from tfcore.views.alike import THRESHOLD
from tfcore.views.finding import Finding, Statement, state

AGREED = 1e-12  # relative; what is less is rounding, and differs from machine to machine
FROM = 1  # steps back: the last token itself is left out of rates
LOST = 0.2  # by how much the share must be lower after the trained length for the place to count as lost
PLACES: dict[TaskName, tuple[str, str]] = {  # what the first and the last place are
    "copy": ("for the first letter", "for the last"),
    "recall": ("at the shortest distance", "at the longest"),
    "addition": ("for the sum", "for the sum"),
    "characters": ("after the first character", "after the last"),
}


def equal_sizes(config: NetworkConfig) -> Statement:
    """The parameters and widths of the three networks of a config, and by how much the largest exceeds the smallest, as
    a share."""
    widths = sizes(config)
    parameters = [widths[kind][1] for kind in KINDS]
    each = [f"{IN_SENTENCE[kind]} {widths[kind][1]:,} (width {widths[kind][0]})" for kind in KINDS]
    return state(
        "sizes",
        "Parameters: {each}; they differ by {spread:.1%} at most.",
        each=", ".join(each),
        parameters=parameters,
        spread=max(parameters) / min(parameters) - 1,
    )


# ---- the gradient that arrives ----


def gradient_reach(arriving: Sequence[Arriving]) -> Statement:
    """The norms that arrive at the token farthest back, of every network in the order drawn."""
    norms = {one.kind: float(one.measured[-1]) for one in arriving}
    said = [f"{_size(norm)} in {IN_SENTENCE[kind]}" for kind, norm in norms.items()]
    return state(
        "reach",
        "Of a gradient of norm 1 at the output arrives, {distance} tokens back: {others} and {last}.",
        distance=len(arriving[0].measured) - 1,
        others=", ".join(said[:-1]),
        last=said[-1],
        norms=norms,
    )


@dataclass(frozen=True, slots=True)
class JacobianProducts(Finding):
    """How the product of Jacobians compares with autograd.

    Args:
        rates: of each recurrent network, the factor per step: the geometric mean from 1 step back to the farthest.
        largest: the largest singular value of the RNN's recurrent weights.
        cell_share: what comes along the LSTM's cell state alone, over all that arrives, at the token farthest back.
        difference: the largest relative one between product and autograd.
    """

    rates: tuple[tuple[Kind, float], ...]
    largest: float
    cell_share: float
    difference: float

    @property
    def sentence(self) -> str:
        rates = ", ".join(f"{rate:.2f} in {IN_SENTENCE[kind]}" for kind, rate in self.rates)
        bound = f"The largest singular value of the RNN's recurrent weights is {self.largest:.2f}: " + (
            "below 1, so that every step must shrink the gradient."
            if self.largest < 1
            else "above 1, so that a gradient may grow, and need not."
        )
        return (
            f"Factor per step: {rates}. {bound} Along the LSTM's cell state alone, through its forget gates, comes "
            f"{_size(self.cell_share)} times what arrives at the token farthest back. The product of Jacobians "
            f"and autograd agree within {power(max(AGREED, self.difference))} of the norm."
        )


def jacobian_products(arriving: Sequence[Arriving]) -> JacobianProducts:
    """The products of Jacobians of the recurrent networks among them, beside autograd.

    Raises:
        ValueError: the cell state's part or the largest singular value is missing.
    """
    recurrent = {one.kind: one for one in arriving if one.product is not None}
    lstm, rnn = recurrent["lstm"], recurrent["rnn"]
    if lstm.cell is None or rnn.largest is None:
        raise ValueError("the cell state's part and the largest singular value are missing: see arriving()")
    return JacobianProducts(
        tuple((kind, rate(one)) for kind, one in recurrent.items()),
        rnn.largest,
        float(lstm.cell[-1] / lstm.measured[-1]),
        max(_difference(one) for one in recurrent.values()),
    )


def _size(norm: float) -> str:
    return compact(norm) if 0.01 <= norm < 1000 else power(norm)


def rate(one: Arriving) -> float:
    """The factor per step: the geometric mean from FROM steps back to the farthest."""
    steps = len(one.measured) - 1 - FROM
    return float((one.measured[-1] / one.measured[FROM]) ** (1 / steps))


def _difference(one: Arriving) -> float:
    return float(np.abs(one.product / one.measured - 1).max()) if one.product is not None else 0.0


def real_reach(real: RealGradient) -> Statement:
    """The median norms of a real model over the nearer half of the distances from 1 on, and over the farther half."""
    last = len(real.measured) - 1
    near, far = (float(np.median(part)) for part in np.split(real.measured[1:], [last // 2]))
    return state(
        "real model",
        "In {name} ({layers} layers): {near_text} up to {half} tokens back, {far_text} beyond (medians).",
        name=real.name,
        layers=real.layers,
        near=near,
        near_text=compact(near, 2),
        half=last // 2,
        far=far,
        far_text=compact(far, 2),
    )


# ---- trained side by side ----


def accuracy_by_place(compared: Comparison, task: TaskName) -> Statement:
    """See alike.accuracy_by_place."""
    return alike.accuracy_by_place(compared, *PLACES[task])


def recall_over_seeds(repeats: Repeats) -> Statement:
    """With how many seeds of the task "recall" the LSTM has every letter right at the end, the RNN has more right at
    the shortest distance than at the longest, and the Transformer has THRESHOLD right; and the smallest share that it
    has right."""
    rnn, lstm, transformer = (KINDS.index(kind) for kind in ("rnn", "lstm", "transformer"))
    near_and_far = [(places[rnn][0], places[rnn][-1]) for places in repeats.by_place]
    shares = [each[transformer] for each in repeats.accuracy]
    return state(
        "recall",
        "At the end the LSTM has every letter right with {whole} of {seeds} seeds. The RNN has more right at the "
        "shortest distance than at the longest with {nearer} of {seeds} seeds. The Transformer has {threshold:.0%} or "
        "more right with {learned} of {seeds} seeds, and {least:.0%} with the seed where it has fewest.",
        seeds=len(repeats.seeds),
        whole=sum(each[lstm] == 1 for each in repeats.accuracy),
        nearer=sum(near > far for near, far in near_and_far),
        threshold=THRESHOLD,
        learned=sum(share >= THRESHOLD for share in shares),
        least=min(shares),
    )


# ---- time of one pass ----


@dataclass(frozen=True, slots=True)
class ParallelGain(Finding):
    """Where the Transformer is furthest ahead of the quicker recurrent network, and how times grow at the end.

    Args:
        n: tokens; 0 while nothing can be compared.
        times: (network, seconds) there.
        growth: (network, factor of the last doubling of the length).
    """

    n: int
    times: tuple[tuple[Kind, float], ...]
    growth: tuple[tuple[Kind, float], ...]

    @property
    def sentence(self) -> str:
        if not self.n:
            return "Nothing to compare yet."
        times = dict(self.times)
        ratio = min(times["rnn"], times["lstm"]) / times["transformer"]
        speed = f"{ratio:.1f} times as quick" if ratio >= 1 else f"{1 / ratio:.1f} times slower"
        said = ", ".join(f"{IN_SENTENCE[kind]} {milliseconds(s)}" for kind, s in self.times)
        grown = ", ".join(f"{IN_SENTENCE[kind]} × {factor:.1f}" for kind, factor in self.growth)
        return (
            f"At {self.n:,} tokens the Transformer compares best with the quicker recurrent network: {speed} ({said}). "
            f"The last doubling of the length: {grown}."
        )


def parallel_gain(points: Sequence[TimedPass]) -> ParallelGain:
    """The length at which the Transformer is furthest ahead, of those at which all three were measured."""
    by_length: dict[int, dict[Kind, float]] = {}
    for point in points:
        by_length.setdefault(point.n, {})[point.kind] = point.seconds
    whole = {n: times for n, times in by_length.items() if len(times) == len(KINDS)}
    if len(whole) < 2:
        return ParallelGain(0, (), ())
    best = max(whole, key=lambda n: min(whole[n]["rnn"], whole[n]["lstm"]) / whole[n]["transformer"])
    before, last = sorted(whole)[-2:]
    growth = tuple((kind, whole[last][kind] / whole[before][kind]) for kind in KINDS)
    return ParallelGain(best, tuple((kind, whole[best][kind]) for kind in KINDS), growth)


# ---- attention over an encoder ----


def right_by_length(look: AlignmentEvaluation) -> Statement:
    """Right letters without and with attention, at the longest length of training and at the longest tested."""
    at = LENGTHS.index(TRAINED[1])
    return state(
        "lengths",
        "After {step:,} steps, free-running: of {trained} letters {plain:.0%} are right from one vector and "
        "{attending:.0%} with attention; of {longest} letters {plain_there:.0%} are right from one vector and "
        "{attending_there:.0%} with attention. The longest rows in training have {trained} letters.",
        step=look.step,
        trained=LENGTHS[at],
        plain=look.plain.by_length[at],
        attending=look.attending.by_length[at],
        longest=LENGTHS[-1],
        plain_there=look.plain.by_length[-1],
        attending_there=look.attending.by_length[-1],
    )


def aligned_letters(look: AlignmentEvaluation, order: Order) -> Statement:
    """Where the weights of the alignment that is shown are: letters written, those that are right, those whose largest
    weight is near the letter that they repeat, and exactly on it."""
    n = len(look.read)
    source = list(range(n)) if order == "copy" else list(range(n))[::-1]
    off = [abs(int(look.alignment[i].argmax()) - source[i]) for i in range(n)]
    return state(
        "alignment",
        "Of {letters} letters written {right} are right. {near} have their largest weight on the letter that they "
        "repeat or on one beside it, {exact} on the letter itself: each state of the encoder knows its neighbours.",
        letters=n,
        right=sum(look.wrote[i] == look.read[source[i]] for i in range(n)),
        near=sum(one <= 1 for one in off),
        exact=off.count(0),
    )


@dataclass(frozen=True, slots=True)
class PlaceKept(Finding):
    """How long an alignment keeps its place in rows longer than those trained on, seed by seed.

    Args:
        trained: letters of the longest row in training.
        letters: of the rows here.
        first: share of letters, of the first `trained` written, whose largest weight is on the letter that they repeat
            or on one beside it; for each seed.
        rest: the same of those written after.
    """

    trained: int
    letters: int
    first: tuple[float, ...]
    rest: tuple[float, ...]

    @property
    def lost(self) -> int:
        """Seeds with which it is lost: the share after the trained length is lower by more than LOST."""
        return sum(first - rest > LOST for first, rest in zip(self.first, self.rest, strict=True))

    @property
    def sentence(self) -> str:
        first, rest = (span(shares, ".0%") for shares in (self.first, self.rest))
        said = (
            f"In rows of {self.letters} letters the largest weight is on the right letter or one beside it for "
            f"{first} of the first {self.trained} written, and for {rest} of those after (over {len(self.first)} "
            "seeds). "
        )
        if self.lost == len(self.first):
            return f"The alignment loses its place, with each of {self.lost} seeds. {said}".strip()
        return (
            f"The alignment loses its place with {self.lost} of {len(self.first)} seeds. {said}Where it keeps its "
            "place, letters of long rows are wrong all the same, for a reason that the alignment does not show."
        )


def place_kept(repeats: AlignmentRepeats) -> PlaceKept:
    """The share of letters in the longest rows that are written from the right place, up to the trained length and
    after."""
    cut, letters = TRAINED[1], LENGTHS[-1]
    first = tuple(sum(row[:cut]) / cut for row in repeats.followed)
    rest = tuple(sum(row[cut:]) / (letters - cut) for row in repeats.followed)
    return PlaceKept(cut, letters, first, rest)


def alignment_spread(repeats: AlignmentRepeats) -> Statement:
    """Right letters with and without attention over several seeds, at the longest length trained on, and the number of
    seeds with which attention has more right."""
    at = LENGTHS.index(TRAINED[1])
    plain, attending = ([row[at] for row in rows] for rows in (repeats.plain, repeats.attending))
    without, with_it = (f"{sum(shares) / len(shares):.0%} ({span(shares, '.0%')})" for shares in (plain, attending))
    return state(
        "seeds",
        "Over {seeds} seeds, of {length} letters {without} are right from one vector and {with_it} with attention, "
        "which is more with {more} of {seeds} seeds.",
        seeds=len(plain),
        length=TRAINED[1],
        without=without,
        with_it=with_it,
        more=sum(own > other for own, other in zip(attending, plain, strict=True)),
        plain=plain,
        attending=attending,
    )
