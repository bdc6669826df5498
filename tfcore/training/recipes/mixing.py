"""Results that the page on linear-time mixers keeps: trainings side by side, their repeats, the sizes of their states,
and the time of one pass."""

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import nan
from pathlib import Path
from typing import Any

from tfcore.training import alike
from tfcore.training.alike import Comparison, Repeats, accuracy_ranges, repeats_of
from tfcore.training.loop import Progress
from tfcore.training.mixing import comparison
from tfcore.training.mixing.comparison import (
    FOLDER,
    KINDS,
    SWEPT,
    TASKS,
    WIDTHS,
    MixingConfig,
    begun,
    config_of,
    kept_repeats,
    kept_sizes,
    regained,
    widened,
)
from tfcore.training.mixing.lengths import LengthConfig, timed
from tfcore.training.mixing.pairs import ASKED, KEYS
from tfcore.training.recipes.results import made_once, write_missing

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
    report: Callable[[Progress], None],
    recipe: MixingRecipe = MIXING,
) -> dict[str, float]:
    """Make every file that `out` does not have yet, and return what `of_mixing` does of them.

    Each training is kept in a folder of `out` until all files are there: stopped, the same command goes on with the
    training that it was stopped in.
    """
    runs = KeptTrainings(out / "runs", recipe, report)
    makers: dict[str, Callable[[MixingRecipe], dict[str, Any]]] = {
        "comparisons.json": lambda own: {one.task: runs.json_of(runs.own(one)) for one in own.comparisons},
        "seeds.json": lambda own: {one.task: asdict(runs.repeats(one)) for one in own.comparisons},
        "sizes.json": lambda own: {
            str(width): asdict(runs.repeats(widened(width, 0)))
            for width in own.widths
            if width not in {one.d_key for one in own.comparisons if one.task == "one layer"}  # in its repeats already
        },
        "lengths.json": lambda own: asdict(timed(own.lengths)),
    }
    write_missing(out, makers, recipe)
    shutil.rmtree(runs.folder, ignore_errors=True)
    return of_mixing(out)


@dataclass(frozen=True, slots=True)
class KeptTrainings:
    """Trainings of a recipe, each made once.

    Args:
        folder: has a file for each.
    """

    folder: Path
    recipe: MixingRecipe
    report: Callable[[Progress], None]

    def own(self, config: MixingConfig) -> MixingConfig:
        """A training with the recipe's steps."""
        return config if self.recipe.steps is None else replace(config, steps=self.recipe.steps)

    def json_of(self, config: MixingConfig) -> dict[str, Any]:
        """A training as JSON-ready values."""
        kinds = "-".join(config.kinds) if config.only else "all"
        words = (config.task, kinds, config.d_key, config.steps, config.rows, config.lr, config.seed)
        name = " ".join(map(str, words)).replace(" ", "_")
        return made_once(self.folder / f"{name}.json", lambda: alike.to_json(self.trained(config)))

    def trained(self, config: MixingConfig) -> Comparison:
        """A training, reported at every look."""
        began = time.perf_counter()
        for looked in comparison.compare(config):
            if looked is not None:
                last, spent = looked, time.perf_counter() - began
                step, shares = looked.last.step, dict(zip(map(str, config.kinds), looked.last.accuracy, strict=True))
                tokens = step * config.rows * (KEYS + ASKED) * len(config.kinds)
                loss, to_go = sum(looked.last.loss) / len(shares), spent * (config.steps - step) / step
                self.report(Progress(step, config.steps, loss, config.lr, nan, tokens / spent, to_go, shares))
        return last

    def repeats(self, config: MixingConfig) -> Repeats:
        """The same training with all seeds."""
        configs = [self.own(replace(config, seed=seed)) for seed in self.recipe.seeds]
        return repeats_of([alike.from_json(self.json_of(one), config_of) for one in configs])


def of_mixing(folder: Path = FOLDER) -> dict[str, float]:
    """The figures of the page on linear-time mixers: shares of right tokens of every network over its seeds, how far
    hybrids are above no attention, and means by the size of the state.

    Args:
        folder: has the files that `mixing` writes; those that ship.
    """
    names = MixingConfig().names
    ranges = {task: accuracy_ranges(kept_repeats(task, folder), KINDS[task]) for task in TASKS}
    shares = {
        f"{task}, {names[kind]}, {end}": value
        for task, by_kind in ranges.items()
        for kind, one in by_kind.items()
        for end, value in (("mean", one.mean), ("lowest", one.low), ("highest", one.high))
    }
    hybrids = {
        f"{names[kind]}, above {names['gated delta']}, {end}": value
        for kind, one in regained(kept_repeats("four layers", folder)).items()
        for end, value in (("mean", one.difference.mean), ("from", one.difference.low), ("to", one.difference.high))
    }
    sizes = {
        f"state of {MixingConfig(d_key=width).state}, {names[kind]}, mean": one.mean
        for width, repeats in kept_sizes(folder).items()
        for kind, one in accuracy_ranges(repeats, SWEPT).items()
    }
    return shares | hybrids | sizes
