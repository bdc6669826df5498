"""Networks built from the sliders, measured one by one, with progress where there is something to wait for."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from pages.ui.work.progress import in_turn
from tfcore.measures.deep_networks import Deep

Result = TypeVar("Result")


def measure_all(measure: Callable[[Deep], Result], networks: Sequence[Deep]) -> list[Result]:
    """Measure these networks with a function that keeps its results; those that were measured before cost nothing."""
    return in_turn(measure, networks, lambda one: f"a network of {one.n_layers} layers", lambda one: one.n_layers)
