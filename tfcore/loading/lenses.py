"""Lenses beside a shipped model: a folder for each kind, with one safetensors file and CARD.md."""

import functools
from pathlib import Path
from typing import Literal

import torch
from safetensors.torch import save_file

from tfcore.device import device as pick_device
from tfcore.files import CheckpointError
from tfcore.inspection.affine_lens import AffineLens
from tfcore.loading.checkpoints import PRETRAINED, beside
from tfcore.loading.int8 import rounded, whole
from tfcore.loading.weights import read_floats

LensKind = Literal["tuned", "jacobian"]
KINDS: tuple[LensKind, ...] = ("tuned", "jacobian")
FILE = "lens.safetensors"
PARTS = ("weight", "bias")  # of each map


def folder_of(kind: LensKind) -> str:
    """The folder of a lens below that of its model."""
    return f"{kind}_lens"


def save_lens(folder: Path, lens: AffineLens, dtype: torch.dtype = torch.float16) -> None:
    """Write the weights, two tensors a map: "<stage>.weight" and "<stage>.bias".

    Args:
        dtype: of the weights in the file; `load_lens` computes in float32. torch.int8 keeps each row of a matrix as
            whole numbers times one scale.
    """
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        f"{stage}.{part}": getattr(lens, part)[i].detach().cpu().contiguous()
        for i, stage in enumerate(lens.stages)
        for part in PARTS
    }
    if dtype == torch.int8:
        kept = {name: value for one, weight in weights.items() for name, value in rounded(one, weight)}
    else:
        kept = {name: value.to(dtype) for name, value in weights.items()}
    save_file(kept, folder / FILE)


def with_lens(kind: LensKind) -> list[str]:
    """Names of the models that have a lens of this kind."""
    return sorted(path.parent.parent.name for path in PRETRAINED.glob(f"*/{folder_of(kind)}/{FILE}"))


def load_lens(name_or_folder: str | Path, kind: LensKind, device: str | None = None) -> AffineLens:
    """A lens of a model, in float32, read once and shared: without gradients, not to be changed.

    Args:
        name_or_folder: a model such as "stories"; or, as a Path, a folder that save_lens wrote.
        device: as in `load`, which its model comes from.

    Raises:
        CheckpointError: it has none, or it is damaged; the message says which file.
    """
    return _loaded(name_or_folder, kind, pick_device(device))


@functools.lru_cache(maxsize=4)
def _loaded(name_or_folder: str | Path, kind: LensKind, place: torch.device) -> AffineLens:
    folder = beside(name_or_folder, folder_of(kind), with_lens(kind), f"{kind} lens", f"{kind}-lens")
    path = folder / FILE
    return _assembled(path, whole(read_floats(path), path)).to(place)


def _assembled(path: Path, weights: dict[str, torch.Tensor]) -> AffineLens:
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
    lens = AffineLens(stages, width)
    with torch.no_grad():
        for part in PARTS:
            getattr(lens, part).copy_(torch.stack([weights[f"{stage}.{part}"] for stage in stages]))
    return lens.eval().requires_grad_(False)
