"""The settings of a small training in words."""

from collections.abc import Sequence
from typing import Any

from tfcore.training.lab.options import OPTIMISERS, SCHEDULES
from tfcore.training.lab.spec import LabSpec

POSITIONS = {"learned": "learned", "rope": "RoPE", "sinusoidal": "sinusoidal", "alibi": "ALiBi", "none": "none"}
MOST_DIFFERENCES = 4  # that are named
LABELS = {
    "task": "task",
    "text": "text",
    "symbols": "symbols",
    "length": "length",
    "share": "sums trained on",
    "n_layers": "layers",
    "n_heads": "heads",
    "d_model": "width",
    "feed_forward": "feed-forward",
    "positions": "positions",
    "dropout": "dropout",
    "optimiser": "optimiser",
    "lr": "learning rate",
    "schedule": "schedule",
    "warmup": "warm-up",
    "weight_decay": "weight decay",
    "momentum": "momentum",
    "clip": "clipping",
    "smoothing": "label smoothing",
    "steps": "steps",
    "rows": "batch size",
    "micro_batches": "micro-batches",
    "seed": "seed",
}


def summary(spec: LabSpec) -> str:
    """Model, optimiser and steps in two sentences."""
    ff = "with feed-forward" if spec.feed_forward else "attention alone"
    layers = "1 layer" if spec.n_layers == 1 else f"{spec.n_layers} layers"
    heads = "1 head" if spec.n_heads == 1 else f"{spec.n_heads} heads"
    parts = f", read in {spec.micro_batches} parts whose gradients are added up" if spec.micro_batches > 1 else ""
    return (
        f"{layers} of {heads}, width {spec.d_model}, {ff}, positions: {POSITIONS[spec.positions]}; about "
        f"{spec.parameters:,} parameters. {OPTIMISERS[spec.optimiser]} at {spec.lr:g}, {SCHEDULES[spec.schedule]}, "
        f"{spec.steps:,} steps of {spec.rows} sequences of {spec.seq} tokens{parts}."
    )


def difference(before: LabSpec, after: LabSpec) -> str:
    """The settings that changed from one spec to another: "layers 2 → 3, text"; empty where they are the same."""
    parts = []
    for field, (old, new) in before.differences(after).items():
        parts.append("text" if field == "text" else f"{LABELS[field]} {setting_text(old)} → {setting_text(new)}")
    more = f" and {len(parts) - MOST_DIFFERENCES} more" if len(parts) > MOST_DIFFERENCES else ""
    return ", ".join(parts[:MOST_DIFFERENCES]) + more


def setting_text(value: Any) -> str:
    """The value of a setting."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else SCHEDULES.get(str(value), str(value))


def differing(specs: Sequence[LabSpec]) -> list[str]:
    """The fields, the text apart, that are not the same in all specs."""
    fields = [spec.to_dict() for spec in specs]
    return [key for key in LABELS if key != "text" and any(one[key] != fields[0][key] for one in fields)]


def apart(specs: Sequence[LabSpec]) -> list[str]:
    """The settings that tell each of several specs apart, two at most: "seed 0", or the task where nothing does."""
    first = differing(specs)[:2]
    return [
        ", ".join(f"{LABELS[key]} {setting_text(getattr(spec, key))}" for key in first) or spec.task for spec in specs
    ]
