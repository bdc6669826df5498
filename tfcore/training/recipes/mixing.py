"""Results that the page on linear-time mixers keeps: trainings side by side, their repeats, the sizes of their states,
and the time of one pass."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tfcore.training import alike
from tfcore.training.alike import Repeats, repeats_of
from tfcore.training.loop import Progress
from tfcore.training.mixing import comparison
from tfcore.training.mixing.comparison import TASKS, WIDTHS, MixingConfig, begun, compared, kept_repeats, widened
from tfcore.training.mixing.lengths import LengthConfig, timed
from tfcore.training.recipes.results import write_missing

LENGTHS = LengthConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class MixingRecipe:
    """The trainings and measurements.

    Args:
        comparisons: with their first seed they are shown step by step.
        seeds: of the repeats of each comparison.
        widths: of keys, at each of which some of the networks are trained with all seeds.
        lengths: what is timed.
        steps: of every training; None leaves them as they are.
    """

    comparisons: tuple[MixingConfig, ...] = tuple(begun(task) for task in TASKS)
    seeds: tuple[int, ...] = (0, 1, 2)
    widths: tuple[int, ...] = WIDTHS
    lengths: LengthConfig = LENGTHS
    steps: int | None = None


MIXING = MixingRecipe()


def mixing(
    corpus: Path | None,  # noqa: ARG001 - the task is made here
    out: Path,
    report: Callable[[Progress], None],  # noqa: ARG001 - minutes, without steps to report
    recipe: MixingRecipe = MIXING,
) -> dict[str, float]:
    """Make every file that `out` does not have yet, and return what `of_mixing` does."""
    makers: dict[str, Callable[[MixingRecipe], dict[str, Any]]] = {
        "comparisons.json": _comparisons,
        "seeds.json": lambda own: {one.task: asdict(_repeats(one, own)) for one in own.comparisons},
        "sizes.json": lambda own: {
            str(width): asdict(_repeats(widened(width, 0), own))
            for width in own.widths
            if width not in {one.d_key for one in own.comparisons if one.task == "one layer"}  # in its repeats already
        },
        "lengths.json": lambda own: asdict(timed(own.lengths)),
    }
    write_missing(out, makers, recipe)
    return of_mixing()


def _comparisons(recipe: MixingRecipe) -> dict[str, Any]:
    return {one.task: alike.to_json(compared(_of(recipe, one))) for one in recipe.comparisons}


def _repeats(config: MixingConfig, recipe: MixingRecipe) -> Repeats:
    return repeats_of([compared(replace(_of(recipe, config), seed=seed)) for seed in recipe.seeds])


def _of(recipe: MixingRecipe, config: MixingConfig) -> MixingConfig:
    return config if recipe.steps is None else replace(config, steps=recipe.steps)


def of_mixing() -> dict[str, float]:
    """Share of right tokens of every kept training: task, network and seed -> share; and by width of the keys."""
    shares = {
        f"{task}_{kind}_{seed}": share
        for task in TASKS
        for seed, accuracy in zip(kept_repeats(task).seeds, kept_repeats(task).accuracy, strict=True)
        for kind, share in zip(comparison.KINDS[task], accuracy, strict=True)
    }
    sizes = {
        f"d_key {width}_{kind}_{seed}": share
        for width, repeats in comparison.kept_sizes().items()
        for seed, accuracy in zip(repeats.seeds, repeats.accuracy, strict=True)
        for kind, share in zip(comparison.SWEPT, accuracy, strict=True)
    }
    return shares | sizes
