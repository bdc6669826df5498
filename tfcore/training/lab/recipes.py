"""Settings with which each task of the lab is learned in some ten seconds of one core, sums apart."""

from functools import cache

import torch

from tfcore.training.lab.spec import LabSpec, TaskName
from tfcore.training.pitfall_tasks import sentences

SENTENCES = 60  # of the text of the task "characters": about 2,000 characters


@cache
def own_text() -> str:
    """The text of the task "characters" until somebody pastes one: sentences of a little language of our own."""
    return sentences(SENTENCES, torch.Generator().manual_seed(0)).strip()


@cache
def recipe(name: TaskName) -> LabSpec:
    """The settings to begin with."""
    letters = {"symbols": 26, "length": 10, "positions": "learned"}
    known: dict[str, dict[str, object]] = {
        "induction": {"symbols": 64, "length": 24, "positions": "learned", "steps": 300},
        "copy": {**letters, "steps": 120},
        "reverse": {**letters, "steps": 120},
        "sort": {**letters, "steps": 300, "feed_forward": True},
        "addition": {
            "symbols": 53,
            "share": 50,
            "n_layers": 1,
            "d_model": 96,
            "feed_forward": True,
            "positions": "learned",
            "rows": 512,
            "lr": 2e-3,
            "schedule": "constant",
            "weight_decay": 1.0,
            "steps": 1_000,
        },
        "characters": {"text": own_text(), "length": 48, "steps": 240, "feed_forward": True},
    }
    return LabSpec(task=name, **known[name])  # type: ignore[arg-type]
