"""Activations of a model, kept on disk in half precision: what is trained on them many times over has it read once."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from jaxtyping import Float, Int
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from tfcore import files
from tfcore.inspection.transcoders import TranscoderConfig
from tfcore.loading import disk
from tfcore.model import Transformer
from tfcore.training.loop import Progress

ROWS = 16  # texts of a pass
IN_A_FILE = 128  # texts: what is lost at most when it is stopped


@torch.no_grad()
def keep_activations(
    model: Transformer,
    names: Sequence[str],
    rows: Int[Tensor, "row seq"],
    folder: Path,
    report: Callable[[Progress], None] = lambda _: None,
) -> None:
    """Read all rows and write the named activations to files in a folder; files that are there stay as they are."""
    began, read = time.monotonic(), 0
    parts = rows.split(IN_A_FILE)
    for i, part in enumerate(parts):
        path = folder / f"{i:05d}.safetensors"
        if path.is_file():
            continue
        passes = [model.activations(ids.to(model.device), names) for ids in part.split(ROWS)]
        kept = {name: torch.cat([one[name] for one in passes]).half().cpu() for name in names}
        needed = sum(one.nbytes for one in kept.values())
        with disk.writing("activations that are kept", needed, path), files.as_a_whole(path) as beside:
            save_file(kept, beside)
        read += part.numel()
        rate = read / max(time.monotonic() - began, 1e-9)
        to_come = rows.numel() - sum(one.numel() for one in parts[: i + 1])
        report(Progress(10 * (i + 1), 10 * len(parts), 0.0, 0.0, 0.0, rate, to_come / rate))


def kept_pair(
    folder: Path, config: TranscoderConfig
) -> tuple[Float[Tensor, "vector d_model"], Float[Tensor, "vector d_model"]]:
    """What a dictionary reads and what it is to predict, in half precision, from the first position it counts on."""
    parts: tuple[list[Tensor], list[Tensor]] = ([], [])
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            for part, name in zip(parts, (config.reads, config.writes), strict=True):
                part.append(file.get_tensor(name)[:, config.first :].flatten(0, 1))
    return torch.cat(parts[0]), torch.cat(parts[1])
