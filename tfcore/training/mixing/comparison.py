"""Attention and other mixers trained alike to recall pairs: the networks, their training, and what is kept of it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast, get_args

import torch

from tfcore.checks import check_choice, check_number, check_whole
from tfcore.config import ModelConfig
from tfcore.model import Transformer
from tfcore.part_configs import (
    AttentionConfig,
    Decay,
    FeedForwardConfig,
    LayerConfig,
    Mixer,
    MixerConfig,
    PositionsConfig,
)
from tfcore.training import alike
from tfcore.training.alike import Comparison, Repeats, SeedDifference, repeats_from_json, seed_difference
from tfcore.training.alike_loop import Material, train_alike
from tfcore.training.mixing.pairs import ASKED, KEYS, NAMES, pair_rows

MixingTask = Literal["one layer", "four layers"]
MixedKind = Literal["attention", "linear", "decay", "gated", "ssm", "delta", "gated delta", "conv", "first", "third"]
TASKS: tuple[MixingTask, ...] = get_args(MixingTask)
KINDS: dict[MixingTask, tuple[MixedKind, ...]] = {
    "one layer": ("attention", "linear", "decay", "gated", "ssm", "delta", "gated delta", "conv"),
    "four layers": ("attention", "first", "third", "gated delta"),
}
SWEPT: tuple[MixedKind, ...] = ("linear", "ssm", "delta", "gated delta")  # at every width of keys
WIDTHS = (2, 4, 8, 16)  # of keys
BUILT: dict[MixedKind, tuple[Mixer, Decay | None]] = {
    "attention": ("attention", None),
    "linear": ("linear", None),
    "decay": ("linear", "constant"),
    "gated": ("linear", "channel"),
    "ssm": ("ssm", "token"),
    "delta": ("delta", None),
    "gated delta": ("delta", "token"),
    "conv": ("conv", None),
    "first": ("delta", "token"),
    "third": ("delta", "token"),
}
HYBRIDS: dict[MixedKind, int] = {"first": 0, "third": 2}  # their layer of attention
NAMED: dict[MixedKind, str] = {
    "attention": "attention",
    "linear": "linear attention",
    "decay": "decay",
    "gated": "gated linear attention",
    "ssm": "SSD (Mamba-2)",
    "delta": "delta rule",
    "gated delta": "gated delta rule",
    "conv": "short convolution",
    "first": "hybrid (first)",
    "third": "hybrid (third)",
}
WIDTH = 32  # d_model
HEADS = 2
D_VALUE = 16
REACH = 4  # tokens of the short convolution
HELD_ROWS = 512
LEAST_MISSING = 0.02  # share of right tokens, of which a part can be said to come back
HELD_SEED = 999_999
FOLDER = Path(__file__).parent  # of the files that ship: comparisons.json, seeds.json, sizes.json


@dataclass(frozen=True, slots=True, kw_only=True)
class MixingConfig:
    """A training that is the same for all networks.

    Args:
        task: "one layer": each kind of mixer alone; "four layers": attention in all, in the first, in the third, or in
            none of them.
        d_key: width of the keys of a head of those that carry a state: a head's state has d_key x D_VALUE numbers.
        steps, rows: optimiser steps, and sequences per step.
        lr: peak of the learning rate.
        seed: of weights and batches.
        only: kinds of networks; all of the task where it is empty.

    Raises:
        ValueError: naming the value and what would do.
    """

    task: MixingTask = "one layer"
    d_key: int = 8
    steps: int = 300
    rows: int = 64
    lr: float = 1e-2
    seed: int = 0
    only: tuple[MixedKind, ...] = ()

    def __post_init__(self) -> None:
        check_choice(self, task=MixingTask)
        check_whole(self, d_key=(1, 64), steps=(2, 1_000), rows=(1, 256), seed=(0, 9_999))
        check_number(self, lr=(1e-5, 0.1))
        if unknown := [kind for kind in self.only if kind not in KINDS[self.task]]:
            raise ValueError(f"only={unknown[0]!r} is no network of {self.task!r}; there are {', '.join(self.kinds)}")

    @property
    def kinds(self) -> tuple[MixedKind, ...]:
        """The networks, in the order of all results."""
        return tuple(self.only) or KINDS[self.task]

    @property
    def names(self) -> Mapping[str, str]:
        """Kind -> its name."""
        return cast("Mapping[str, str]", NAMED)

    @property
    def in_sentence(self) -> Mapping[str, str]:
        """Kind -> its name with an article, where it has one."""
        bare = ("attention", "linear", "gated", "decay", "ssm")
        return {kind: name if kind in bare else f"the {name}" for kind, name in NAMED.items()}

    @property
    def n_layers(self) -> int:
        """Layers of each network."""
        return 1 if self.task == "one layer" else 4

    def network(self, kind: MixedKind) -> ModelConfig:
        """A network of this kind: pre-norm, without positions (the task has no order), feed-forward layers of twice the
        width."""
        mixer, decay = BUILT[kind]
        mixers = [mixer] * self.n_layers
        if kind in HYBRIDS:
            mixers[HYBRIDS[kind]] = "attention"
        of_layers = tuple(LayerConfig(mixer=one) for one in mixers) if mixer != "attention" else ()
        own = MixerConfig(
            n_heads=HEADS, d_key=self.d_key, d_value=D_VALUE, decay=decay, width=REACH if mixer == "conv" else 1
        )
        return ModelConfig(
            vocab_size=len(NAMES),
            d_model=WIDTH,
            n_layers=self.n_layers,
            attention=AttentionConfig(n_heads=HEADS, d_head=D_VALUE),
            feed_forward=FeedForwardConfig(d_ff=2 * WIDTH, activation="relu"),
            positions=PositionsConfig(kind="none"),
            max_seq_len=KEYS + ASKED,
            tie_embeddings=False,
            layers=of_layers,
            mixer=own if of_layers else None,
        )

    @property
    def state(self) -> int:
        """Numbers that a layer with a state carries from token to token."""
        return HEADS * self.d_key * D_VALUE


def rows_of(config: MixingConfig) -> Material:
    """Rows of pairs, by step and held out."""
    held = pair_rows(HELD_ROWS, torch.Generator().manual_seed(HELD_SEED))

    def batch(step: int) -> Any:
        return pair_rows(config.rows, torch.Generator().manual_seed(config.seed * 1_000_000 + step))

    return Material(NAMES, batch, held)


def compare(config: MixingConfig) -> Iterator[Comparison | None]:
    """Train all networks of a config, see `train_alike`: yields what there is after each look, and None in between."""
    networks: dict[str, Transformer] = {kind: Transformer(config.network(kind), config.seed) for kind in config.kinds}
    for so_far, _ in train_alike(config, networks, rows_of(config)):
        yield so_far


def compared(config: MixingConfig) -> Comparison:
    """A comparison to its end."""
    return [so_far for so_far in compare(config) if so_far is not None][-1]


def config_of(**fields: Any) -> MixingConfig:
    """The config of fields as JSON has them."""
    return MixingConfig(**fields | {"only": tuple(fields.get("only", ()))})


@cache
def kept_comparison(task: MixingTask, folder: Path = FOLDER) -> Comparison:
    """The comparison that ships: `python -m tfcore.training mixing` makes it anew.

    Args:
        folder: where that command wrote.
    """
    return alike.from_json(_read(folder, "comparisons")[task], config_of)


@cache
def kept_repeats(task: MixingTask, folder: Path = FOLDER) -> Repeats:
    """The shipped repeats of the same training with other seeds; that of `kept_comparison` is among them."""
    return repeats_from_json(_read(folder, "seeds")[task])


@cache
def kept_sizes(folder: Path = FOLDER) -> dict[int, Repeats]:
    """Repeats of "one layer" for every width of keys, of the networks of SWEPT; those of its own width are among its
    repeats."""
    sizes = {int(width): repeats_from_json(one) for width, one in _read(folder, "sizes").items()}
    own, at = kept_repeats("one layer", folder), [KINDS["one layer"].index(kind) for kind in SWEPT]
    accuracy = tuple(tuple(seed[i] for i in at) for seed in own.accuracy)
    by_place = tuple(tuple(seed[i] for i in at) for seed in own.by_place)
    return dict(sorted((sizes | {begun("one layer").d_key: Repeats(own.seeds, accuracy, by_place)}).items()))


@dataclass(frozen=True, slots=True)
class Regained:
    """What one layer of attention in four brings.

    Args:
        difference: the hybrid's share of right tokens less that of no attention, in the mean over the seeds.
        share: of what attention in all layers has right and none has not; None where that is next to nothing.
    """

    difference: SeedDifference
    share: float | None


def regained(repeats: Repeats) -> dict[MixedKind, Regained]:
    """Compare each hybrid with attention in all layers and in none, seed by seed."""
    shares = dict(zip(KINDS["four layers"], zip(*repeats.accuracy, strict=True), strict=True))
    none = shares["gated delta"]
    missing = seed_difference(shares["attention"], none).mean
    above = {kind: seed_difference(shares[kind], none) for kind in HYBRIDS}
    return {kind: Regained(one, one.mean / missing if missing > LEAST_MISSING else None) for kind, one in above.items()}


def _read(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return found


def widened(width: int, seed: int) -> MixingConfig:
    """The training of "one layer" at another width of keys."""
    return MixingConfig(d_key=width, seed=seed, only=SWEPT)


def begun(task: MixingTask) -> MixingConfig:
    """The training that ships. Four layers have smaller states, and take a smaller rate."""
    return MixingConfig(task=task) if task == "one layer" else MixingConfig(task=task, d_key=2, lr=3e-3)
