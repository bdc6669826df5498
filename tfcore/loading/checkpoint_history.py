"""A film of a training: the weights at many steps in one file, and what was measured at each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from tfcore.checks import check_place
from tfcore.config import ModelConfig
from tfcore.files import CheckpointError, read_json
from tfcore.loading.checkpoints import PRETRAINED, blank, shapes_of, shipped
from tfcore.model import Transformer

WEIGHTS, MEASURES = "film.safetensors", "film.json"


@dataclass(frozen=True, slots=True)
class CheckpointHistory:
    """A training, frame by frame.

    Args:
        config: of the model.
        steps: the optimiser steps done before each frame; frame 0 is the model before any.
        measures: what was measured at each frame, by name.
        weights: name -> (frame, *shape).
    """

    config: ModelConfig
    steps: tuple[int, ...]
    measures: tuple[Mapping[str, Any], ...]
    weights: Mapping[str, Tensor]

    def model(self, frame: int) -> Transformer:
        """The model as it was, ready to answer.

        Raises:
            ValueError: no such frame.
        """
        check_place(frame=(frame, len(self.steps)))
        model = blank(self.config)
        state = {name: values[frame].float() for name, values in self.weights.items()}
        model.load_state_dict(state, assign=True)
        return model.eval().requires_grad_(False)

    def first(self, name: str, least: float) -> int | None:
        """The first frame where a measure is at least that much; None where it never is."""
        return next((i for i, measured in enumerate(self.measures) if measured[name] >= least), None)


def save_history(
    folder: Path, frames: Mapping[int, Mapping[str, Tensor]], measures: Sequence[Mapping[str, Any]]
) -> None:
    """Write a film beside a model's config.json, in half precision.

    Args:
        frames: step -> weights by name.
        measures: of each frame.
    """
    stacked = {
        name: torch.stack([frame[name].to("cpu", torch.float16) for frame in frames.values()])
        for name in next(iter(frames.values()))
    }
    save_file(stacked, folder / WEIGHTS)
    content = [{"step": step, **measured} for step, measured in zip(frames, measures, strict=True)]
    (folder / MEASURES).write_text(json.dumps({"frames": content}, indent=1) + "\n", "utf-8")


def load_history(name_or_folder: str | Path) -> CheckpointHistory:
    """The film of a shipped model, or of a folder.

    Raises:
        CheckpointError: what is missing or damaged, and in which file.
    """
    folder = PRETRAINED / name_or_folder if str(name_or_folder) in shipped() else Path(name_or_folder)
    config = ModelConfig.from_dict(read_json(folder / "config.json"))
    frames = read_json(folder / MEASURES).get("frames")
    if not isinstance(frames, list) or not all(isinstance(frame, dict) and "step" in frame for frame in frames):
        raise CheckpointError(f"{folder / MEASURES} must list frames, each with its step")
    try:
        weights = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{folder / WEIGHTS} cannot be read: {error}") from error
    asked = {name: (len(frames), *shape) for name, shape in shapes_of(blank(config)).items()}
    shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if wrong := [name for name in asked.keys() | shapes.keys() if asked.get(name) != shapes.get(name)]:
        name = min(wrong)
        raise CheckpointError(
            f"{folder / WEIGHTS}: {name} has shape {shapes.get(name)}, the config and {len(frames)} frames ask for "
            f"{asked.get(name)}"
        )
    steps = tuple(int(frame["step"]) for frame in frames)
    return CheckpointHistory(config, steps, tuple(frames), weights)
