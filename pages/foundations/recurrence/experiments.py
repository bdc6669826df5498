"""The experiments of the page on recurrence."""

from collections.abc import Sequence

from tfcore.analysis.foundations.recurrence.alignment_findings import aligned_letters, alignment_spread, right_by_length
from tfcore.analysis.foundations.recurrence.comparison_findings import (
    accuracy_by_place,
    held_out_accuracy,
    learned,
    seed_spread,
)
from tfcore.analysis.foundations.recurrence.gradient_findings import gradient_reach, jacobian_products, real_reach
from tfcore.analysis.foundations.recurrence.pass_findings import parallel_gain
from tfcore.figures.foundations.recurrence import (
    Against,
    alignment_figure,
    course_figure,
    gradient_figure,
    length_figure,
    passes_figure,
    place_figure,
)
from tfcore.figures.shown import Shown
from tfcore.training.recurrent.alignment import AlignmentLook, AlignmentRepeats, Order
from tfcore.training.recurrent.comparison import Comparison, Repeats, TaskName, kept_comparison
from tfcore.training.recurrent.gradients import Arriving
from tfcore.training.recurrent.passes import Passes
from tfcore.training.recurrent.real_model import kept_real_gradient


def trained_gradients(task: TaskName) -> tuple[Arriving, ...]:
    """What was measured in the networks that were trained on a task."""
    return kept_comparison(task).gradients


def gradients(found: Sequence[Arriving], height: int = 420) -> Shown:
    """The gradient that arrives at the token d steps back, in a plain RNN, an LSTM and a Transformer of equal size,
    and in a real model."""
    real = kept_real_gradient()
    findings = gradient_reach(found), real_reach(real), jacobian_products(found)
    return Shown(gradient_figure(found, real, height), findings)


def course(found: Comparison, against: Against = "steps", repeats: Repeats | None = None, height: int = 360) -> Shown:
    """The loss of the three networks, trained on the same batches, against steps or seconds; and what the same training
    gives with other seeds."""
    spread = () if repeats is None else (seed_spread(repeats),)
    return Shown(course_figure(found, against, height), (held_out_accuracy(found), learned(found), *spread))


def by_place(found: Comparison, repeats: Repeats | None = None, height: int = 300) -> Shown:
    """What each network has right, by the distance or the place of the answer."""
    return Shown(place_figure(found, repeats, height), (accuracy_by_place(found),))


def passes(found: Passes, height: int = 400) -> Shown:
    """Seconds of one pass over a sequence, by its length, for three networks with as many parameters."""
    return Shown(passes_figure(found, height), (parallel_gain(found.points),))


def lengths(look: AlignmentLook, attention: bool, height: int = 340, repeats: AlignmentRepeats | None = None) -> Shown:
    """Right letters by length, of an encoder-decoder with one vector between, and of one with attention; and what the
    same training gives with other seeds."""
    spread = () if repeats is None else (alignment_spread(repeats),)
    return Shown(length_figure(look, attention, height), (right_by_length(look), *spread))


def alignment(look: AlignmentLook, order: Order, height: int = 400) -> Shown:
    """The weight on each letter that was read while each letter is written (arXiv:1409.0473, figure 3)."""
    return Shown(alignment_figure(look, height), (aligned_letters(look, order),))
