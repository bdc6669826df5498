"""Networks built from the sliders, measured one by one, with progress where there is something to wait for."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from pages.ui import cache
from pages.ui.work.progress import in_turn
from tfcore.analysis.block import depth
from tfcore.analysis.block.depth import Deep

Result = TypeVar("Result")
probe = cache.data(max_entries=1_024)(depth.probe)
stream_sizes = cache.data(max_entries=512)(depth.stream_sizes)


def measure_all(measure: Callable[[Deep], Result], networks: Sequence[Deep]) -> list[Result]:
    """Measure these networks with one of the functions above; those that were measured before cost nothing."""
    return in_turn(measure, networks, lambda one: f"a network of {one.n_layers} layers", lambda one: one.n_layers)
