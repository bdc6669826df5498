"""Mistakes: a Transformer with one, trained beside a baseline."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from tfcore.charts.twins import Axis, loss_figure, symptom_figure
from tfcore.masks import bidirectional
from tfcore.measures.stored import read, tuples
from tfcore.training.pitfalls import (
    AcrossBatch,
    HalfGradients,
    Pitfall,
    PitfallConfig,
    PitfallEvaluation,
    Twin,
    WithoutSkip,
    train_to_the_end,
    train_twins,
    without_final_norm,
)
from tfcore.views.block.pitfalls.say import of_both
from tfcore.views.pitfall_remarks import remarks
from tfcore.views.view import View, view

# The number that shows each mistake.
SYMPTOMS: dict[Pitfall, Axis] = {
    "mask": Axis("loss with the mask on, nats per letter"),
    "axis": Axis("loss of a text by itself, nats per letter"),
    "skip": Axis("gradient norm at the first block", log=True),
    "final": Axis("root mean square of what is unembedded", log=True),
    "scale": Axis("largest attention weight of a query", top=1.0),
    "positions": Axis("share of symbols that are right", top=1.0),
    "rate": Axis("root mean square of the weights", log=True),
    "half": Axis("share of gradients that became 0", top=1.0),
}
STORED = Path(__file__).with_name("stored.json")
SOURCES: dict[Pitfall, Callable[..., Any] | type] = {
    "mask": bidirectional,
    "axis": AcrossBatch,
    "skip": WithoutSkip,
    "final": without_final_norm,
    "half": HalfGradients,
}


@cache
def stored_runs() -> dict[PitfallConfig, tuple[PitfallEvaluation, ...]]:
    """Each mistake with its usual dose, and others that the page names: all looks of trainings that ship."""
    return read(STORED, PitfallConfig, PitfallEvaluation, tuples)


@view
def losses(config: PitfallConfig, mistake: str, *, so_far: Sequence[PitfallEvaluation] | None = None) -> View:
    """A Transformer with a mistake, trained beside a baseline: the same seed, the same batches.

    Args:
        config: of the training.
        mistake: its name in a sentence.
        so_far: what is known of the training, at least one look; None trains both here and now.
    """
    looks = train_to_the_end(config) if so_far is None else so_far
    remarked = remarks(config, looks)
    return View(
        key="loss",
        title="The training loss",
        result=looks,
        chart=loss_figure(looks, remarked.loss, remarked.marks, config.steps, height=380),
        findings=(of_both("training loss", mistake, looks[-1].step, looks[-1].loss, remarked.loss.text),),
        table=lambda: _table(config.kind, looks),
        code=(*([SOURCES[config.kind]] if config.kind in SOURCES else []), Twin, train_twins),
    )


@view
def symptom(config: PitfallConfig, mistake: str, *, so_far: Sequence[PitfallEvaluation] | None = None) -> View:
    """The number that shows a mistake, beside that of the baseline. See losses."""
    looks = train_to_the_end(config) if so_far is None else so_far
    remarked, axis = remarks(config, looks), SYMPTOMS[config.kind]
    return View(
        key="symptom",
        title="The number that shows the mistake",
        result=looks,
        chart=symptom_figure(looks, remarked.symptom, config.steps, axis, height=380),
        findings=(of_both(axis.title, mistake, looks[-1].step, looks[-1].symptom, remarked.symptom.text),),
        table=lambda: _table(config.kind, looks),
    )


def _table(kind: Pitfall, looks: Sequence[PitfallEvaluation]) -> pd.DataFrame:
    name = SYMPTOMS[kind].title
    return pd.DataFrame(
        [(look.step, *look.loss, *look.symptom) for look in looks],
        columns=["step", "loss with mistake", "loss of baseline", f"{name} with mistake", f"{name} of baseline"],
    )
