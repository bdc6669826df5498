"""Probes of the models that come with the app, measured once: `python -m
tfcore.views.inside.probing.measure`."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tfcore.views.inside.probing.measure.by_layer import ProbedLayer
from tfcore.views.inside.probing.measure.properties import PROPERTIES

FILE = Path(__file__).parent / "probes.json"
MODELS = ("smollm2", "stories", "minilm")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"  # a class each


@lru_cache(maxsize=1)
def _content() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return content


def shipped_layers(name: str, target: str) -> tuple[ProbedLayer, ...] | None:
    """The layers of the model of this name, probed for a property; None for a model that was not measured."""
    rows = _content().get(name, {}).get(target)
    if rows is None:
        return None
    return tuple(ProbedLayer(np.array([DIGITS.index(c) for c in row]), control) for row, control in rows)


def written(layers: dict[str, dict[str, list[ProbedLayer]]]) -> str:
    """The file's text: model -> property -> for each layer the predicted classes, a digit a word, and how many words
    of the control task are predicted."""
    content = {
        model: {
            name: [["".join(DIGITS[c] for c in one.predicted), one.control] for one in layers[model][name]]
            for name in PROPERTIES
        }
        for model in layers
    }
    return json.dumps(content, separators=(",", ":")).replace('],["', '],\n["').replace("]],", "]],\n") + "\n"
