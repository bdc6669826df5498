"""The gradient that arrives at the token d steps back in a real Transformer, measured once and kept."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.foundations.recurrence.gradients import by_distance, embedding_gradients
from tfcore.measures.quantities import compact
from tfcore.model import Transformer

SEQ = 64  # tokens of a window
STRIDE = 8  # from one window to the next
KEPT = Path(__file__).with_name("real_model.json")


@dataclass(frozen=True, slots=True)
class RealGradient:
    """What arrives in a real model, for a gradient of norm 1 at the logits.

    Args:
        name: of the model.
        layers: of it.
        windows: of text over which norms are averaged.
        measured: by distance from the last token of a window.
    """

    name: str
    layers: int
    windows: int
    measured: Float[ndarray, " distance"]


@dataclass(frozen=True, slots=True)
class RealReach(Finding):
    """The norms between the nearest and the farthest token.

    Args:
        name, layers: of the model.
        distance: of the farthest token.
        near, far: medians over the nearer half of the distances from 1 on, and over the farther half.
    """

    name: str
    layers: int
    distance: int
    near: float
    far: float

    @property
    def sentence(self) -> str:
        near, far, half = compact(self.near, 2), compact(self.far, 2), self.distance // 2
        return (
            f"In {self.name}, a trained Transformer of {self.layers} layers, the median norm is {near} up to {half} "
            f"tokens back and {far} from there to {self.distance}."
        )


def windows_of(ids: Sequence[int]) -> torch.Tensor:
    """(row, SEQ + 1): windows of a text, each with the token that follows it."""
    return torch.tensor([ids[start : start + SEQ + 1] for start in range(0, len(ids) - SEQ, STRIDE)])


def real_gradient(name: str, model: Transformer, ids: Sequence[int]) -> RealGradient:
    """Over all windows of a text; the loss is that of the token that follows each."""
    rows = windows_of(ids).to(model.device)
    gradient = embedding_gradients(model.requires_grad_(False).eval(), rows[:, :-1], rows[:, -1])
    return RealGradient(name, model.config.n_layers, len(rows), by_distance(gradient))


def real_reach(found: RealGradient) -> RealReach:
    """Medians of both halves."""
    last = len(found.measured) - 1
    near, far = found.measured[1 : last // 2 + 1], found.measured[last // 2 + 1 :]
    return RealReach(found.name, found.layers, last, float(np.median(near)), float(np.median(far)))


@cache
def kept_real_gradient() -> RealGradient:
    """The measurement that ships; `python -m tfcore.training recurrence` makes it anew."""
    kept = json.loads(KEPT.read_text("utf-8"))
    return RealGradient(kept["name"], kept["layers"], kept["windows"], np.array(kept["measured"]))
