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

from tfcore.model import Transformer
from tfcore.training.recurrent.gradients import by_distance, embedding_gradients

SEQ = 64  # tokens of a window
STRIDE = 8  # from one window to the next
KEPT = Path(__file__).with_name("real_model.json")


@dataclass(frozen=True, slots=True)
class RealGradient:
    """The gradient that arrives in a real model, for a gradient of norm 1 at the logits.

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


def windows_of(ids: Sequence[int]) -> torch.Tensor:
    """(row, SEQ + 1): windows of a text, each with the token that follows it."""
    return torch.tensor([ids[start : start + SEQ + 1] for start in range(0, len(ids) - SEQ, STRIDE)])


def real_gradient(name: str, model: Transformer, ids: Sequence[int]) -> RealGradient:
    """Over all windows of a text; the loss is that of the token that follows each."""
    rows = windows_of(ids).to(model.device)
    gradient = embedding_gradients(model.requires_grad_(False).eval(), rows[:, :-1], rows[:, -1])
    return RealGradient(name, model.config.n_layers, len(rows), by_distance(gradient))


@cache
def kept_real_gradient() -> RealGradient:
    """The measurement that ships; `python -m tfcore.training recurrence` makes it anew."""
    kept = json.loads(KEPT.read_text("utf-8"))
    return RealGradient(kept["name"], kept["layers"], kept["windows"], np.array(kept["measured"]))
