"""Findings of trainings with and without a balancing method: the load and the losses of their last steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.analysis.experts.balance import N_EXPERTS, BalanceConfig, BalanceLook, Where
from tfcore.analysis.finding import Finding

LAST = 0.1  # share of the steps until now that the numbers at the end are means over
IDLE = 0.01  # share of the choices below which an expert counts as idle
CROWDED = 0.6  # share of the choices from which on one expert does nearly all
EVEN = 0.95  # entropy over ln(experts) above which a load counts as even
NAMED = 0.005  # share of characters without an expert above which it is stated: less is 0 %


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


def ending(looks: Sequence[BalanceLook]) -> Ending:
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


@dataclass(frozen=True, slots=True)
class LastLoad(Finding):
    """The load of the experts at the end of one training.

    Args:
        name: of the training, as `BalanceConfig.name`.
        end: its last steps.
    """

    name: str
    end: Ending

    @property
    def sentence(self) -> str:
        end = self.end
        lost = f", {end.lost:.0%} of the characters reach no expert" if end.lost > NAMED else ""
        return (
            f"Load of {N_EXPERTS} experts, {self.name}: after {end.step} steps expert {end.expert + 1} takes "
            f"{end.largest:.0%} of the characters, {end.idle} experts get less than 1 %{lost}."
        )


def last_load(config: BalanceConfig, looks: Sequence[BalanceLook]) -> LastLoad:
    """Who takes the characters at the end of a training."""
    return LastLoad(config.name, ending(looks))


@dataclass(frozen=True, slots=True)
class RunEnds(Finding):
    """The ends of several trainings beside each other.

    Args:
        step: the last.
        ends: name and last steps of each training.
    """

    step: int
    ends: tuple[tuple[str, Ending], ...]

    @property
    def sentence(self) -> str:
        numbers = (
            f"{name}: largest share {end.largest:.0%}, entropy {end.entropy:.2f}, held-out loss {end.held_out:.2f}"
            for name, end in self.ends
        )
        return f"After {self.step} steps, {'; '.join(numbers)}."


def run_ends(runs: Mapping[BalanceConfig, Sequence[BalanceLook]]) -> RunEnds:
    """Largest share, entropy and held-out loss of each training."""
    ends = tuple((config.name, ending(looks)) for config, looks in runs.items())
    return RunEnds(ends[0][1].step, ends)


@dataclass(frozen=True, slots=True)
class RemedyEffect(Finding):
    """A training with a balancing method beside the same without.

    Args:
        plain: the last steps without.
        cured: the last steps with it.
        phrase: the method, as in "with an auxiliary loss".
    """

    plain: Ending
    cured: Ending
    phrase: str

    @property
    def verdict(self) -> str:
        if self.cured.largest >= CROWDED:
            return "that is no cure"
        if self.plain.largest < 2 / N_EXPERTS:
            return "there was little to cure"
        return "the load is even" if self.cured.entropy > EVEN else "better, not even"

    @property
    def sentence(self) -> str:
        plain, cured = self.plain, self.cured
        crowd = f"Expert {plain.expert + 1} takes {plain.largest:.0%} of the characters without a remedy"
        idle = f", and {plain.idle} of the others get next to nothing" if plain.idle else ""
        lost = f" {cured.lost:.0%} of its characters reach no expert." if cured.lost > NAMED else ""
        losses = f" Held-out loss: {plain.held_out:.2f} without, {cured.held_out:.2f} with"
        written = ""
        if cured.written is not None and abs(cured.written - cured.held_out) > 0.01:
            written = f", and {cured.written:.2f} character by character, as in generation"
        busiest = f"{self.phrase} the busiest takes {cured.largest:.0%}: {self.verdict}"
        return f"{crowd}{idle}; {busiest}.{lost}{losses}{written}."


def remedy_effect(
    runs: Mapping[BalanceConfig, Sequence[BalanceLook]], chosen: BalanceConfig, phrase: str
) -> RemedyEffect:
    """A training beside the same without its remedy.

    Args:
        runs: both of them, perhaps among others.
        chosen: the one with a remedy.
        phrase: of the remedy, as in "with an auxiliary loss".
    """
    return RemedyEffect(ending(runs[chosen.without]), ending(runs[chosen]), phrase)


@dataclass(frozen=True, slots=True)
class InputCosines(Finding):
    """How alike the inputs of an untrained router are, by positional encoding."""

    cosines: dict[Where, float]

    @property
    def sentence(self) -> str:
        return (
            "The mean cosine of the inputs of an untrained router at two positions is "
            f"{self.cosines['sinusoidal']:.2f}, with RoPE {self.cosines['rope']:.2f}."
        )
