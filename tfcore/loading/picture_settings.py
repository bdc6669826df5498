"""How a folder of `transformers` makes what a model reads of a picture: preprocessor_config.json says to which size it
is scaled, what is cut out of it, and how its numbers are normalised."""

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from tfcore.config import ModelConfig
from tfcore.files import CheckpointError, read_json
from tfcore.loading.families.config_values import short
from tfcore.part_configs import Resampling

PROCESSOR = "preprocessor_config.json"
FULL = 1 / 255  # what the numbers of a pixel are multiplied with


def with_pictures_of(folder: Path, config: ModelConfig) -> ModelConfig:
    """The config of a model in a folder, with what that says of pictures; itself of a model of texts, and where nothing
    is said.

    Raises:
        CheckpointError: the file is damaged or too large, or says what is not done here.
    """
    path, patches = folder / PROCESSOR, config.patches
    if patches is None or not path.is_file():
        return config
    said = read_json(path)
    try:
        _only(said, "do_rescale", True)
        _only(said, "do_convert_rgb", True, False)
        if abs(float(said.get("rescale_factor") or FULL) - FULL) > 1e-9:
            raise ValueError(f"rescale_factor={short(said['rescale_factor'])} is not supported; supported: 1/255")
        resized = _side(said, "size") if said.get("do_resize", True) else None
        cropped = _side(said, "crop_size") if said.get("do_center_crop", False) else None
        side = cropped or resized or patches.side
        normal = {name: said.get(f"image_{name}") for name in ("mean", "std") if said.get("do_normalize", True)}
        plain = {"mean": (0.0,) * patches.channels, "std": (1.0,) * patches.channels}
        numbers = plain | {name: tuple(value) for name, value in normal.items() if isinstance(value, list)}
        patches = replace(
            patches,
            side=side,
            resized=None if resized in (None, side) else resized,
            resampling=_resampling(said.get("resample")),
            **numbers,
        )
        return replace(config, patches=patches, max_seq_len=len(patches.tokens) + patches.rows**2)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: {error}") from error


def _only(said: dict[str, Any], name: str, *values: object) -> None:
    if said.get(name) is not None and said[name] not in values:
        raise ValueError(f"{name}={short(said[name])} is not supported; supported: {', '.join(map(repr, values))}")


def _side(said: dict[str, Any], name: str) -> int | None:
    """A size in pixels: a number, that of the shorter side, or of both sides of a square."""
    value = said.get(name)
    if isinstance(value, dict):
        sides = {value.get(key) for key in ("shortest_edge", "height", "width")} - {None}
        value = sides.pop() if len(sides) == 1 else value
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise ValueError(f"{name}={short(value)} is not supported; supported: the side of a square, in pixels")
    return value


def _resampling(value: object) -> Resampling:
    """Its name, of Pillow's number."""
    names: tuple[Resampling, ...] = get_args(Resampling)
    if value is None:
        return "bilinear"
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < len(names):
        raise ValueError(
            f"resample={short(value)} is not supported; supported: 0 to {len(names) - 1}, as Pillow has them"
        )
    return names[value]
