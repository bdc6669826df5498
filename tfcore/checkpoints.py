"""A model in a folder: config.json, model.safetensors, tokenizer.json, CARD.md. Weights by safetensors only."""

import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from tfcore.config import ModelConfig
from tfcore.device import device as pick_device
from tfcore.model import Transformer
from tfcore.tokenizers import Tokenizer, load_tokenizer

PRETRAINED = Path(__file__).parent / "pretrained"
MAX_JSON_BYTES = 1_000_000
MAX_TOKENIZER_BYTES = 50_000_000  # five times the largest in use
NUMBERS = ("F16", "BF16", "F32", "F64")  # as safetensors calls them


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message says what is wrong and where, in one sentence."""


def save(
    model: Transformer,
    folder: str | Path,
    tokenizer: Tokenizer | None = None,
    card: str | None = None,
    dtype: torch.dtype = torch.float16,
) -> None:
    """Write a model folder. Half precision halves the file; load computes in float32 again.

    Args:
        card: text of CARD.md; None leaves an existing card alone.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.detach().to("cpu", dtype).contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(model.config.to_dict(), indent=2) + "\n", "utf-8")
    if tokenizer is not None:
        tokenizer.save(folder)
    if card is not None:
        (folder / "CARD.md").write_text(card, "utf-8")


def shipped() -> list[str]:
    """Names of the models that come with tfcore."""
    return sorted(path.parent.name for path in PRETRAINED.glob("*/config.json"))


def load(
    name_or_path: str | Path, device: str | None = None, dtype: torch.dtype = torch.float32
) -> tuple[Transformer, Tokenizer | None]:
    """A model ready to answer (eval mode, no gradients) and its tokenizer (None if the folder has none).

    Args:
        name_or_path: a shipped model such as "stories", or a folder written by save.
        device: where to; None picks the best there is.
        dtype: to compute in.

    Raises:
        CheckpointError: what is missing, damaged or does not match, and in which file.
    """
    folder = _folder(name_or_path)
    config = _read_config(folder / "config.json")
    with torch.device("meta"):
        model = Transformer(config)
    weights = _read_weights(folder / "model.safetensors", {k: tuple(v.shape) for k, v in model.state_dict().items()})
    weights = {name: tensor.to(dtype) for name, tensor in weights.items()}
    model.load_state_dict(weights, assign=True)
    model.to(pick_device(device)).eval().requires_grad_(False)
    return model, _read_tokenizer(folder / "tokenizer.json", config)


def _folder(name_or_path: str | Path) -> Path:
    if str(name_or_path) in shipped():
        return PRETRAINED / str(name_or_path)
    folder = Path(name_or_path)
    if not folder.is_dir():
        raise CheckpointError(f"{name_or_path} is neither a shipped model ({', '.join(shipped())}) nor a folder")
    return folder


def _read_config(path: Path) -> ModelConfig:
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            raise CheckpointError(f"{path} is larger than {MAX_JSON_BYTES:,} bytes, too large for a config")
        values = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing") from error
    except CheckpointError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"{path} must hold a JSON object")
    try:
        return ModelConfig.from_dict(values)
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from error


def _read_weights(path: Path, expected: dict[str, tuple[int, ...]]) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file, names and shapes compared before any data is read."""
    if not path.is_file():
        raise CheckpointError(f"{path} is missing")
    try:
        with safe_open(path, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            found = {name: tuple(part.get_shape()) for name, part in slices.items()}
            _compare(path, found, expected)
            if odd := next((name for name, part in slices.items() if part.get_dtype() not in NUMBERS), None):
                raise CheckpointError(f"{path}: {odd} is {slices[odd].get_dtype()}, not one of {', '.join(NUMBERS)}")
            return {name: file.get_tensor(name) for name in found}
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is damaged or no safetensors file: {error}") from error


def _compare(path: Path, found: dict[str, tuple[int, ...]], expected: dict[str, tuple[int, ...]]) -> None:
    if missing := sorted(expected.keys() - found.keys()):
        raise CheckpointError(f"{path} lacks {missing[0]}" + (f" and {len(missing) - 1} more" if missing[1:] else ""))
    if extra := sorted(found.keys() - expected.keys()):
        raise CheckpointError(f"{path} holds {extra[0]}, which the model of config.json does not have")
    for name, shape in expected.items():
        if found[name] != shape:
            raise CheckpointError(f"{path}: {name} has shape {found[name]}, config.json asks for {shape}")


def _read_tokenizer(path: Path, config: ModelConfig) -> Tokenizer | None:
    if not path.is_file():
        return None
    if path.stat().st_size > MAX_TOKENIZER_BYTES:
        raise CheckpointError(f"{path} is larger than {MAX_TOKENIZER_BYTES:,} bytes, too large for a tokenizer")
    try:
        tokenizer = load_tokenizer(path)
    except ValueError as error:
        raise CheckpointError(str(error)) from error
    if tokenizer.vocab_size > config.vocab_size:
        raise CheckpointError(
            f"{path} has {tokenizer.vocab_size} tokens, more than vocab_size={config.vocab_size} of config.json"
        )
    return tokenizer
