"""Seconds of one pass over a sequence: step by step in recurrent networks, all positions at once in a Transformer."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import torch

from tfcore.checks import check_whole
from tfcore.measures.timing import on_cpu, repeated, seconds_of
from tfcore.training.alike_loop import logits_of
from tfcore.training.recurrent.networks import KINDS, Kind, NetworkConfig, network

LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)
VOCABULARY = 28
REPEATS = 15  # runs of one point, at most
SPENT = 0.6  # seconds for the runs of one point, after which no other begins
KEPT = Path(__file__).with_name("passes.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class PassConfig:
    """The passes that are timed.

    Args:
        d_model: width of the Transformer of 2 layers; the others have as many parameters.
        seed: of weights and tokens.

    Raises:
        ValueError: naming the value and what would do.
    """

    d_model: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self, d_model=(8, 256), seed=(0, 9_999))

    @property
    def networks(self) -> NetworkConfig:
        """The three networks, which can read the longest sequence."""
        return NetworkConfig(vocab_size=VOCABULARY, d_model=self.d_model, context=max(LENGTHS), seed=self.seed)


@dataclass(frozen=True, slots=True)
class TimedPass:
    """One network at one length.

    Args:
        n: tokens of the one sequence that is read.
        seconds: of the quickest run.
    """

    n: int
    kind: Kind
    seconds: float


@dataclass(frozen=True, slots=True)
class Passes:
    """All points, and where they were measured."""

    config: PassConfig
    points: tuple[TimedPass, ...]
    machine: str


def time_passes(config: PassConfig) -> Iterator[Passes | None]:
    """Every network at every length, from short to long: yields all points so far after each, and None in between."""
    models = {kind: network(config.networks, kind).eval() for kind in KINDS}
    points: list[TimedPass] = []
    for n in LENGTHS:
        ids = torch.randint(VOCABULARY, (1, n), generator=torch.Generator().manual_seed(config.seed))
        for kind, model in models.items():
            run = partial(seconds_of, partial(logits_of, model, ids))
            run()  # the first run allocates
            seconds = yield from repeated(run, REPEATS, SPENT)
            points.append(TimedPass(n, kind, min(seconds)))
            yield Passes(config, tuple(points), on_cpu())


def timed(config: PassConfig) -> Passes:
    """All points of a measurement, made to its end."""
    return [so_far for so_far in time_passes(config) if so_far is not None][-1]


@cache
def kept_passes() -> Passes:
    """The measurement that ships; `python -m tfcore.training recurrence` makes it anew."""
    kept = json.loads(KEPT.read_text("utf-8"))
    return Passes(PassConfig(**kept["config"]), tuple(TimedPass(**point) for point in kept["points"]), kept["machine"])
