"""Findings about attention in pieces: the online softmax of a query, tiles on one chip, blocks around a ring."""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Int
from numpy import ndarray

from tfcore.measures.quantities import compact
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inference.long_context.measure.flash import FlashRun
from tfcore.views.inference.long_context.measure.online_softmax import RowStep
from tfcore.views.inference.long_context.measure.ring import Layout, RingRun

ENOUGH = 1e-5  # some ten roundings of float32 (1.2e-7) at values of a few units; how many depends on the processor
LAST = 3  # steps that a finding tells of


@dataclass(frozen=True, slots=True)
class RowState:
    """A query after a step: the running maximum, the factor for what was there before, and the normaliser."""

    number: int
    m: float
    rescale: float
    l: float  # noqa: E741


@dataclass(frozen=True, slots=True)
class RowProgress(Finding):
    """A query after some of its steps.

    Args:
        unit: what a step merges: "tile", or "step" around the ring.
        last: the states after the last steps, at most LAST.
        done, total: steps.
    """

    unit: str
    last: tuple[RowState, ...]
    done: int
    total: int

    @property
    def sentence(self) -> str:
        states = "; ".join(
            f"after {self.unit} {one.number}: m {one.m:.3f}, rescale {one.rescale:.3g}, l {one.l:.3f}"
            for one in self.last
        )
        start = f"A{states[1:]}; " if states else "Nothing yet; "
        return f"{start}{self.done} of {self.total} {'tiles' if self.unit == 'tile' else 'blocks'} merged."


def row_progress(unit: str, done: Sequence[RowStep], total: int) -> RowProgress:
    """The last steps of those that are done."""
    last = tuple(RowState(step.at + 1, step.m, step.rescale, step.l) for step in done[-LAST:])
    return RowProgress(unit, last, len(done), total)


@dataclass(frozen=True, slots=True)
class Difference(Finding):
    """How far attention in pieces is from standard attention.

    Args:
        single: the largest difference in float32, over all queries and numbers.
        double: the same in float64.
    """

    single: float
    double: float

    @property
    def verdict(self) -> str:
        """Whether the difference in float32 is one of rounding as usual."""
        return "equal to 1e-5" if self.single <= ENOUGH else "rounding of float32"

    @property
    def words(self) -> tuple[str, str]:
        """The difference in float32 and in float64, in digits."""
        return f"{self.single:.1e}", f"{self.double:.1e}"

    @property
    def sentence(self) -> str:
        single, double = self.words
        return f"The difference to standard attention is {single} at most ({self.verdict}), in float64 {double}."


def off_by(run: FlashRun | RingRun) -> Difference:
    """The difference at the end of a run."""
    return Difference(run.difference, run.exact)


def tile_place(run: FlashRun, tile: int) -> Statement:
    """The place of a tile, counted from 0 in the order of computation."""
    top, bottom, left, right = (int(edge) for edge in run.tiles[tile])
    return state(
        "tile",
        "Tile {tile} of {tiles}: queries {queries[0]} to {queries[1]}, keys {keys[0]} to {keys[1]}; {skipped} of "
        "{all_tiles} tiles skipped.",
        tile=tile + 1,
        tiles=len(run.tiles),
        queries=(top, bottom - 1),
        keys=(left, right - 1),
        skipped=run.skipped,
        all_tiles=run.tiling.all_tiles,
    )


def rescaling(run: FlashRun) -> Statement:
    """How often the sums of the followed query were scaled down; the first tile has nothing before it to scale, but for
    a learned sink."""
    after_sink = run.steps[0].old_l > 0
    later = [step for step in run.steps[0 if after_sink else 1 :] if step.rescale < 1]
    if not later and after_sink:
        return state("sink above all", "For this query no tile beats the learned sink: the factor stays 1.")
    if not later:
        return state("no rescaling", "For this query no tile beats the first: the factor stays 1.")
    least = min(later, key=lambda step: step.rescale)
    return state(
        "rescaling",
        "For this query the factor is below 1 in {below} of {tiles} tiles, the smallest in tile {tile}: what was there "
        "before then counts {factor} of what it did.",
        below=len(later),
        tiles=len(run.steps),
        tile=least.at + 1,
        factor=compact(least.rescale),
    )


def tile_scores(run: FlashRun, step: RowStep) -> Statement:
    """The scores of the followed query in a tile: the largest, and the sum of the weights e^(score - largest)."""
    return state(
        "tile scores",
        "Scores of query {query} in tile {tile}: largest {largest}, weights adding up to {total}.",
        query=run.row,
        tile=step.at + 1,
        largest=compact(step.tile_m),
        total=compact(step.tile_l),
    )


def plain_number(run: FlashRun) -> Statement:
    """The first number of the output of the followed query, by standard attention."""
    return state("plain number", "First number by standard attention: {value}.", value=compact(float(run.naive[0])))


def ring_step(run: RingRun, step: int) -> Statement:
    """The blocks that every device holds at a step, from 0, and how many devices have nothing to compute."""
    held = [int(block) for block in run.held[step]]
    return state(
        "ring step",
        "Step {step} of {devices}: {where}; {idle} of {devices} devices idle.",
        step=step + 1,
        devices=len(held),
        where=", ".join(f"device {device} has KV{block}" for device, block in enumerate(held)),
        idle=int((run.work[step] == 0).sum()),
    )


def meetings(run: RingRun, step: int) -> Statement:
    """The blocks of queries and keys that have met after a step, from 0; each device meets one block a step."""
    devices = len(run.held)
    return state(
        "meetings",
        "{met} of {total} blocks of queries and keys have met after step {step}.",
        step=step + 1,
        met=(step + 1) * devices,
        total=devices * devices,
    )


@dataclass(frozen=True, slots=True)
class StillToCome(Finding):
    """How far the result after a step is from the end.

    Args:
        missing: share of the softmax's weight that has not come yet, mean over all queries.
        off: the largest difference to standard attention, if the states were finished now.
        is_last: whether this is the last step.
        final: the difference at the end.
    """

    missing: float
    off: float
    is_last: bool
    final: Difference

    @property
    def missing_share(self) -> str:
        return f"{self.missing:.1%}"

    @property
    def off_words(self) -> tuple[str, str]:
        """The difference now, and what it says."""
        return f"{self.off:.1e}", self.final.verdict if self.is_last else "not done yet"

    @property
    def in_double(self) -> str:
        """The difference at the end in float64."""
        return f"{self.final.double:.0e}"

    @property
    def sentence(self) -> str:
        value, verdict = self.off_words
        return f"Weight still to come: {self.missing_share}; off standard attention by {value}, {verdict}."


def still_to_come(run: RingRun, step: int) -> StillToCome:
    """State what is missing after a step, from 0."""
    return StillToCome(float(run.missing[step]), float(run.off[step]), step + 1 == len(run.held), off_by(run))


def load_balance(layout: Layout, work: Int[ndarray, "step device"]) -> Statement:
    """How evenly the work is shared: all pairs beside those of the slowest device of each step, for which the others
    wait."""
    pairs, slowest = int(work.sum()), int(work.max(axis=1).sum())
    return state(
        "load balance",
        "Tokens {layout}: {pairs:,} (query, key) pairs in all, {slowest:,} on the slowest device of each step: busy "
        "{busy:.0%} of the time.",
        layout=layout,
        pairs=pairs,
        slowest=slowest,
        busy=pairs / (work.shape[1] * slowest),
    )
