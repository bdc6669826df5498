"""The ladder of `modernisation`: from the block of 2017 to today's, one switch at a time, three seeds each."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tfcore.config import ModelConfig
from tfcore.measures.parameter_count import parameters
from tfcore.training import story_texts
from tfcore.training.ladder import Halves, Rung, climb, rows_of
from tfcore.training.loop import Processes, Progress, TrainingSettings
from tfcore.training.modernisation import SWITCHES, first_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ModernisationRecipe:
    """One decoder, changed step by step, trained alike.

    Args:
        model: the first one.
        seeds: how often each is trained.
        windows: held-out windows the loss is measured on, at most.
    """

    model: ModelConfig
    settings: TrainingSettings
    seeds: int = 3
    seq: int = 128
    windows: int = 400


MODERNISATION = ModernisationRecipe(
    model=replace(first_of(64, 2, 4, story_texts.VOCAB_SIZE, 128), init_std=64**-0.5),
    settings=TrainingSettings(
        steps=1_000, rows=16, lr=4e-3, lr_min=1e-4, warmup=150, betas=(0.9, 0.98), evaluate_every=10_000
    ),
)


def rungs(recipe: ModernisationRecipe) -> list[Rung]:
    """Every switch with every seed."""
    model, ladder = recipe.model, []
    for step, (name, changes) in enumerate(SWITCHES.items()):
        model = model.changed(**changes)
        labels: dict[str, str | int] = {"step": step, "switch": name, "parameters": parameters(model).total}
        ladder += [
            Rung(labels=labels, model=model, settings=recipe.settings, seed=seed) for seed in range(recipe.seeds)
        ]
    return ladder


def modernisation(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: ModernisationRecipe = MODERNISATION
) -> dict[str, float]:
    """Climb the ladder: modernisation.csv below `out`.

    Raises:
        CorpusError: when a text below `corpus` is missing or too short.
    """
    halves = Halves.read(corpus, out, recipe.seq, recipe.model.vocab_size)
    measure = halves.mean_loss(recipe.seq, recipe.windows)
    climb(rungs(recipe), halves, recipe.seq, out / "modernisation.csv", measure, report)
    return measured(out) if Processes.join().rank == 0 else {}


def measured(folder: Path) -> dict[str, float]:
    """Mean held-out loss after each switch, over the seeds."""
    rows = rows_of(folder / "modernisation.csv")
    return {
        name: round(float(np.mean([row["loss"] for row in rows if row["switch"] == name])), 4)
        for name in dict.fromkeys(row["switch"] for row in rows)
    }
