"""Versions of a model, each by a name that views take in the place of a model's:

smollm2@int4/32     its matrices rounded to a data type; what shares a scale behind the stroke
stories@play        with the LoRA adapter that ships beside it
induction@2000      after so many steps of its training
smollm2@chat        the model itself, which reads a text as what a user said, within its chat template
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast, get_args

from tfcore.config import ModelConfig
from tfcore.loading.checkpoint_history import CheckpointHistory, load_history
from tfcore.loading.checkpoints import PRETRAINED, available, described, load
from tfcore.measures.parameter_count import parameters
from tfcore.measures.quantisation.formats import BITS, UNSCALED, Per, Scheme
from tfcore.measures.quantisation.matrices import matrices, not_told_apart, quantised_copy

CHAT = "chat"
ADAPTERS = {"stories": {"play": "stories-play"}}  # model -> its versions -> folders that ship
IN_WORDS = {"play": "tuned on a play (LoRA)", CHAT: "with its chat template"}
HISTORIES = ("induction",)
MOST_ROUNDED = 200_000_000  # parameters of a model of which a rounded copy is made: 0.8 GB in float32
MOST = 8  # versions kept at a time
ROOM = 640 << 20  # bytes of all of them beside the models that they are made of: one copy of smollm2
_DIVIDED = re.compile(r"(.+)@([\w/]{1,20})")
_LOCK = threading.Lock()  # of what is kept
_MAKING = threading.Lock()


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A model and what is changed of it.

    Args:
        base: its name or folder.
        change: behind the @.
        scheme: of weights that are rounded; None where none are.
        step: of a checkpoint of its training; None where it is the model that ships.
    """

    base: str
    change: str
    scheme: Scheme | None = None
    step: int | None = None

    def __str__(self) -> str:
        """The version in words."""
        if self.scheme is not None:
            return f"{self.base} in {self.scheme}"
        if self.step is not None:
            return f"{self.base} after {self.step:,} steps"
        return f"{self.base} {IN_WORDS[self.change]}"


@dataclass(frozen=True, slots=True)
class _KeptVersion:
    base: Any
    pair: tuple[Any, Any]
    nbytes: int


_OPENED: OrderedDict[str, _KeptVersion] = OrderedDict()


def version_of(name: str) -> ModelVersion | None:
    """The version that a name says; None where it is that of a model.

    Raises:
        ValueError: a model that is here, and no version of it.
    """
    divided = _DIVIDED.fullmatch(name)
    if divided is None or Path(name).exists():
        return None
    base, change = divided.groups()
    if (scheme := scheme_of(change)) is not None:
        return ModelVersion(base, change, scheme)
    if base not in available():
        return None  # as of a run of the lab, run:ID@STEP
    if change in ADAPTERS.get(base, ()) or change == CHAT:
        return ModelVersion(base, change)
    if base in HISTORIES and change.isdecimal() and int(change) in history(base).steps:
        return ModelVersion(base, change, step=int(change))
    raise ValueError(f"{name} is no version of {base}: there are {', '.join(versions(base))}")


def scheme_of(change: str) -> Scheme | None:
    """How weights are rounded, of "int4/32", "int8/row", "bfloat16"; None for anything else."""
    data_type, _, per = change.partition("/")
    if data_type not in BITS or data_type == "float32" or (data_type in UNSCALED and per):
        return None
    if data_type not in UNSCALED and per not in get_args(Per):
        return None
    return Scheme(format=data_type, per=cast("Per", per or "row"))


ROUNDED = ("int8/row", "float8/row", "int6/32", "int4/32", "int4/row", "int3/32", "int2/32", "bfloat16")


def versions(base: str) -> list[str]:
    """Names of versions of a model that ships or was fetched: the checkpoints of its training and what tunes it, where
    there are such, and roundings."""
    steps = history(base).steps if base in HISTORIES else ()
    changes = *map(str, steps), *ADAPTERS.get(base, ()), *roundings(described(base)[0])
    return [f"{base}@{change}" for change in changes]


def roundings(config: ModelConfig) -> list[str]:
    """Ways in which the matrices of a model are rounded; none of one that is too large, or of another build."""
    if not_told_apart(config) is not None or parameters(config).total > MOST_ROUNDED:
        return []
    rows = config.d_model, config.attention.n_heads * config.head_size, config.ff_size
    schemes = {change: scheme_of(change) for change in ROUNDED}
    return [
        change
        for change, scheme in schemes.items()
        if scheme is not None and not (scheme.per.isdecimal() and any(row % int(scheme.per) for row in rows))
    ]


@cache
def history(base: str) -> CheckpointHistory:
    """The checkpoints of a shipped model's training."""
    return load_history(base)


def open_version(version: ModelVersion, opener: Callable[[str], tuple[Any, Any]]) -> tuple[Any, Any]:
    """The model and its tokenizer; nobody may change them. One that was opened before is kept, within ROOM bytes.

    Args:
        opener: of the model itself.

    Raises:
        ValueError: a model of which no rounded copy is made, as too large, or of another build.
    """
    network, tokenizer = opener(version.base)
    if version.change == CHAT:
        return network, tokenizer
    name = f"{version.base}@{version.change}"
    if (kept := _kept(name, network)) is not None:
        return kept.pair
    with _MAKING:  # one copy at a time
        if (kept := _kept(name, network)) is None:
            size = needed(version, network)
            with _LOCK:
                _make_room(name, size)
            kept = _KeptVersion(network, (_made(version, network), tokenizer), size)
            with _LOCK:
                _OPENED[name] = kept
        return kept.pair


def _kept(name: str, network: Any) -> _KeptVersion | None:
    """A version that was made of this very model."""
    with _LOCK:
        kept = _OPENED.get(name)
        if kept is None or kept.base is not network:
            return None
        _OPENED.move_to_end(name)
        return kept


def needed(version: ModelVersion, network: Any) -> int:
    """Bytes of a version beside its model.

    Raises:
        ValueError: a rounded copy would be too large.
    """
    if version.scheme is None:
        return sum(one.nbytes for one in network.parameters())
    if (size := sum(one.numel() for one in network.parameters())) > MOST_ROUNDED:
        raise ValueError(
            f"{version.base} has {size / 1e6:,.0f} M parameters, and rounded copies are made of models of up to "
            f"{MOST_ROUNDED / 1e6:,.0f} M; compare a smaller one, or a file that was rounded before"
        )
    return sum(one.weight.nbytes for one in matrices(network))


def _make_room(name: str, nbytes: int) -> None:
    """Let go of the versions used longest ago, until there is room for another."""
    _OPENED.pop(name, None)
    while _OPENED and (len(_OPENED) >= MOST or sum(one.nbytes for one in _OPENED.values()) + nbytes > ROOM):
        _OPENED.popitem(last=False)


def _made(version: ModelVersion, network: Any) -> Any:
    if version.scheme is not None:
        return quantised_copy(network, version.scheme)
    if version.step is not None:
        steps = history(version.base)
        return steps.model(steps.steps.index(version.step)).to(network.device)
    return load(PRETRAINED / ADAPTERS[version.base][version.change], str(network.device))[0]
