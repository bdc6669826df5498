"""Transcoders beside a shipped model: a folder with config.json, one safetensors file each, and CARD.md."""

import functools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file

from tfcore.device import device as pick_device
from tfcore.files import CheckpointError, read_json
from tfcore.inspection.capture import layer_of
from tfcore.inspection.transcoders import SparseAutoencoder, Transcoder, TranscoderConfig, module_of
from tfcore.loading.checkpoints import PRETRAINED, beside
from tfcore.loading.int8 import rounded, whole
from tfcore.loading.weights import read_floats

FOLDER = "transcoders"  # below the folder of their model


@dataclass(frozen=True, slots=True)
class Transcoders:
    """The dictionaries of a model.

    Args:
        of_mlps: of feed-forward layers, from the first that has one.
        of_stream: a sparse autoencoder of the residual stream; None where there is none.
    """

    of_mlps: tuple[Transcoder, ...]
    of_stream: SparseAutoencoder | None = None

    @property
    def each(self) -> tuple[Transcoder, ...]:
        """All dictionaries, the autoencoder last."""
        return self.of_mlps if self.of_stream is None else (*self.of_mlps, self.of_stream)

    @property
    def by_layer(self) -> dict[int, Transcoder]:
        """Index of a layer -> its transcoder, where it has one."""
        return {layer_of(one.config.writes): one for one in self.of_mlps}


def save_transcoders(
    folder: Path, transcoders: Iterable[Transcoder], dtype: torch.dtype = torch.float16, card: str | None = None
) -> None:
    """Write config.json and one file of weights for each; and CARD.md where its text is given.

    Args:
        dtype: of the matrices in the files; `load_transcoders` computes in float32. torch.int8 keeps each row as whole
            numbers times one scale.
    """
    folder.mkdir(parents=True, exist_ok=True)
    given = tuple(transcoders)
    for transcoder in given:
        weights = {name: value.detach().cpu() for name, value in transcoder.state_dict().items()}
        if dtype == torch.int8:
            kept = {part: tensor for name, value in weights.items() for part, tensor in rounded(name, value)}
        else:
            kept = {name: value.to(dtype).contiguous() for name, value in weights.items()}
        save_file(kept, folder / file_of(transcoder.config))
    said = {"transcoders": [transcoder.config.to_dict() for transcoder in given]}
    (folder / "config.json").write_text(json.dumps(said, indent=2) + "\n", "utf-8")
    if card is not None:
        (folder / "CARD.md").write_text(card, "utf-8")


def file_of(config: TranscoderConfig) -> str:
    """The file of the weights: named after the activation that is predicted."""
    return f"{config.writes}.safetensors"


def with_transcoders() -> list[str]:
    """Names of the shipped models that have transcoders."""
    return sorted(path.parent.parent.name for path in PRETRAINED.glob(f"*/{FOLDER}/config.json"))


def load_transcoders(name_or_folder: str | Path, device: str | None = None) -> Transcoders:
    """The transcoders of a shipped model, in float32, read once and shared: without gradients, not to be changed.

    Args:
        name_or_folder: a shipped model such as "stories"; or, as a Path, a folder that save_transcoders wrote.
        device: as in `load`, which their model comes from.

    Raises:
        CheckpointError: it has none, or one is damaged; the message says which file.
    """
    return _loaded(name_or_folder, pick_device(device))


@functools.lru_cache(maxsize=4)
def _loaded(name_or_folder: str | Path, place: torch.device) -> Transcoders:
    folder = beside(name_or_folder, FOLDER, with_transcoders(), "transcoders", "transcoders")
    read = [_read(folder, config).to(place) for config in _configs(folder / "config.json")]
    return _sorted(folder, read)


def _configs(path: Path) -> list[TranscoderConfig]:
    said = read_json(path).get("transcoders")
    if not isinstance(said, list) or not said:
        raise CheckpointError(f"{path} has no list of transcoders")
    try:
        return [TranscoderConfig(**values) for values in said]
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: {error}") from error


def _read(folder: Path, config: TranscoderConfig) -> Transcoder:
    name = file_of(config)
    path = folder / name
    if any(mark in name for mark in "/\\"):
        raise CheckpointError(f"{folder / 'config.json'} names {config.writes[:80]!r}, which is no activation")
    weights = whole(read_floats(path), path)
    shapes = {name: tuple(value.shape) for name, value in weights.items()}
    if shapes != (wanted := config.shapes):
        raise CheckpointError(f"{path} has tensors of shapes {shapes}; its config asks for {wanted}")
    transcoder = module_of(config)
    transcoder.load_state_dict(weights)
    return transcoder.eval().requires_grad_(False)


def _sorted(folder: Path, read: Sequence[Transcoder]) -> Transcoders:
    of_mlps = tuple(one for one in read if not one.config.is_autoencoder)
    of_stream = [one for one in read if isinstance(one, SparseAutoencoder)]
    if len(of_stream) > 1:
        raise CheckpointError(f"{folder / 'config.json'} has {len(of_stream)} autoencoders; there may be one")
    return Transcoders(of_mlps, of_stream[0] if of_stream else None)


def chosen_dictionary(name: str, dictionary: int) -> Transcoder:
    """One of the dictionaries of a shipped model, counted as in `Transcoders.each`."""
    return load_transcoders(name).each[dictionary]
