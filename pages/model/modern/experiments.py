"""The experiment of the page on modern blocks."""

from collections.abc import Sequence

from tfcore.analysis.model.modernising import Speed, Trained, Version, read_trained, switch_effect, trained_models
from tfcore.figures.model.modernising import effects_figure, panels
from tfcore.figures.shown import Shown
from tfcore.training import ladder


def trained() -> Trained | None:
    """The models of the ladder that ships; None where it does not."""
    return read_trained(ladder.read_table(ladder.SHIPPED / "modernisation.csv"))


def switches(found: Sequence[Version], speeds: Sequence[Speed], losses: Trained | None, step: int, size: str) -> Shown:
    """From the Transformer of 2017 to today's, one switch at a time: parameters, cache, speed."""
    figure = effects_figure([version.name for version in found], panels(found, speeds, losses), step, height=400)
    effect = switch_effect(found, step, size)
    return Shown(figure, (effect, trained_models(losses)) if losses is not None else (effect,))
