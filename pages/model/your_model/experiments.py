"""The experiments of the page on one's own model."""

from collections.abc import Sequence

import numpy as np

from tfcore.analysis.model.first_words import FirstWords, first_token
from tfcore.config import ModelConfig
from tfcore.figures.guesses import guesses_figure
from tfcore.figures.model.your_model import fits_figure
from tfcore.figures.shown import Shown
from tfcore.measures.precision import Dtype
from tfcore.measures.token_text import tick_labels
from tfcore.presets import PRESETS
from tfcore.views.model.your_model.measure import Need, needs
from tfcore.views.model.your_model.say import models_that_fit


def first(found: FirstWords, vocab: int) -> Shown:
    """The first words of a model: what it makes of a text, and what it holds most likely."""
    figure = guesses_figure(np.array(found.probabilities), tick_labels(found.best), height=210)
    return Shown(figure, (first_token(found, vocab),))


def every_need(configs: dict[str, ModelConfig], presets: dict[str, str], tokens: int, dtype: Dtype) -> list[Need]:
    """What models of one's own and published ones need."""
    return needs(configs | {name: PRESETS[preset]() for name, preset in presets.items()}, tokens, dtype)


def fits(rows: Sequence[Need], name: str, room: int | None, limit: int | None) -> Shown:
    """Which models fit into memory: b bytes for each weight, and for the keys and values of every token."""
    figure = fits_figure(rows, rows[0].name if name else "", room, limit, height=390)
    return Shown(figure, (models_that_fit(rows, name, room, limit),))
