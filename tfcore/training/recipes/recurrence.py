"""Results that the page on recurrence keeps: trainings side by side and their repeats, alignments, times of a pass, and
the gradient in a real model."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tfcore.measures.heads.kinds import TEXTS
from tfcore.training.alike import repeats_of
from tfcore.training.loop import Progress
from tfcore.training.recipes.neurons import with_tokenizer
from tfcore.training.recipes.results import write_missing
from tfcore.training.recurrent import alignment
from tfcore.training.recurrent import comparison as comparisons
from tfcore.training.recurrent.alignment import ORDERS, AlignmentConfig, aligned
from tfcore.training.recurrent.comparison import BEGIN, TASKS, ComparisonConfig, kept_repeats
from tfcore.training.recurrent.networks import KINDS
from tfcore.training.recurrent.passes import PassConfig, timed
from tfcore.training.recurrent.real_model import real_gradient
from tfcore.training.recurrent.side_by_side import compared

PASSES = PassConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrenceRecipe:
    """The trainings and measurements.

    Args:
        comparisons: with their first seed they are shown step by step.
        seeds: of the repeats of each comparison.
        alignments: one for each order, with the first seed; their repeats have all.
        passes: width of the networks that are timed, and their seed.
        real: the model whose gradient is measured, and its name.
    """

    comparisons: tuple[ComparisonConfig, ...] = tuple(BEGIN.values())
    seeds: tuple[int, ...] = (0, 1, 2)
    alignments: tuple[AlignmentConfig, ...] = tuple(AlignmentConfig(order=order) for order in ORDERS)
    passes: PassConfig = PASSES
    real: tuple[str, str] = ("smollm2", "SmolLM2")


RECURRENCE = RecurrenceRecipe()


def recurrence(
    corpus: Path | None,  # noqa: ARG001 - the tasks are made here
    out: Path,
    report: Callable[[Progress], None],  # noqa: ARG001 - minutes, without steps to report
    recipe: RecurrenceRecipe = RECURRENCE,
) -> dict[str, float]:
    """Make every file that `out` does not have yet, and return what `of_recurrence` does.

    Raises:
        CheckpointError: the real model is not there.
    """
    makers: dict[str, Callable[[RecurrenceRecipe], dict[str, Any]]] = {
        "comparisons.json": _comparisons,
        "seeds.json": _repeats,
        "alignments.json": lambda own: {one.order: alignment.to_json(aligned(one)) for one in own.alignments},
        "alignment_seeds.json": _alignment_repeats,
        "passes.json": lambda own: asdict(timed(own.passes)),
        "real_model.json": _real_gradient,
    }
    write_missing(out, makers, recipe)
    return of_recurrence()


def _comparisons(recipe: RecurrenceRecipe) -> dict[str, Any]:
    return {one.task: comparisons.to_json(compared(one)) for one in recipe.comparisons}


def _repeats(recipe: RecurrenceRecipe) -> dict[str, Any]:
    return {
        one.task: asdict(repeats_of([compared(replace(one, seed=seed)) for seed in recipe.seeds]))
        for one in recipe.comparisons
    }


def _alignment_repeats(recipe: RecurrenceRecipe) -> dict[str, Any]:
    return {
        one.order: asdict(
            alignment.alignment_repeats(recipe.seeds, [aligned(replace(one, seed=seed)) for seed in recipe.seeds])
        )
        for one in recipe.alignments
    }


def _real_gradient(recipe: RecurrenceRecipe) -> dict[str, Any]:
    """Over the standard texts of head_ranking."""
    model, tokenizer = with_tokenizer(recipe.real[0])
    gradient = real_gradient(recipe.real[1], model, [id_ for text in TEXTS for id_ in tokenizer.encode(text)])
    measured = [float(f"{value:.5g}") for value in gradient.measured]
    return {"name": gradient.name, "layers": gradient.layers, "windows": gradient.windows, "measured": measured}


def of_recurrence() -> dict[str, float]:
    """Share of right tokens of every kept training: task, network and seed -> share."""
    return {
        f"{task}_{kind}_{seed}": share
        for task in TASKS
        for seed, shares in zip(kept_repeats(task).seeds, kept_repeats(task).accuracy, strict=True)
        for kind, share in zip(KINDS, shares, strict=True)
    }
