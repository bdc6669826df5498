"""A model in a folder: config.json, model.safetensors, tokenizer.json (or the files of an older tokenizer), CARD.md -
ours, or one of Hugging Face's; or in a GGUF file, alone or in a folder without config.json."""

import functools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import torch
from safetensors.torch import save_file
from torch import Tensor

from tfcore.config import Architecture, Input, ModelConfig
from tfcore.device import device as pick_device
from tfcore.files import CheckpointError as CheckpointError
from tfcore.files import read_json
from tfcore.linear import matrices, widen
from tfcore.loading import disk, real_models
from tfcore.loading.adapters import AdaptedWeights, AdapterSummary, base_of, is_adapter
from tfcore.loading.families import config_of, family_of
from tfcore.loading.families.config_values import NoTensors, Tensors
from tfcore.loading.families.mapping import Family, Piece, Shape, plan
from tfcore.loading.gguf_file import Elsewhere
from tfcore.loading.gguf_models import GgufWeights, gguf_in
from tfcore.loading.gguf_tokenizer import tokenizer_json
from tfcore.loading.hub import FORMS, OnHub, Remote, fetch, is_hub_name, look, part
from tfcore.loading.model_in_memory import StateWeights, settings_of, tokenizer_in_memory
from tfcore.loading.picture_settings import with_pictures_of
from tfcore.loading.sentence_vectors import pooling_of
from tfcore.loading.sound_settings import check_sounds_of
from tfcore.loading.tokenizer_files import declared_of, lacking, tokenizer_json_of
from tfcore.loading.weights import LoadProgress, Tell, Weights, bytes_of, check_memory, free_memory
from tfcore.model import Transformer
from tfcore.tokenizers.declared import Declared
from tfcore.tokenizers.foreign import MOST_ROWS, NOTHING, load_tokenizer, tokenizer_of
from tfcore.tokenizers.isolated import isolated, read_tokenizer
from tfcore.tokenizers.tokenizer import Tokenizer

PRETRAINED = Path(__file__).parents[1] / "pretrained"
START = "decoder_start_token_id"
OWN = "tfcore"  # of no family of transformers
# What generation_config.json says of texts that are written; where there is such a file, config.json's word is void.
OF_WRITING = (
    *("forced_bos_token_id", "forced_eos_token_id", "bad_words_ids"),
    *("suppress_tokens", "begin_suppress_tokens"),
)
HALF_FROM = 1_000_000_000  # parameters, above which matrices are kept in 16 bits
MOST_EXPERTS = 100_000  # of all layers together; the largest models have a sixth of that


def save(
    model: Transformer,
    folder: str | Path,
    tokenizer: Tokenizer | None = None,
    card: str | None = None,
    dtype: torch.dtype | None = None,
) -> None:
    """Write a model folder: config.json, model.safetensors, and tokenizer.json and CARD.md where they are given.

    Args:
        card: text of CARD.md; None leaves an existing card alone.
        dtype: of the weights in the file; None means the model's own. `load` computes in float32 unless told.
    """
    folder, state = Path(folder), model.state_dict()
    weights = {name: one.detach().to("cpu", dtype or one.dtype).contiguous() for name, one in state.items()}
    with disk.writing("the model", sum(tensor.nbytes for tensor in weights.values()), folder):
        folder.mkdir(parents=True, exist_ok=True)
        save_file(weights, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(model.config.to_dict(), indent=2) + "\n", "utf-8")
        if tokenizer is not None:
            tokenizer.save(folder)
        if card is not None:
            (folder / "CARD.md").write_text(card, "utf-8")
    _shipped.cache_clear()  # it may be one of these now


def shipped(*architectures: Architecture) -> list[str]:
    """Names of the models of texts that come with tfcore; only of these architectures, where some are given."""
    folders = _shipped(PRETRAINED)
    return [name for name, architecture in folders.items() if not architectures or architecture in architectures]


def reading(kind: Input) -> list[str]:
    """Names of the models here that read pictures, or sound, which no page about texts shows; `load` takes each by its
    name."""
    real = [name for name in real_models.installed() if real_models.input_of(name) == kind]
    return [*_shipped(PRETRAINED, kind), *real]


@functools.cache
def _shipped(root: Path, kind: Input = "texts") -> dict[str, Architecture]:
    """Names of the models in this folder that read texts, pictures or sound, and what they are."""
    settings = {path.parent.name: read_json(path) for path in sorted(root.glob("*/config.json"))}
    fitting = {name: values for name, values in settings.items() if _input_of(values) == kind}
    return {name: values["architecture"] for name, values in fitting.items()}


def _input_of(values: Mapping[str, Any]) -> Input:
    """What a model reads, by its config.json as `save` writes it; files of earlier releases say nothing of it."""
    return "pictures" if values.get("patches") else "sound" if values.get("sound") else "texts"


def beside(name_or_folder: str | Path, below: str, known: list[str], what: str, recipe: str) -> Path:
    """The folder of what was trained for a shipped model and stands beside its weights; a Path is that folder itself.

    Args:
        below: the folder's name below that of the model.
        known: models that have one.
        what: is missing elsewhere, as in "tuned lens".
        recipe: that makes it.

    Raises:
        CheckpointError: the model has none.
    """
    if isinstance(name_or_folder, Path):
        return name_or_folder
    if name_or_folder in known:
        return PRETRAINED / name_or_folder / below
    raise CheckpointError(
        f"{name_or_folder} has no {what}; {', '.join(known) or 'no model'} has: "
        f"`python -m tfcore.training {recipe}` makes them"
    )


def available(*architectures: Architecture) -> list[str]:
    """Names of the models of texts that come with tfcore and of the real ones that were fetched; only of these
    architectures, where some are given. `load` takes each by its name."""
    real = [name for name in real_models.installed() if real_models.input_of(name) == "texts"]
    fetched = [name for name in real if described(name)[0].architecture in architectures]
    return [*shipped(*architectures), *(fetched if architectures else real)]


def here() -> list[str]:
    """Names of all models that are here, whatever they read."""
    return [*available(), *reading("pictures"), *reading("sound")]


def described(name: str) -> tuple[ModelConfig, Tokenizer | None]:
    """The config and the tokenizer of an available model, without its weights."""
    return _described(_available(name))


@functools.cache
def _described(folder: Path) -> tuple[ModelConfig, Tokenizer | None]:
    with _opened(folder) as opened:
        config, _, _ = _planned(opened)
    return config, _read_tokenizer(folder, config)


def _available(name: str) -> Path:
    """The folder of an available model."""
    installed = real_models.installed()
    return installed[name] if name in installed else PRETRAINED / name


@dataclass(frozen=True, slots=True)
class Estimate:
    """Memory and size of a model, worked out before any of its weights is read.

    Args:
        config: of the model.
        parameters: how many numbers it has.
        memory: bytes of them as they are kept.
        halved: whether matrices are kept in 16 bits and computed in float32.
        download: bytes that would have to be downloaded first.
        free: bytes that are free now where it would go; None where the system does not tell.
        commit: of a model on the hub.
        family: its title; that of a folder that `save` wrote is OWN.
    """

    config: ModelConfig
    parameters: int
    memory: int
    halved: bool = False
    download: int = 0
    free: int | None = None
    commit: str | None = None
    family: str = OWN


def estimate(
    name_or_path: str | Path | OnHub,
    device: str | None = None,
    dtype: torch.dtype | None = None,
    *,
    revision: str | None = None,
    token: bool | None = None,
) -> Estimate:
    """Look at a model without loading it: of a folder the headers are read; of a model on the hub config.json, or the
    header of the GGUF file.

    Args: see load.

    Raises:
        CheckpointError: as load, as far as it can be known beforehand; also a model without a tokenizer.
    """
    place = pick_device(device)
    folder, download, commit, remote = folder_of(name_or_path), 0, None, None
    if folder is None:
        remote = look(str(name_or_path), revision, token)
        folder, download, commit = remote.place, remote.missing, remote.folder.name
    if remote is not None and download:
        config, shapes, family = _promised(remote)
    else:
        with _opened(folder) as opened:
            (config, shapes, _), family = _planned(opened), opened.family
    read_from = tokenizer_place(folder)
    if config.patches is None and gguf_in(read_from) is None and (why := lacking(read_from)):  # the family comes first
        raise CheckpointError(f"{name_or_path} {why}")
    memory = bytes_of(shapes, _types(config, shapes, dtype))
    free, halved = free_memory(place), _is_halved(shapes, dtype)
    title = family.title if family else OWN
    return Estimate(config, _count(shapes), memory, halved, download, free, commit, title)


def load(
    name_or_path: str | Path | OnHub,
    device: str | None = None,
    dtype: torch.dtype | None = None,
    *,
    revision: str | None = None,
    token: bool | None = None,
    tell: Tell | None = None,
    largest_download: int | None = None,
) -> tuple[Transformer, Tokenizer | None]:
    """A model ready to answer (eval mode, no gradients) and its tokenizer (None if the folder has none).

    Args:
        name_or_path: a shipped model such as "stories", or a real one that was fetched, such as "smollm2"; a folder
            written by save, or with a checkpoint of `transformers` (families: tfcore.loading.families.FAMILIES), or
            with an adapter of `peft`, whose base lies beside it (tfcore.loading.adapters), or a GGUF file
            (architectures: tfcore.loading.gguf_kinds.KINDS); or such a checkpoint's name on the hub, "org/name", or a
            GGUF file's, "org/name/file.gguf", which is downloaded once. A text is the first of these that there is; a
            Path is always a folder or file, and an OnHub never one: give these where the name comes from somebody
            else. Weights are read from safetensors and GGUF alone, and tokenizers that neither ship with tfcore nor
            belong to the real models run in a process of their own, which takes texts of a few megabytes at a time;
            tfcore.tokenizers.foreign.load_tokenizer reads one that is trusted into this process.
        device: where to; None picks the best there is.
        dtype: to compute in; None means float32, with matrices kept in 16 bits where there are more than HALF_FROM
            parameters (tfcore.half_weights): in float16 what the file has in it, all others in bfloat16.
        revision: of a model on the hub: a branch, a tag or a commit.
        token: for the hub: None is that of whoever is logged in here, False none.
        tell: is told how far it is; what it raises stops the loading.
        largest_download: bytes; None means any.

    Raises:
        CheckpointError: what is missing, damaged, unknown or too large, and in which file.
    """
    place = pick_device(device)
    folder = folder_of(name_or_path)
    if folder is None:
        remote = look(str(name_or_path), revision, token)
        config, shapes, _ = _promised(remote)
        check_memory(shapes, _types(config, shapes, dtype), place)
        folder = fetch(remote, tell, largest_download)
    with _opened(folder) as opened:
        model = _filled(opened, dtype, place, tell)
    known = isinstance(name_or_path, str) and name_or_path in available()  # read once: 49,152 tokens take half a second
    return model, _described(folder)[1] if known else _read_tokenizer(folder, model.config)


def from_transformers(model: Any, tokenizer: Any = None) -> tuple[Transformer, Tokenizer | None]:
    """A model of `transformers` that is in memory, as `load` would read it from its folder, and its tokenizer.

    Weights are shared where ours lie as theirs do, the others are copies: of a LLaMA the embeddings, the norms and the
    second matrices of attention and feed-forward layers are shared, and W_Q, W_K, W_V and both first matrices copied.
    What is trained of it afterwards changes the shared ones alone: take it again. Matrices in 16 bits stay so, and are
    computed with in float32.

    Args:
        model: of a class that `load` reads from a folder. Its mode, gradients, hooks and dtype are left alone.
        tokenizer: a fast one of `transformers`; None: the model reads no text.

    Raises:
        CheckpointError: as load, of a model that is unsupported; a slow tokenizer.
    """
    model = getattr(model, "_orig_mod", model)  # of torch.compile
    values, writing = settings_of(model)
    said = f"the {type(model).__name__} in memory"
    family = _family(said, values)
    assert family is not None
    weights = StateWeights(model.state_dict(), family.canonical, said)
    values = values if writing is None else _with_writing(values, writing)
    ours = _sharing(_Opened(said, values, family, weights), weights)
    if tokenizer is None:
        return ours, None
    return ours, _fitting(tokenizer_in_memory(tokenizer), ours.config, f"the {type(tokenizer).__name__}")


def _types(config: ModelConfig, shapes: Mapping[str, Shape], dtype: torch.dtype | None) -> dict[str, torch.dtype]:
    """The type that each tensor is kept in."""
    if dtype is not None and not dtype.is_floating_point:
        raise ValueError(f"dtype={dtype} is no floating-point type; take torch.float32, float16 or bfloat16")
    halved = matrices(blank(config)) if _is_halved(shapes, dtype) else set()
    return {name: torch.bfloat16 if name in halved else dtype or torch.float32 for name in shapes}


def _is_halved(shapes: Mapping[str, Shape], dtype: torch.dtype | None) -> bool:
    """Whether matrices are kept in 16 bits and computed in float32."""
    return dtype is None and _count(shapes) > HALF_FROM


def _count(shapes: Mapping[str, Shape]) -> int:
    return sum(torch.Size(shape).numel() for shape in shapes.values())


def _promised(remote: Remote) -> tuple[ModelConfig, dict[str, Shape], Family | None]:
    """Config, tensor shapes and family of a checkpoint on the hub, from its config.json, or from the header of its GGUF
    file, whose tokenizer must be one that can be read; no weights are downloaded."""
    if remote.place != remote.folder:
        with _opened(remote) as opened:
            config, shapes, _ = _planned(opened)
            assert isinstance(opened.weights, GgufWeights)
            tokenizer_json(opened.weights.file.settings, opened.weights.path)
        return config, shapes, opened.family
    path = remote.folder / "config.json"
    values = read_json(path)
    family = _family(path, values)
    config = _config(path, family, values, NoTensors())
    return config, shapes_of(blank(config)), family


def folder_of(name_or_path: str | Path | OnHub) -> Path | None:
    """The folder or GGUF file of a model on this machine; None for a name on the hub.

    Raises:
        CheckpointError: it is neither here nor the form of such a name.
    """
    if isinstance(name_or_path, OnHub):
        return None
    if isinstance(name_or_path, str) and name_or_path in here():
        return _available(name_or_path)
    folder = Path(name_or_path)
    if folder.is_dir() or (folder.suffix == ".gguf" and folder.is_file()):
        return folder
    if isinstance(name_or_path, str) and is_hub_name(name_or_path):
        return None
    raise CheckpointError(
        f"{name_or_path} is neither a model that is here ({', '.join(available())}) nor a folder nor a GGUF file, nor "
        f"has it the form of models on the Hugging Face hub: {FORMS}"
    )


AnyWeights: TypeAlias = Weights | GgufWeights | AdaptedWeights | StateWeights


@dataclass(frozen=True, slots=True)
class _Opened:
    """A checkpoint whose headers are read.

    Args:
        said: the file with the settings, or what a model in memory is called.
        values: the settings.
        family: None for a folder of our own.
        weights: its tensors.
    """

    said: Path | str
    values: dict[str, Any]
    family: Family | None
    weights: AnyWeights


@contextmanager
def _opened(place: Path | Remote) -> Iterator[_Opened]:
    """The checkpoint at a place, or in a GGUF file on the hub, until the block ends."""
    elsewhere = None
    if isinstance(place, Remote) and place.missing:
        elsewhere, place = Elsewhere(place.missing, functools.partial(part, place)), Path(place.name)
    elif isinstance(place, Remote):
        place = place.place
    if is_adapter(place):
        with _opened(base_of(place).place) as base:
            yield from _adapted(place, base)
        return
    if (path := gguf_in(place)) is not None:
        with GgufWeights(path, elsewhere) as from_gguf:
            yield _Opened(path, from_gguf.values, _family(path, from_gguf.values), from_gguf)
        return
    path = place / "config.json"
    values = read_json(path)
    family = _family(path, values)
    if family is not None and (said := place / "generation_config.json").is_file():
        values = _with_writing(values, read_json(said))
    with Weights(place, family.canonical if family else str) as weights:
        yield _Opened(path, values, family, weights)


def _with_writing(values: dict[str, Any], writing: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model with what generation_config.json says of texts that are written."""
    start = {} if writing.get(START) is None else {START: writing[START]}
    return values | {name: writing.get(name) for name in OF_WRITING} | start


def _adapted(folder: Path, base: _Opened) -> Iterator[_Opened]:
    """The base of an adapter with what that changes, until the block ends."""
    assert not isinstance(base.weights, AdaptedWeights | StateWeights)
    with AdaptedWeights(folder, base.weights, base.family) as weights:
        opened = replace(base, weights=weights)
        if more := weights.classes(base.values):  # in the place of the base's own head, whose tensors are left out
            _planned(base)
            family = _family(base.said, values := base.values | more)
            assert family is not None
            opened = replace(opened, values=values, family=replace(family, checked=".*"))
        yield opened


def adapter_summary(folder: Path) -> AdapterSummary | None:
    """The changes that an adapter makes to its base; None where the folder is of none.

    Raises:
        CheckpointError: as load.
    """
    if not is_adapter(folder):
        return None
    with _opened(folder) as opened:
        assert isinstance(opened.weights, AdaptedWeights)
        weights = opened.weights
        return AdapterSummary(base_of(folder), weights.updates, weights.whole, weights.parameters)


def _planned(opened: _Opened) -> tuple[ModelConfig, dict[str, Shape], dict[str, list[Piece]]]:
    """The config of a checkpoint, the shapes of our tensors, and what each is made of; headers alone are read."""
    config = _config(opened.said, opened.family, opened.values, opened.weights)
    if opened.family is not None and isinstance(opened.said, Path) and opened.said.name == "config.json":
        config = replace(config, sentences=pooling_of(opened.said.parent))
        config = with_pictures_of(opened.said.parent, config)
        check_sounds_of(opened.said.parent, config)
    if config.experts is not None and config.experts.n_experts * config.n_layers > MOST_EXPERTS:
        raise CheckpointError(f"{opened.said}: more than {MOST_EXPERTS:,} experts in all are too many")
    shapes = shapes_of(blank(config))
    weights = opened.weights
    pieces = plan(opened.family, config, shapes, weights.shapes, str(weights.path), weights.same)
    sources = [piece.source for parts in pieces.values() for piece in parts if piece.source]
    if isinstance(weights, AdaptedWeights):
        weights.check_used(sources, [piece.source for piece in pieces["embed.weight"]] if config.tie_embeddings else [])
    weights.check_numbers(sources)
    return config, shapes, pieces


def _filled(opened: _Opened, dtype: torch.dtype | None, device: torch.device, tell: Tell | None = None) -> Transformer:
    """The model of a checkpoint. Tensors are brought over one at a time, so there is no second copy of the weights."""
    config, shapes, pieces = _planned(opened)
    types, halved = _types(config, shapes, dtype), _is_halved(shapes, dtype)
    check_memory(shapes, types, device)
    for name, parts in pieces.items():
        if halved and types[name] == torch.bfloat16 and all(opened.weights.is_float16(p.source) for p in parts):
            types[name] = torch.float16
    done, total = 0, bytes_of(shapes, types)
    # room for all of them first: between them, what is read would leave holes
    state = {name: torch.empty(shapes[name], dtype=types[name], device=device) for name in pieces}
    for name, parts in pieces.items():
        _fill(state[name], parts, opened.weights)
        done += state[name].nbytes
        if tell is not None:
            tell(LoadProgress("load", done, total))
    return _with_state(config, state, torch.float32 if halved else None).to(device)


def _sharing(opened: _Opened, weights: StateWeights) -> Transformer:
    """The model of one in memory: the tensors that lie in both alike are the same, in 16 bits where they are matrices;
    the others are copies, in float32 unless they are such matrices."""
    config, shapes, pieces = _planned(opened)
    narrow = matrices(blank(config))
    types = {name: weights.common_type(parts) if name in narrow else torch.float32 for name, parts in pieces.items()}
    shared = {name: weights.whole(parts, shapes[name], types[name]) for name, parts in pieces.items()}
    check_memory({name: shapes[name] for name, one in shared.items() if one is None}, types, weights.device)
    state = {}
    for name, one in shared.items():
        state[name] = torch.empty(shapes[name], dtype=types[name], device=weights.device) if one is None else one
        if one is None:
            _fill(state[name], pieces[name], weights)
        else:
            _check_finite(one, pieces[name], weights)
    return _with_state(config, state, torch.float32)


def _with_state(config: ModelConfig, state: Mapping[str, Tensor], wider: torch.dtype | None) -> Transformer:
    """A model of these weights, ready to answer; see `widen`."""
    model = blank(config)
    model.load_state_dict(state, assign=True)
    widen(model, wider)
    return model.eval().requires_grad_(False)


def _family(said: Path | str, values: dict[str, Any]) -> Family | None:
    """The family of a checkpoint of `transformers`; None for a folder of our own."""
    try:
        return family_of(values) if "model_type" in values else None
    except ValueError as error:
        raise CheckpointError(f"{said}: {error}") from error


def _config(said: Path | str, family: Family | None, values: dict[str, Any], tensors: Tensors) -> ModelConfig:
    try:
        return ModelConfig.from_dict(values) if family is None else config_of(family, values, tensors)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"{said}: {error}") from error


def blank(config: ModelConfig) -> Transformer:
    """A model without memory for its weights, to be filled by load_state_dict(..., assign=True)."""
    with torch.device("meta"):
        return Transformer(config)


def shapes_of(model: Transformer) -> dict[str, Shape]:
    """Name -> shape of every tensor of the state."""
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def _fill(tensor: Tensor, pieces: list[Piece], weights: AnyWeights) -> None:
    """One tensor of our model, assembled from those of the checkpoint, or of ones where it comes from none."""
    if not pieces:
        tensor.fill_(1)
    for piece in pieces:
        part = piece.ours(weights.read(piece.source)) if piece.source else 0
        if piece.scaled_by is not None and isinstance(part, Tensor):
            part = (
                (part.mT * weights.read(piece.scaled_by)).mT if part.ndim > 1 else part * weights.read(piece.scaled_by)
            )
        tensor[piece.place] = part
    _check_finite(tensor, pieces, weights)


def _check_finite(tensor: Tensor, pieces: list[Piece], weights: AnyWeights) -> None:
    if not bool(torch.isfinite(tensor).all()):
        raise CheckpointError(f"{weights.path}: {pieces[0].source} holds numbers that are not finite in {tensor.dtype}")


def _read_tokenizer(place: Path, config: ModelConfig) -> Tokenizer | None:
    """The tokenizer of a checkpoint: that of an available model in this process, all others in one of their own."""
    place = tokenizer_place(place)
    trusted = place.parent == PRETRAINED or place in real_models.installed().values()
    said = gguf_in(place) or place / "tokenizer.json"
    if gguf_in(place) is not None:
        with GgufWeights(said) as weights:
            content = tokenizer_json(weights.file.settings, said)
        tokenizer = tokenizer_of(content.decode()) if trusted else _isolated(content, said)
    elif said.exists() or said.is_symlink():
        tokenizer = load_tokenizer(said) if trusted else read_tokenizer(said, declared_of(place), config.vocab_size)
    elif (made := tokenizer_json_of(place)) is not None:
        tokenizer = _isolated(made, place, declared_of(place), config.vocab_size)
    else:
        return None
    return _fitting(tokenizer, config, said)


def _fitting(tokenizer: Tokenizer, config: ModelConfig, said: Path | str) -> Tokenizer:
    """A tokenizer whose tokens a model has rows for."""
    if tokenizer.vocab_size > config.vocab_size:
        raise CheckpointError(
            f"{said} has {tokenizer.vocab_size} tokens, more than the vocab_size={config.vocab_size} of its config"
        )
    end = config.classes.end_id if config.classes is not None else None
    if end is not None and tokenizer.encode("")[-1:] != [end]:
        raise CheckpointError(
            f"{said} does not end texts with token {end} (eos_token_id), at which their class is read"
        )
    return tokenizer


def tokenizer_place(place: Path) -> Path:
    """Where the tokenizer of a checkpoint is: an adapter that brings none has that of its base."""
    return base_of(place).place if is_adapter(place) and not (place / "tokenizer.json").exists() else place


def _isolated(content: bytes, said: Path, declared: Declared = NOTHING, rows: int = MOST_ROWS) -> Tokenizer:
    try:
        return isolated(content, declared, rows)
    except ValueError as error:
        raise CheckpointError(f"{said} has a tokenizer that cannot be used: {error}") from error
