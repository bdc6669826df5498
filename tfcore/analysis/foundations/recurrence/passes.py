"""Seconds of one pass over a sequence: step by step in recurrent networks, all positions at once in a Transformer."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import torch

from tfcore.analysis.finding import Finding
from tfcore.analysis.foundations.recurrence.networks import IN_SENTENCE, KINDS, Kind, NetworkConfig, logits_of, network
from tfcore.checks import check_whole
from tfcore.measures.timing import milliseconds, on_cpu

LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)
VOCABULARY = 28
REPEATS = 15  # runs of one point, at most
SPENT = 0.6  # seconds for the runs of one point, after which no other begins
KEPT = Path(__file__).with_name("passes.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class PassConfig:
    """What is timed.

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
class Pass:
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
    points: tuple[Pass, ...]
    machine: str


def time_passes(config: PassConfig) -> Iterator[Passes | None]:
    """Every network at every length, from short to long: yields all points so far after each, and None in between."""
    models = {kind: network(config.networks, kind).eval() for kind in KINDS}
    points: list[Pass] = []
    for n in LENGTHS:
        ids = torch.randint(VOCABULARY, (1, n), generator=torch.Generator().manual_seed(config.seed))
        for kind, model in models.items():
            run = partial(_one_pass, partial(logits_of, model, ids))
            run()  # the first run allocates
            seconds: list[float] = []
            while len(seconds) < REPEATS and sum(seconds) < SPENT:
                seconds.append(run())
                yield None
            points.append(Pass(n, kind, min(seconds)))
            yield Passes(config, tuple(points), on_cpu())


def timed(config: PassConfig) -> Passes:
    """All points."""
    return [found for found in time_passes(config) if found is not None][-1]


def _one_pass(run: Callable[[], torch.Tensor]) -> float:
    with torch.inference_mode():
        began = time.perf_counter()
        run()
        return time.perf_counter() - began


@dataclass(frozen=True, slots=True)
class ParallelGain(Finding):
    """Where the Transformer is furthest ahead of the quicker recurrent network, and how times grow at the end.

    Args:
        n: tokens; 0 while nothing can be compared.
        times: (network, seconds) there.
        growth: (network, factor of the last doubling of the length).
    """

    n: int
    times: tuple[tuple[Kind, float], ...]
    growth: tuple[tuple[Kind, float], ...]

    @property
    def sentence(self) -> str:
        if not self.n:
            return "Nothing to compare yet."
        times = dict(self.times)
        ratio = min(times["rnn"], times["lstm"]) / times["transformer"]
        speed = f"{ratio:.1f} times as quick" if ratio >= 1 else f"{1 / ratio:.1f} times slower"
        said = ", ".join(f"{IN_SENTENCE[kind]} {milliseconds(s)}" for kind, s in self.times)
        grown = ", ".join(f"{IN_SENTENCE[kind]} × {factor:.1f}" for kind, factor in self.growth)
        return (
            f"At {self.n:,} tokens the Transformer compares best with the quicker recurrent network: {speed} ({said}). "
            f"The last doubling of the length: {grown}."
        )


def parallel_gain(points: Sequence[Pass]) -> ParallelGain:
    """Over all lengths at which the three were measured."""
    by_length: dict[int, dict[Kind, float]] = {}
    for point in points:
        by_length.setdefault(point.n, {})[point.kind] = point.seconds
    whole = {n: times for n, times in by_length.items() if len(times) == len(KINDS)}
    if len(whole) < 2:
        return ParallelGain(0, (), ())
    best = max(whole, key=lambda n: min(whole[n]["rnn"], whole[n]["lstm"]) / whole[n]["transformer"])
    before, last = sorted(whole)[-2:]
    growth = tuple((kind, whole[last][kind] / whole[before][kind]) for kind in KINDS)
    return ParallelGain(best, tuple((kind, whole[best][kind]) for kind in KINDS), growth)


@cache
def kept_passes() -> Passes:
    """The measurement that ships; `python -m tfcore.training recurrence` makes it anew."""
    kept = json.loads(KEPT.read_text("utf-8"))
    return Passes(PassConfig(**kept["config"]), tuple(Pass(**point) for point in kept["points"]), kept["machine"])
