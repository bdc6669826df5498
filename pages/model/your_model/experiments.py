"""The experiments of the page on one's own model."""

import numpy as np

from tfcore import load
from tfcore.analysis.model.costs import free_now, needs
from tfcore.analysis.model.first_words import first_words, round_trip
from tfcore.analysis.model.parameter_count import parameters
from tfcore.analysis.precision import Dtype
from tfcore.config import ModelConfig
from tfcore.figures.guesses import guesses_figure
from tfcore.figures.model.your_model import fits_figure
from tfcore.figures.theme import Figure
from tfcore.presets import PRESETS


def first(model_name: str, text: str) -> Figure:
    """The first words of a model: what it makes of a text, and what it holds most likely."""
    model, tokenizer = load(model_name)
    print(f"{parameters(model.config).total:,} parameters")
    trip = round_trip(tokenizer, text)
    print(f"{len(trip.ids)} tokens, which come back as {trip.back!r}")
    found = first_words(model, tokenizer, text)
    print(f"{found.way}: {found.said!r}")
    for token, chance in zip(found.best, found.probabilities, strict=True):
        print(f"{token!r}: {chance:.1%}")

    return guesses_figure(np.array(found.probabilities), found.best, height=210)


def fits(configs: dict[str, ModelConfig], presets: dict[str, str], tokens: int, dtype: Dtype) -> Figure:
    """Which models fit into memory: b bytes for each weight, and for the keys and values of every token."""
    configs = configs | {name: PRESETS[preset]() for name, preset in presets.items()}
    rows, room = needs(configs, tokens, dtype), free_now()
    for row in rows:
        print(f"{row.name}: {row.weights / 1e9:.2f} GB of weights, {row.cache / 1e9:.2f} GB of cache")
    if room is not None:
        print(f"free here: {room / 1e9:.2f} GB")

    return fits_figure(rows, next(iter(configs)), room, None, height=390)
