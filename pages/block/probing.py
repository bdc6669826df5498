"""Networks built from the sliders, measured one by one, with progress where there is something to wait for."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from pages.ui import cache
from pages.ui.work.progress import in_turn
from tfcore.analysis.block import depth
from tfcore.analysis.block.depth import Deep
from tfcore.config import Init

Result = TypeVar("Result")
INITS: dict[Init, str] = {"xavier": "Xavier", "normal": "N(0, 0.02²)", "gpt2": "GPT-2"}
# wiring: (placement of the norms, with skips, colour role)
WIRINGS: dict[str, tuple[depth.Placement, bool, str]] = {
    "pre-LN": ("pre", True, "@cat0"),
    "post-LN": ("post", True, "@cat1"),
    "sandwich": ("sandwich", True, "@cat2"),
    "no norm": ("none", True, "@cat3"),
    "no skip": ("pre", False, "@cat4"),
    "no skip, no norm": ("none", False, "@cat6"),
}
probe = cache.data(max_entries=1_024)(depth.probe)
activations = cache.data(max_entries=512)(depth.activations)


def short(value: float) -> str:
    """A number of any size in few signs."""
    if 100 <= abs(value) < 100_000:
        return f"{value:,.0f}"
    return f"{value:.2g}" if 0.001 <= abs(value) < 100 else f"{value:.1e}"


def measure_all(measure: Callable[[Deep], Result], networks: Sequence[Deep]) -> list[Result]:
    """Measure these networks with one of the functions above; those that were measured before cost nothing."""
    return in_turn(measure, networks, lambda one: f"a network of {one.n_layers} layers", lambda one: one.n_layers)
