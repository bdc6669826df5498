"""Findings on the norm of the stream and its cosine to the final state."""

from collections.abc import Sequence

from tfcore.measures.lenses import stage_names
from tfcore.measures.token_text import visible
from tfcore.views.finding import Statement, state
from tfcore.views.inside.stream.measure.shape import AXES, Measure, StreamShape

NAMED = 12  # parts that a sentence names


def stream_curve(stream: StreamShape, measure: Measure, token: str, position: int) -> Statement:
    """One position's norm or cosine from the first stage to the last."""
    values = getattr(stream, measure)[:, position].tolist()
    course = (
        "from {first:.1f} to {last:.1f}, {times:.1f} times as large"
        if measure == "norm"
        else "from {first:.2f} to 1; half way through {middle:.2f}"
    )
    return state(
        "course",
        "{measure} of '{token}', position {position}: " + course + ".",
        measure=AXES[measure].capitalize(),
        token=visible(token),
        position=position,
        first=values[0],
        middle=values[len(values) // 2],
        last=values[-1],
        times=values[-1] / values[0],
    )


def written_norms(stream: StreamShape, position: int, names: Sequence[str]) -> tuple[Statement, Statement]:
    """Norms of all parts; the largest of them, and the lowest cosine.

    Args:
        names: of the parts.
    """
    norms = dict(zip(names, stream.added[:, position].tolist(), strict=True))
    cosines = dict(zip(names, stream.along[:, position].tolist(), strict=True))
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
    each = "each part" if len(few) == len(norms) else "each of {count} parts"
    largest_few = "" if len(few) == len(norms) else "; the largest {named}"
    written = state(
        "written norms",
        "Norm of what " + each + " adds" + largest_few + ": {norms}.",
        count=len(norms),
        named=len(few),
        norms=", ".join(f"{name} {norm:.1f}" for name, norm in few.items()),
    )
    return written, extremes


def largest_turn(stream: StreamShape) -> Statement:
    """The stage that turns the stream most towards its final state: the largest rise of the mean cosine."""
    rise = (stream.cosine[1:] - stream.cosine[:-1]).mean(1)
    return state(
        "largest turn",
        "In the mean over this text it rises most with {stage}, by {rise:.2f}.",
        stage=stage_names(stream.stages)[int(rise.argmax()) + 1],
        rise=float(rise.max()),
    )
