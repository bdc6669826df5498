"""What is said of the norm of the stream and its cosine to the final state."""

from dataclasses import dataclass

from tfcore.measures.lenses import stage_names
from tfcore.measures.token_text import visible
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inside.stream.measure.shape import AXES, Measure, StreamShape
from tfcore.views.inside.stream.measure.skip import part_name

NAMED = 12  # parts that a sentence names


@dataclass(frozen=True, slots=True)
class StreamCurve(Finding):
    """One position's norm or cosine from the first stage to the last.

    Args:
        measure: "norm" or "cosine".
        token, position: that is looked at.
        first, middle, last: the measure at the first stage, in the middle, and at the last.
    """

    measure: Measure
    token: str
    position: int
    first: float
    middle: float
    last: float

    @property
    def sentence(self) -> str:
        course = (
            f"from {self.first:.1f} to {self.last:.1f}, {self.last / self.first:.1f} times as large"
            if self.measure == "norm"
            else f"from {self.first:.2f} to 1; half way through {self.middle:.2f}"
        )
        return f"{AXES[self.measure].capitalize()} of '{visible(self.token)}', position {self.position}: {course}."


def stream_curve(found: StreamShape, measure: Measure, token: str, position: int) -> StreamCurve:
    """The course of one position."""
    values = getattr(found, measure)[:, position].tolist()
    return StreamCurve(measure, token, position, values[0], values[len(values) // 2], values[-1])


@dataclass(frozen=True, slots=True)
class WrittenNorms(Finding):
    """The norm of what the parts add to the stream at one position.

    Args:
        norms: of the parts with the largest, in the order of computation.
        count: of all parts.
    """

    norms: dict[str, float]
    count: int

    @property
    def sentence(self) -> str:
        norms = ", ".join(f"{name} {norm:.1f}" for name, norm in self.norms.items())
        if len(self.norms) < self.count:
            return f"Norm of what each of {self.count} parts adds; the largest {len(self.norms)}: {norms}."
        return f"Norm of what each part adds: {norms}."


def written_norms(found: StreamShape, position: int) -> tuple[WrittenNorms, Statement]:
    """Norms of all parts; the largest of them, and the lowest cosine."""
    names = [part_name(name, short=True) for name in found.parts]
    norms = dict(zip(names, found.added[:, position].tolist(), strict=True))
    cosines = dict(zip(names, found.along[:, position].tolist(), strict=True))
    largest = max(norms, key=lambda name: norms[name])
    lowest = min(cosines, key=lambda name: cosines[name])
    named = sorted(norms, key=lambda name: -norms[name])[:NAMED]
    few = {name: norm for name, norm in norms.items() if name in named}
    extremes = state(
        "written extremes",
        "Largest norm: {largest}, {norm:.1f}. Lowest cosine: {lowest}, {cosine:+.2f}.",
        largest=largest,
        norm=norms[largest],
        lowest=lowest,
        cosine=cosines[lowest],
    )
    return WrittenNorms(few, len(norms)), extremes


def largest_turn(found: StreamShape) -> Statement:
    """The stage that turns the stream most towards its final state: the largest rise of the mean cosine."""
    rise = (found.cosine[1:] - found.cosine[:-1]).mean(1)
    return state(
        "largest turn",
        "In the mean over this text it rises most with {stage}, by {rise:.2f}.",
        stage=stage_names(found.stages)[int(rise.argmax()) + 1],
        rise=float(rise.max()),
    )
