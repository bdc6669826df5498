"""LoRA adapters as `peft` writes them, adapter_config.json and adapter_model.safetensors, added to their base.

W' = W + s B A    with A (r, d_in), B (d_out, r), s = alpha / r (arXiv:2106.09685) or alpha / sqrt(r) (arXiv:2312.03732)

The product is added to the matrices of the base under the names that its own file gives them, before the table of the
family says which of ours they are: one rule for all families.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from torch import Tensor

from tfcore.files import CheckpointError, read_json
from tfcore.linear import low_rank_update
from tfcore.loading import real_models
from tfcore.loading.families.classifiers import HEADS, OF_SPANS, OF_TEXTS, OF_TOKENS
from tfcore.loading.families.config_values import ConfigValues, short
from tfcore.loading.families.mapping import Family, Shape
from tfcore.loading.gguf_models import GgufWeights
from tfcore.loading.hub import ADAPTER, files_in
from tfcore.loading.weights import Weights
from tfcore.part_configs import MOST_CLASSES

WEIGHTS = "adapter_model.safetensors"
BEFORE = "base_model.model."  # what peft puts before the names of the base
MOST_RANK = 4_096
MOST_PATTERNS = 1_000
NAME = re.compile(r"[\w .+-]{1,200}")  # of a folder
# The two matrices of an update, and the two of an update of an embedding, by the ends of their names.
LINEAR = (".lora_A.weight", ".lora_B.weight")
EMBEDDING = (".lora_embedding_A", ".lora_embedding_B")
READ = {
    *("peft_type", "task_type", "base_model_name_or_path", "r", "lora_alpha", "use_rslora"),
    *("rank_pattern", "alpha_pattern", "bias", "init_lora_weights"),
}
# What says how the adapter was trained, or which matrices it changes, which its tensors say: also how a matrix lies in
# the file, which follows from the family.
WITHOUT_EFFECT = {
    *("auto_mapping", "revision", "inference_mode", "peft_version", "lora_dropout", "fan_in_fan_out", "runtime_config"),
    *("target_modules", "exclude_modules", "layers_to_transform", "layers_pattern", "modules_to_save"),
    *("megatron_core", "qalora_group_size", "loftq_config", "eva_config", "corda_config", "lora_ga_config"),
}
# Ways to begin that leave the base as it is. Others, such as PiSSA's, take their beginning out of the base's matrices.
BEGINNINGS = (True, False, "gaussian", "eva", "orthogonal")
HEADS_OF_TASKS = {"SEQ_CLS": OF_TEXTS, "TOKEN_CLS": OF_TOKENS, "QUESTION_ANS": OF_SPANS}
# Names of modules, whole or in parts, as a pattern that is matched in no time: no groups, few repetitions.
_PATTERN = re.compile(r"\^?(?:[\w.]|\\\.|\\d\+|\.\*){1,200}\$?")
_MOST_REPEATED = 3  # repetitions in one pattern


def is_adapter(place: Path) -> bool:
    """Whether a place is the folder of an adapter."""
    return place.is_dir() and ((place / ADAPTER).exists() or (place / ADAPTER).is_symlink())


@dataclass(frozen=True, slots=True)
class Base:
    """The model that an adapter changes.

    Args:
        name: of its folder, or of the real model.
        is_real: whether it is one of the real models, which have names of their own.
        published: the name that the adapter gives it.
    """

    place: Path
    name: str
    is_real: bool
    published: str


def base_of(folder: Path) -> Base:
    """The base of an adapter: the folder beside it that has the last part of the name that it gives its base, or the
    real model of that name. Nothing is downloaded for it, and no link followed out of the folder for models.

    Raises:
        CheckpointError: there is none, or it is no model; the message says what to put where.
    """
    said = read_json(folder / ADAPTER).get("base_model_name_or_path")
    name = re.split(r"[/\\]", said.rstrip("/\\"))[-1] if isinstance(said, str) else ""
    if not NAME.fullmatch(name) or not name.strip(" ."):
        raise CheckpointError(f"{folder / ADAPTER}: base_model_name_or_path={short(said)} names no model")
    home = folder.resolve().parent
    place = home / name
    if place.is_dir():
        _check_inside(place, home)
        if is_adapter(place):
            raise CheckpointError(f"{folder} is an adapter of {name}, which is an adapter itself: merge that one first")
        return Base(place, name, False, str(said))
    for real, there in real_models.installed().items():
        if name in (real, real_models.published_name(real)):
            return Base(there, real, True, str(said))
    raise CheckpointError(
        f"{folder.name} is an adapter of {str(said)[:200]}, which is not here: put the folder of that model beside "
        f"it, into the same folder, under the name {name}"
    )


def _check_inside(place: Path, home: Path) -> None:
    """Refuse a folder that is a link, or with links among its files, that leads out of where it lies."""
    there = place.resolve()
    if there.parent != home:
        raise CheckpointError(f"{place} is a link that leads out of its folder; put the model itself there")
    for file in files_in(place):
        if not file.resolve().is_relative_to(there):
            raise CheckpointError(f"{file} is a link that leads out of its folder; put the file itself there")


@dataclass(frozen=True, slots=True)
class Update:
    """An addition to one matrix of the base.

    Args:
        a, b: the names of its two matrices.
        module: of the base, as peft names it.
        scale: s.
        turned: the base's matrix is (in, out).
    """

    a: str
    b: str
    module: str
    rank: int
    scale: float
    turned: bool


@dataclass(frozen=True, slots=True)
class AdapterSummary:
    """The changes that an adapter makes to its base.

    Args:
        base: of the adapter.
        updates: name of the base's tensor -> what is added to it.
        whole: names of tensors that it brings whole, in the place of the base's.
        parameters: how many numbers the adapter has.
    """

    base: Base
    updates: Mapping[str, Update]
    whole: tuple[str, ...]
    parameters: int

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers of which a matrix is changed, in order."""
        numbers = (re.search(r"\.(\d{1,6})\.", f".{name}") for name in self.updates)
        return tuple(sorted({int(number[1]) for number in numbers if number}))

    @property
    def modules(self) -> tuple[str, ...]:
        """The last parts of the names of the changed matrices, each once."""
        return tuple(dict.fromkeys(update.module.rpartition(".")[2] for update in self.updates.values()))


class AdaptedWeights:
    """The tensors of a base with those of an adapter added; the same methods as tfcore.loading.weights.Weights.

    Args:
        folder: of the adapter.
        base: the tensors of its base.
        family: of the base.

    Raises:
        CheckpointError: what is missing, damaged, unknown or does not fit the base.
    """

    def __init__(self, folder: Path, base: Weights | GgufWeights, family: Family | None) -> None:
        self.path = folder / WEIGHTS
        self._base, self._family = base, family
        self._settings = _settings(folder / ADAPTER)
        self._own = Weights(folder, file=WEIGHTS)
        try:
            self._shapes = self._own.shapes
            self.updates, self._whole = self._read_names()
            self._own.check_numbers([*self._shapes])
        except BaseException:
            self._own.__exit__(None, None, None)
            raise

    def __enter__(self) -> "AdaptedWeights":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._own.__exit__(kind, error, at)

    def __contains__(self, name: str) -> bool:
        return name in self._whole or name in self._base

    @property
    def shapes(self) -> dict[str, Shape]:
        """Name -> shape of every tensor."""
        return self._base.shapes | {name: self._shapes[own] for name, own in self._whole.items()}

    @property
    def whole(self) -> tuple[str, ...]:
        """Names of tensors that the adapter brings whole."""
        return tuple(self._whole)

    @property
    def parameters(self) -> int:
        """How many numbers the adapter has."""
        return sum(math.prod(shape) for shape in self._shapes.values())

    def check_numbers(self, names: list[str]) -> None:
        """Refuse tensors that are no floating-point numbers."""
        self._base.check_numbers([name for name in names if name not in self._whole])

    def same(self, one: str, other: str) -> bool:
        """Whether two tensors are equal; one that is changed equals no other."""
        if {one, other} & {*self.updates, *self._whole}:
            return False
        return self._base.same(one, other)

    def is_float16(self, name: str) -> bool:
        """Whether the numbers of a tensor are in float16; sums are not."""
        if name in self._whole:
            return self._own.is_float16(self._whole[name])
        return name not in self.updates and self._base.is_float16(name)

    def read(self, name: str) -> Tensor:
        """The numbers of one tensor, with what is added to it."""
        if name in self._whole:
            return self._own.read(self._whole[name])
        tensor = self._base.read(name)
        if (update := self.updates.get(name)) is None:
            return tensor
        a, b = (self._own.read(own).float() for own in (update.a, update.b))
        added = low_rank_update(a, b, update.scale)
        return tensor.float() + (added.T if update.turned else added)

    def check_used(self, sources: list[str], shared: list[str]) -> None:
        """Refuse changes of tensors that the model does not use, or that it uses twice.

        Args:
            sources: names of all that it uses.
            shared: names of those that are the table of tokens and the head.
        """
        changed = [*self.updates, *self._whole]
        if unused := [name for name in changed if name not in sources]:
            raise CheckpointError(f"{self.path} holds {min(unused)[:200]}, which the model does not have")
        if twice := [name for name in changed if name in shared]:
            raise CheckpointError(
                f"{self.path} changes {twice[0]}, which its base uses as the head too (tied embeddings): merge it"
            )

    def classes(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with the head for classes that the adapter brings; empty where it brings none, or the base has
        one."""
        kind = HEADS_OF_TASKS.get(str(self._settings.get("task_type")))
        model_type = values.get("model_type")
        trunk, heads = HEADS.get(str(model_type), ("", {}))
        if kind is None or kind not in heads:
            return {}
        score = heads[kind].score
        if f"{trunk}{kind}" in (values.get("architectures") or []) or f"{score}.weight" not in self._whole:
            return {}
        rows = self._shapes[self._whole[f"{score}.weight"]][:1]
        named = {str(i): f"LABEL_{i}" for i in range(min(sum(rows), MOST_CLASSES + 1))}
        return {"architectures": [f"{trunk}{kind}"], "id2label": named, "problem_type": None}

    def _read_names(self) -> tuple[dict[str, Update], dict[str, str]]:
        """The update of each tensor that is changed; and of those that come whole, the base's name -> their own."""
        updates: dict[str, Update] = {}
        whole: dict[str, str] = {}
        there = self._base.shapes
        for own in sorted(self._shapes):
            if not own.startswith(BEFORE):
                raise CheckpointError(f"{self.path} holds {own[:200]}, which no LoRA adapter of peft has")
            a = next((end for end in (LINEAR[0], EMBEDDING[0]) if own.endswith(end)), None)
            if a is not None:
                name, update = self._update(own, a, there)
                if name in updates:
                    raise CheckpointError(f"{self.path} changes {name[:200]} twice")
                updates[name] = update
            elif not own.endswith((LINEAR[1], EMBEDDING[1])):
                name = self._canonical(own.removeprefix(BEFORE).replace(".base_layer.", "."))
                if name in whole:
                    raise CheckpointError(f"{self.path} brings {name[:200]} twice")
                whole[name] = self._checked_whole(own, name, there)
            elif own.replace("_B", "_A") not in self._shapes:
                raise CheckpointError(f"{self.path} holds {own[:200]} without its other matrix")
        if not updates:
            raise CheckpointError(f"{self.path} changes no matrix")
        if both := [name for name in updates if name in whole and not self._is_copy(name, whole[name])]:
            raise CheckpointError(f"{self.path} changes {both[0]} and brings it whole")
        return updates, {name: own for name, own in whole.items() if name not in updates}

    def _update(self, own: str, end: str, there: Mapping[str, Shape]) -> tuple[str, Update]:
        """The tensor of the base that a pair of matrices changes, and how; `own` is the first of the pair."""
        b = own.removesuffix(end) + (LINEAR if end == LINEAR[0] else EMBEDDING)[1]
        module = own.removeprefix(BEFORE).removesuffix(end)
        name = self._canonical(f"{module}.weight")
        if b not in self._shapes:
            raise CheckpointError(f"{self.path} holds {own[:200]} without its other matrix")
        if name not in there:
            raise CheckpointError(f"{self.path} changes {module[:200]}, which the base does not have as a matrix")
        rank, scale = self._rank_and_scale(module)
        turned = end == EMBEDDING[0] or (self._family is not None and self._family.is_transposed(name))
        d_out, d_in = there[name] if len(there[name]) == 2 else (0, 0)
        d_in, d_out = (d_out, d_in) if turned else (d_in, d_out)
        if (self._shapes[own], self._shapes[b]) != ((rank, d_in), (d_out, rank)):
            raise CheckpointError(
                f"{self.path}: {module[:200]} has matrices of {self._shapes[own]} and {self._shapes[b]}; of rank "
                f"{rank}, for the base's of {there[name]}, they would be {(rank, d_in)} and {(d_out, rank)}"
            )
        return name, Update(own, b, module, rank, scale, turned)

    def _checked_whole(self, own: str, name: str, there: Mapping[str, Shape]) -> str:
        """The name of a tensor that comes whole: one of the base's shape, or of a head that the base lacks."""
        heads = HEADS_OF_TASKS.get(str(self._settings.get("task_type")))
        if name not in there and heads is None:
            raise CheckpointError(f"{self.path} holds {own[:200]}, which the base does not have")
        if name in there and there[name] != self._shapes[own]:
            raise CheckpointError(f"{self.path}: {own[:200]} has shape {self._shapes[own]}, the base's {there[name]}")
        return own

    def _is_copy(self, name: str, own: str) -> bool:
        """Whether a tensor is the base's own, which peft writes beside updates of embeddings."""
        return bool((self._own.read(own).float() == self._base.read(name).float()).all())

    def _canonical(self, name: str) -> str:
        return (self._family.canonical(name) if self._family is not None else name) or name

    def _rank_and_scale(self, module: str) -> tuple[int, float]:
        said, path = self._settings, self.path.with_name(ADAPTER)
        try:
            ranks = ConfigValues({"r": _matched(said, "rank_pattern", module, said.get("r"))}, {"r": 8})
            alphas = ConfigValues({"lora_alpha": _matched(said, "alpha_pattern", module, said.get("lora_alpha"))})
            rank, alpha = ranks.whole("r"), alphas.number("lora_alpha")
            if rank > MOST_RANK:
                raise ValueError(f"r={rank} is more than {MOST_RANK:,}, the largest that is read")
            by_root = ConfigValues(said, {"use_rslora": False}).flag("use_rslora")
        except ValueError as error:
            raise CheckpointError(f"{path}: {error}") from error
        return rank, alpha / (math.sqrt(rank) if by_root else rank)


def _settings(path: Path) -> dict[str, Any]:
    """The settings of an adapter.

    Raises:
        CheckpointError: it is no LoRA adapter, or one of a kind that is not read.
    """
    values = read_json(path)
    if values.get("peft_type") != "LORA":
        raise CheckpointError(f"{path}: peft_type={short(values.get('peft_type'))} is not supported; supported: 'LORA'")
    supported = {"bias": ("none",), "init_lora_weights": BEGINNINGS}
    for name, value in values.items():
        if name in supported and value is not None and value not in supported[name]:
            shown = ", ".join(map(repr, supported[name]))
            raise CheckpointError(f"{path}: {name}={short(value)} is not supported; supported: {shown}")
        if name not in READ | WITHOUT_EFFECT and value:
            raise CheckpointError(f"{path}: {name[:80]}={short(value)} is not supported; supported: no such field")
    for name in ("rank_pattern", "alpha_pattern"):
        _check_patterns(path, name, values.get(name) or {})
    return values


def _check_patterns(path: Path, name: str, patterns: object) -> None:
    """Refuse patterns of modules that might take long to match."""
    if not isinstance(patterns, dict) or len(patterns) > MOST_PATTERNS:
        raise CheckpointError(f"{path}: {name} must name up to {MOST_PATTERNS:,} modules, each with a number")
    for pattern in patterns:
        if not _PATTERN.fullmatch(pattern) or sum(map(pattern.count, "*+")) > _MOST_REPEATED:
            raise CheckpointError(f"{path}: {name} has {short(pattern)}, which is neither a module's name nor its end")


def _matched(settings: Mapping[str, Any], name: str, module: str, otherwise: Any) -> Any:
    """The number of the first pattern that is the end of a module's name, or the whole of it; else the usual one."""
    for pattern, number in (settings.get(name) or {}).items():
        if re.match(rf"(.*\.)?({pattern})$", module):
            return number
    return otherwise
