"""What the curves of a router's training come to: its last steps in a few numbers, and two runs in a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.analysis.experts.balance import Look

LAST = 0.1  # share of the steps until now that the numbers at the end are means over
IDLE, CROWDED = 0.01, 0.6  # below that share of the tokens an expert does nothing; above it, it does nearly all


@dataclass(frozen=True, slots=True)
class Ending:
    """The last tenth of the steps until now.

    Args:
        step: the last.
        expert, largest: the busiest expert and its share of all choices.
        idle: experts with less than a hundredth.
        entropy: over ln(experts), 1 is even.
        lost, overflow: share of the tokens that no expert computed; that a room of 1.25 times the mean cannot take.
        loss, held_out: nats per character.
        written: the same texts character by character; None before the end.
    """

    step: int
    expert: int
    largest: float
    idle: int
    entropy: float
    lost: float
    overflow: float
    loss: float
    held_out: float
    written: float | None


def ending(looks: Sequence[Look]) -> Ending:
    """The last tenth of the looks until now."""
    last = looks[-1]
    few = [look for look in looks if look.step > (1 - LAST) * last.step]
    load = np.mean([look.load for look in few], axis=0)
    entropy, lost, overflow, loss = (
        float(np.mean([getattr(look, name) for look in few])) for name in ("entropy", "lost", "overflow", "loss")
    )
    return Ending(
        last.step,
        int(load.argmax()),
        float(load.max()),
        int((load < IDLE).sum()),
        entropy,
        lost,
        overflow,
        loss,
        last.held_out,
        last.written,
    )


def finding(plain: Ending, cured: Ending, name: str) -> str:
    """Both trainings in two or three sentences, with their numbers.

    Args:
        name: of the remedy, as in "with an auxiliary loss".
    """
    crowd = f"Expert {plain.expert + 1} takes {plain.largest:.0%} of the characters without a remedy"
    idle = f", and {plain.idle} of the others get next to nothing" if plain.idle else ""
    verdict = _verdict(plain, cured)
    lost = f" {cured.lost:.0%} of its characters reach no expert." if cured.lost >= IDLE / 2 else ""
    losses = f" Held-out loss: {plain.held_out:.2f} without, {cured.held_out:.2f} with"
    written = ""
    if cured.written is not None and abs(cured.written - cured.held_out) > 0.01:
        written = f", and {cured.written:.2f} character by character, as in generation"
    return f"{crowd}{idle}; {name} the busiest takes {cured.largest:.0%}: {verdict}.{lost}{losses}{written}."


def _verdict(plain: Ending, cured: Ending) -> str:
    if cured.largest >= CROWDED:
        return "that is no cure"
    if plain.largest < 2 / 8:
        return "there was little to cure"
    return "the load is even" if cured.entropy > 0.95 else "better, not even"
