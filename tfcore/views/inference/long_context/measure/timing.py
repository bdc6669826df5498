"""Attention in three steps against torch's fused kernel: seconds on this machine, and bytes, at growing lengths."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from tfcore.attention import attention_scores, attention_weights, weighted_values
from tfcore.checks import check_whole
from tfcore.device import device
from tfcore.masks import causal as causal_mask
from tfcore.measures.precision import stored_bytes
from tfcore.measures.timing import on_cpu, repeated

try:  # torch's own record of every allocation of this thread; not a public name, so it may go
    from torch._C._profiler import _ExperimentalConfig
    from torch.autograd import ProfilerConfig, ProfilerState, _disable_profiler_legacy, _enable_profiler_legacy  # type: ignore[attr-defined]
except ImportError:
    RECORDS = False
else:
    RECORDS = True

Way = Literal["naive", "fused"]
Vectors = Float[Tensor, "batch head seq d_head"]
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192)
LARGEST = 140_000_000  # bytes of the two matrices; a longer text is left out, and said to be
REPEATS = 7  # runs of one point, at most
SPENT = 0.5  # seconds for the runs of one point, after which no other begins


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingConfig:
    """A measurement of time: one layer's attention on random vectors.

    Raises:
        ValueError: sizes outside of what a shared machine can be asked for.
    """

    heads: int = 2
    d_head: int = 64
    causal: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self, heads=(1, 8), d_head=(8, 256))


@dataclass(frozen=True, slots=True)
class Timed:
    """One way at one length.

    Args:
        seconds: the quickest of `runs`; nan where it was left out.
        computed: bytes that must be there at once besides Q, K and V: scores and weights, or the output.
        measured: the most bytes that torch had allocated at once for it; None where torch does not tell.
        difference: the largest between the two ways, once both are known.
    """

    n: int
    way: Way
    seconds: float
    runs: int
    computed: int
    measured: int | None
    difference: float | None = None


def naive_attention(q: Vectors, k: Vectors, v: Vectors, causal: bool) -> Vectors:
    """Three steps, each of which makes a whole matrix (query, key)."""
    mask = causal_mask(q.shape[2]).to(q.device) if causal else None
    return weighted_values(attention_weights(attention_scores(q, k), mask), v)


def fused_attention(q: Vectors, k: Vectors, v: Vectors, causal: bool) -> Vectors:
    """One kernel, tile by tile: torch's scaled_dot_product_attention."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def where() -> str:
    """The machine's part that computes, in words."""
    place = device()
    if place.type == "cuda":
        return f"{torch.cuda.get_device_name(place)}, torch {torch.__version__}, float32"
    return on_cpu() if place.type == "cpu" else f"{place.type}, torch {torch.__version__}, float32"


def computed_bytes(config: TimingConfig, n: int, way: Way) -> int:
    """Scores and weights of all heads, both there during the softmax; of the fused kernel only its output."""
    cells = 2 * n * n if way == "naive" else n * config.d_head
    return stored_bytes(config.heads * cells, "float32")


WAYS: dict[Way, Callable[..., Tensor]] = {"naive": naive_attention, "fused": fused_attention}


def race(config: TimingConfig) -> Iterator[Timed | None]:
    """Both ways at every length, from short to long: yields each point as it is known, and None in between.

    The naive way is left out where its matrices would take more than LARGEST bytes.
    """
    place = device()
    for n in LENGTHS:
        generator = torch.Generator().manual_seed(config.seed)
        shape = (1, config.heads, n, config.d_head)
        vectors = [torch.randn(shape, generator=generator).to(place) for _ in range(3)]
        outputs: list[Tensor] = []
        for way in WAYS:
            if (computed := computed_bytes(config, n, way)) > LARGEST:
                yield Timed(n, way, math.nan, 0, computed, None)
            else:
                run = partial(_run, WAYS[way], vectors, config.causal)
                yield from _measure(run, place, Timed(n, way, math.nan, 0, computed, None), outputs)


def timed_points(config: TimingConfig) -> list[Timed]:
    """Every point of a race that is run to its end."""
    return [point for point in race(config) if point is not None]


def _run(function: Callable[..., Tensor], vectors: list[Tensor], causal: bool) -> Tensor:
    with torch.inference_mode():
        return function(*vectors, causal)


def _measure(
    run: Callable[[], Tensor], place: torch.device, point: Timed, outputs: list[Tensor]
) -> Iterator[Timed | None]:
    """Memory in one run, then seconds in several; `outputs` collects the results of this length."""
    output, measured = allocated(run, place)
    outputs.append(output)
    yield None
    seconds = yield from repeated(partial(_seconds, run, place), REPEATS, SPENT)
    gap = float((outputs[0] - outputs[1]).abs().max()) if len(outputs) == 2 else None
    yield replace(point, seconds=min(seconds), runs=len(seconds), measured=measured, difference=gap)


def _seconds(run: Callable[[], Any], place: torch.device) -> float:
    _wait(place)
    began = time.perf_counter()
    run()
    _wait(place)
    return time.perf_counter() - began


def _wait(place: torch.device) -> None:
    """A GPU works on its own: a clock must wait for it."""
    if place.type == "cuda":
        torch.cuda.synchronize(place)
    elif place.type == "mps":
        torch.mps.synchronize()


def allocated(run: Callable[[], Tensor], place: torch.device) -> tuple[Tensor, int | None]:
    """The result of a run, and the most bytes that were allocated for it at any one time.

    On the CPU from torch's record of allocations, which is of this thread alone: other visitors do not count. On a
    CUDA device from its own counter. None elsewhere.
    """
    if place.type == "cuda":
        torch.cuda.reset_peak_memory_stats(place)
        before = torch.cuda.memory_allocated(place)
        result = run()
        _wait(place)
        return result, torch.cuda.max_memory_allocated(place) - before
    if place.type != "cpu" or not RECORDS:
        return run(), None
    _enable_profiler_legacy(ProfilerConfig(ProfilerState.CPU, False, True, False, False, False, _ExperimentalConfig()))
    try:
        result = run()
    finally:
        threads = _disable_profiler_legacy()
    now = most = 0
    for event in (event for thread in threads for event in thread):
        if str(event.kind()) == "memory_alloc":
            now += event.cpu_memory_usage()
            most = max(most, now)
    return result, most
