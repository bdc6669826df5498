"""Findings of trainings with and without a balancing method: the load and the losses of their last steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfcore.views.experts.balance.measure import (
    N_EXPERTS,
    BalanceConfig,
    BalanceEvaluation,
    Ending,
    Remedy,
    Where,
    ending,
)
from tfcore.views.finding import Finding, Statement, state

CROWDED = 0.6  # share of the choices from which on one expert does nearly all
EVEN = 0.95  # entropy over ln(experts) above which a load counts as even
PHRASES: dict[Remedy, str] = {
    "loss": "with the auxiliary loss",
    "capacity": "with a capacity",
    "noise": "with noise",
    "experts": "where experts choose",
    "bias": "with the bias",
}
NAMED = 0.005  # share of characters without an expert above which it is stated: less is 0 %


def last_load(config: BalanceConfig, looks: Sequence[BalanceEvaluation]) -> Statement:
    """The load of the experts at the end of one training."""
    end = ending(looks)
    return state(
        "last load",
        "Load of {n_experts} experts, {name}: after {step} steps expert {expert} takes {largest:.0%} of the "
        "characters, {idle} experts get less than 1 %{lost}.",
        n_experts=N_EXPERTS,
        name=config.name,
        step=end.step,
        expert=end.expert + 1,
        largest=end.largest,
        idle=end.idle,
        lost=f", {end.lost:.0%} of the characters reach no expert" if end.lost > NAMED else "",
    )


def run_ends(runs: Mapping[BalanceConfig, Sequence[BalanceEvaluation]]) -> Statement:
    """Largest share, entropy and held-out loss of each training."""
    ends = {config.name: ending(looks) for config, looks in runs.items()}
    numbers = [
        f"{name}: largest share {end.largest:.0%}, entropy {end.entropy:.2f}, held-out loss {end.held_out:.2f}"
        for name, end in ends.items()
    ]
    step = next(iter(ends.values())).step
    return state("run ends", "After {step} steps, {numbers}.", step=step, numbers="; ".join(numbers))


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


def remedy_effect(runs: Mapping[BalanceConfig, Sequence[BalanceEvaluation]], chosen: BalanceConfig) -> RemedyEffect:
    """A training beside the same without its remedy.

    Args:
        runs: both of them, perhaps among others.
        chosen: the one with a remedy.
    """
    return RemedyEffect(ending(runs[chosen.without]), ending(runs[chosen]), PHRASES[chosen.remedy])


def input_cosines(cosines: Mapping[Where, float]) -> Statement:
    """How alike the inputs of an untrained router are, by positional encoding."""
    return state(
        "input cosines",
        "The mean cosine of the inputs of an untrained router at two positions is {sinusoidal:.2f}, with RoPE "
        "{rope:.2f}.",
        sinusoidal=cosines["sinusoidal"],
        rope=cosines["rope"],
    )
