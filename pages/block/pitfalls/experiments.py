"""The experiments of the page on pitfalls."""

from collections.abc import Sequence

from tfcore.analysis.block.pitfall_findings import SYMPTOMS, compare_losses, compare_symptoms, finding
from tfcore.analysis.block.pitfalls import Look, PitfallConfig
from tfcore.figures.block.pitfalls import loss_figure, symptom_figure
from tfcore.figures.shown import Shown


def twins(config: PitfallConfig, looks: Sequence[Look], mistake: str) -> Shown:
    """A Transformer with a mistake, trained beside a baseline: the same seed, the same batches."""
    found = finding(config, looks)
    return Shown(loss_figure(looks, found, config.steps, height=380), (compare_losses(found, looks, mistake),))


def symptom(config: PitfallConfig, looks: Sequence[Look], mistake: str) -> Shown:
    """The number that shows the mistake, beside that of the baseline."""
    found = finding(config, looks)
    figure = symptom_figure(looks, found, config.steps, SYMPTOMS[config.kind], height=380)
    return Shown(figure, (compare_symptoms(found, looks, config.kind, mistake),))
