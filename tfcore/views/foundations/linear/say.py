"""Findings on linear-time mixers: the matrix one implies, the state it carries, recall, and time by length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.measures.quantities import power
from tfcore.measures.timing import milliseconds
from tfcore.measures.token_text import visible
from tfcore.training.alike import Repeats, SeedRange, accuracy_ranges
from tfcore.training.mixing.comparison import KINDS, NAMED, SWEPT, MixedKind, MixingConfig, Regained, begun, regained
from tfcore.training.mixing.lengths import Form, LengthConfig, TimedLengths
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.foundations.linear.measure import (
    PAIRS,
    ROWS_OF_RECALL,
    WITHOUT_STATE,
    CarriedState,
    MixerRow,
    StoredPairs,
)

FORM_NAMES: dict[Form, str] = {
    "attention": "softmax attention",
    "matrix": "the matrix",
    "chunked": "in chunks",
    "recurrent": "token by token",
}
ROUNDED = 1e-5  # what differs less is rounding, and differs from machine to machine
READ_BACK = 0.9  # cosine from which on a value counts as read back
RECALLED = 0.9  # share of right values, to say how many pairs fit
NAMES: dict[MixerRow, str] = {
    "linear": "Linear attention",
    "decay": "Decay",
    "gated": "Gated linear attention",
    "ssm": "SSD",
    "delta": "The delta rule",
    "gated delta": "The gated delta rule",
    "conv": "A short convolution",
}


def row_peaks(matrix: np.ndarray) -> float:
    """The largest share that one token has of the sizes in a row, in the mean over the rows."""
    sizes = np.abs(matrix)
    return float((sizes.max(-1) / np.maximum(sizes.sum(-1), 1e-12)).mean())


def softmax_peaks(carried: CarriedState) -> Statement:
    """How much of a query's weight its largest key has, in the mean, and how much the first token has."""
    return state(
        "softmax",
        "Softmax attention, as the model has it: a query's largest weight is {peak:.2f} in the mean, the first token's "
        "{first:.2f}.",
        peak=row_peaks(carried.weights),
        first=float(carried.weights[:, 0].mean()),
    )


@dataclass(frozen=True, slots=True)
class ImpliedMatrix(Finding):
    """How a mixer's matrix compares with softmax's.

    Args:
        row: the mixer.
        peak: the largest part of a row's sizes that one token has, in the mean.
        softmax: the same of softmax attention.
        negative: share of the numbers that are below 0.
    """

    row: MixerRow
    peak: float
    softmax: float
    negative: float

    @property
    def sentence(self) -> str:
        if self.row == WITHOUT_STATE:
            return (
                "A short convolution has the same band for every text: what it mixes does not depend on the tokens. "
                "Its weights are set equal here; a trained layer has its own in each channel."
            )
        flatter = "flatter than" if self.peak < self.softmax else "at least as sharp as"
        signed = f"; {self.negative:.0%} of its numbers are negative" if self.negative else ""
        return (
            f"{NAMES[self.row]}: the largest number of a row has {self.peak:.0%} of its sum of sizes in the mean, "
            f"{flatter} softmax's {self.softmax:.0%}{signed}."
        )


def implied(carried: CarriedState, row: MixerRow) -> ImpliedMatrix:
    """Compare the two matrices of a head."""
    seen = carried.matrix[np.tril_indices(len(carried.matrix))]
    return ImpliedMatrix(row, row_peaks(carried.matrix), row_peaks(carried.weights), float((seen < 0).mean()))


def state_after(carried: CarriedState, tokens: Sequence[str], token: int) -> Statement:
    """The size, norm and rank of the state after a token, beside what attention keeps."""
    return state(
        "state",
        "After '{token}' at position {place}: norm {norm:.3g}, {rank} of at most {most} singular values above 1 % of "
        "the largest. {numbers:whole} numbers at any length; attention keeps {kept:whole} so far.",
        token=visible(tokens[token]),
        place=token,
        norm=float(carried.norms[token]),
        rank=carried.ranks[token],
        most=min(carried.states.shape[1:]),
        numbers=carried.numbers,
        kept=int(carried.kept[token]),
    )


def still_held(carried: CarriedState, tokens: Sequence[str], token: int) -> Statement:
    """Of how many tokens the key still reads the value, and which is read best and worst."""
    held = carried.held[token, : token + 1]
    best, worst = int(held.argmax()), int(held.argmin())
    return state(
        "held",
        "{many} of {number:counted token} {verb} read back with a cosine above {above}; best '{best}' ({high:.2f}), "
        "worst '{worst}' ({low:.2f}).",
        many=int((held > READ_BACK).sum()),
        number=token + 1,
        verb="are" if token else "is",
        above=READ_BACK,
        best=visible(tokens[best]),
        high=float(held[best]),
        worst=visible(tokens[worst]),
        low=float(held[worst]),
    )


def written_and_lost(carried: CarriedState, tokens: Sequence[str]) -> Statement:
    """The tokens that write most and that take most away, and how the state grows."""
    most, least = int(carried.written.argmax()), int(carried.lost.argmax())
    lost = float(carried.lost[least])
    return state(
        "written",
        "Most is written at '{most}' ({written:.3g}), {faded}; the state's norm goes from {first:.3g} to {last:.3g}.",
        most=visible(tokens[most]),
        written=float(carried.written[most]),
        faded=f"most fades or is erased at '{visible(tokens[least])}' ({lost:.3g})" if lost else "nothing fades",
        first=float(carried.norms[0]),
        last=float(carried.norms[-1]),
    )


def forms_agree(carried: CarriedState) -> Statement:
    """How near the outputs of the three forms are to each other."""
    return state(
        "forms",
        "Token by token, in chunks and as the matrix, the outputs agree within {difference} of the largest.",
        difference=power(max(ROUNDED, carried.difference)),
    )


def scale_ends(most: float, largest: float) -> str:
    """Where the colours of a state end, if some numbers lie beyond."""
    return f"Colours end at {most:.2g}; the largest number is {largest:.2g}." if largest > most else ""


def pairs_that_fit(stored: StoredPairs) -> Statement:
    """The most pairs, of those tried, of which RECALLED come back right, for each memory."""
    fits = {
        row: max((pairs for pairs, share in zip(PAIRS, shares, strict=True) if share >= RECALLED), default=0)
        for row, shares in zip(ROWS_OF_RECALL, stored.right, strict=True)
    }
    last = dict(zip(ROWS_OF_RECALL, stored.right[:, -1].tolist(), strict=True))
    return state(
        "pairs",
        "Keys of width {d_key}: {threshold:.0%} of the values come back for up to {linear} pairs that are summed, "
        "{delta} written by the delta rule, {softmax} with softmax. Of {most} pairs, {last_linear:.0%}, "
        "{last_delta:.0%} and {last_softmax:.0%}.",
        d_key=stored.d_key,
        threshold=RECALLED,
        most=PAIRS[-1],
        **fits,
        **{f"last_{row}": share for row, share in last.items()},
    )


def sizes_of_states(sizes: Mapping[int, Repeats], attention: SeedRange) -> Statement:
    """The mean share of right answers with the smallest and with the largest state, over all seeds."""
    low, high = (accuracy_ranges(sizes[end(sizes)], SWEPT) for end in (min, max))
    each = ", ".join(f"{NAMED[kind]} {low[kind].mean:.0%} and {high[kind].mean:.0%}" for kind in SWEPT)
    return state(
        "sizes",
        "Right answers with {small} and with {large} numbers of state: {each}; attention {attention:.0%}. Means of "
        "{seeds} seeds, bars from the lowest to the highest.",
        small=MixingConfig(d_key=min(sizes)).state,
        large=MixingConfig(d_key=max(sizes)).state,
        each=each,
        attention=attention.mean,
        seeds=len(next(iter(sizes.values())).seeds),
    )


@dataclass(frozen=True, slots=True)
class HybridRecall(Finding):
    """How much of the recall that layers with a state lack comes back with one layer of attention in four.

    Args:
        steps: of each training.
        ranges: network -> its share of right answers over the seeds.
        hybrids: network with one layer of attention -> what that brings.
    """

    steps: int
    seeds: int
    ranges: dict[str, SeedRange]
    hybrids: dict[MixedKind, Regained]

    @property
    def sentence(self) -> str:
        return (
            f"Four layers after {self.steps} steps, means of {self.seeds} seeds: attention in all "
            f"{self.ranges['attention'].mean:.0%} right, in none {self.ranges['gated delta'].mean:.0%}"
            + "".join(f"; in the {kind} alone {self._of(kind)}" for kind in self.hybrids)
            + ". Intervals of 95 % of the difference over the seeds."
        )

    def _of(self, kind: MixedKind) -> str:
        one, back = self.hybrids[kind].difference, self.hybrids[kind].share
        points = f"{100 * one.mean:+.0f} points against none ({100 * one.low:+.0f} to {100 * one.high:+.0f})"
        brought = f", {back:.0%} of what was missing" if back is not None and one.is_clear else ""
        unclear = "" if one.is_clear else ", which these seeds do not tell from none"
        return f"{self.ranges[kind].mean:.0%}, {points}{brought}{unclear}"


def recall_regained(repeats: Repeats) -> HybridRecall:
    """Compare attention in all layers, in one and in none."""
    ranges = accuracy_ranges(repeats, KINDS["four layers"])
    return HybridRecall(begun("four layers").steps, len(repeats.seeds), ranges, regained(repeats))


def equal_parameters(config: MixingConfig, counts: Mapping[str, int]) -> Statement:
    """The parameters of the networks, and by how much the largest exceeds the smallest."""
    each = ", ".join(f"{config.names[kind]} {count:,}" for kind, count in counts.items())
    return state(
        "parameters",
        "Parameters: {each}; they differ by {spread:.1%} at most.",
        each=each,
        spread=max(counts.values()) / min(counts.values()) - 1,
    )


def time_by_length(timed: TimedLengths) -> Statement:
    """The times at the longest text that was measured, and how much more the last doubling took."""
    n = max((point.n for point in timed.points), default=0)
    at = {point.form: point.seconds for point in timed.points if point.n == n}
    half = {point.form: point.seconds for point in timed.points if 2 * point.n == n}
    said = []
    for form, seconds in at.items():
        factor = f" (× {seconds / half[form]:.1f})" if form in half else ""
        said.append(f"{FORM_NAMES[form]} {milliseconds(seconds)}{factor}")
    return state(
        "times",
        "{n:counted token}: {each}; in brackets the factor of the last doubling. The forms of the state agree within "
        "{difference}."
        if at
        else "Nothing is measured yet.",
        n=n,
        each=", ".join(said),
        difference=power(max(ROUNDED, timed.difference)) if at else "",
    )


def kept_at(config: LengthConfig, n: int) -> Statement:
    """What generation keeps of a text of n tokens."""
    keys, one = config.kept_numbers("attention", n), config.kept_numbers("recurrent", n)
    return state(
        "kept",
        "After {n:whole} tokens attention keeps {keys:whole} numbers, the state {one:whole}: {ratio:.0f} times fewer. "
        "They are equally many after {equal:counted token}.",
        n=n,
        keys=keys,
        one=one,
        ratio=keys / one,
        equal=round(one / config.kept_numbers("attention", 1)),
    )
