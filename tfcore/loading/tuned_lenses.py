"""A tuned lens beside a shipped model: a folder with one safetensors file and CARD.md."""

import functools
from pathlib import Path

import torch
from safetensors.torch import save_file

from tfcore.device import device as pick_device
from tfcore.files import CheckpointError
from tfcore.inspection.tuned_lens import TunedLens
from tfcore.loading.checkpoints import PRETRAINED, beside
from tfcore.loading.weights import read_floats

FOLDER = "tuned_lens"  # below the folder of its model
FILE = "lens.safetensors"
PARTS = ("weight", "bias")  # of each translator


def save_tuned_lens(folder: Path, lens: TunedLens, dtype: torch.dtype = torch.float16) -> None:
    """Write the weights, two tensors a translator: "<stage>.weight" and "<stage>.bias".

    Args:
        dtype: of the weights in the file; `load_tuned_lens` computes in float32.
    """
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        f"{stage}.{part}": getattr(lens, part)[i].detach().to("cpu", dtype).contiguous()
        for i, stage in enumerate(lens.stages)
        for part in PARTS
    }
    save_file(weights, folder / FILE)


def with_tuned_lens() -> list[str]:
    """Names of the shipped models that have a tuned lens."""
    return sorted(path.parent.parent.name for path in PRETRAINED.glob(f"*/{FOLDER}/{FILE}"))


def load_tuned_lens(name_or_folder: str | Path, device: str | None = None) -> TunedLens:
    """The tuned lens of a shipped model, in float32, read once and shared: without gradients, not to be changed.

    Args:
        name_or_folder: a shipped model such as "stories"; or, as a Path, a folder that save_tuned_lens wrote.
        device: as in `load`, which its model comes from.

    Raises:
        CheckpointError: it has none, or it is damaged; the message says which file.
    """
    return _loaded(name_or_folder, pick_device(device))


@functools.lru_cache(maxsize=4)
def _loaded(name_or_folder: str | Path, place: torch.device) -> TunedLens:
    folder = beside(name_or_folder, FOLDER, with_tuned_lens(), "tuned lens", "tuned-lens")
    return _assembled(folder / FILE, read_floats(folder / FILE)).to(place)


def _assembled(path: Path, weights: dict[str, torch.Tensor]) -> TunedLens:
    stages = sorted({name.rpartition(".")[0] for name in weights})
    if not stages or set(weights) != {f"{stage}.{part}" for stage in stages for part in PARTS}:
        raise CheckpointError(f"{path} must hold a weight and a bias for each state; it holds {sorted(weights)[:4]}")
    width = weights[f"{stages[0]}.bias"].numel()
    shapes = {"weight": (width, width), "bias": (width,)}
    for name, value in weights.items():
        if tuple(value.shape) != shapes[name.rpartition(".")[2]]:
            raise CheckpointError(
                f"{path}: {name} has the shape {tuple(value.shape)}, which is no map of width {width}"
            )
    lens = TunedLens(stages, width)
    with torch.no_grad():
        for part in PARTS:
            getattr(lens, part).copy_(torch.stack([weights[f"{stage}.{part}"] for stage in stages]))
    return lens.eval().requires_grad_(False)
