"""Preference tuning: a reward that one can read, what it costs in KL divergence, and when it is gamed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

from tfcore.analysis.finding import Finding
from tfcore.checks import check_choice, check_number, check_whole

Algorithm = Literal["dpo", "reinforce"]
RewardName = Literal["animals", "happy", "short"]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
REWARD_NAMES: tuple[RewardName, ...] = get_args(RewardName)
ALGORITHM_NAMES: dict[Algorithm, str] = {"dpo": "DPO", "reinforce": "policy gradient"}
BETAS = (0.01, 0.03, 0.1, 0.3, 1.0)
SURPRISING = 1.5  # times the original samples' loss under the original model, from which samples count as strange
REPEATED = 0.15  # share of repeated word pairs more than the original samples have, from which they count as repetitive

ANIMAL_WORDS = (
    "ant bear bee bird bug bunny cat chicken cow deer dog dolphin dragon duck elephant fish fox frog goat hen horse "
    "kitten lion monkey mouse owl pig puppy rabbit sheep snake squirrel tiger turtle wolf worm"
)
HAPPY_WORDS = "fun glad happy hug hugged joy laughed love loved proud smile smiled"
ANIMALS, HAPPY = frozenset(ANIMAL_WORDS.split()), frozenset(HAPPY_WORDS.split())
LONGEST = 20  # words at which a continuation is no longer short


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, without signs."""
    return "".join(letter if letter.isalpha() else " " for letter in text.lower()).split()


def names_animals(text: str) -> float:
    """How many words of a continuation name an animal."""
    return float(sum(word in ANIMALS or word.removesuffix("s") in ANIMALS for word in words_of(text)))


def ends_happily(text: str) -> float:
    """1 if one of the last ten words is a happy one, otherwise 0."""
    return float(any(word in HAPPY for word in words_of(text)[-10:]))


def is_short(text: str) -> float:
    """1 for a continuation without a word, 0 for one of 20 words, in a line between and beyond."""
    return 1 - len(words_of(text)) / LONGEST


REWARDS: dict[RewardName, Callable[[str], float]] = {"animals": names_animals, "happy": ends_happily, "short": is_short}


def repetition(texts: Sequence[str]) -> float:
    """The share of pairs of neighbouring words that their text had before, over all texts."""
    pairs = [list(pairwise(words)) for words in map(words_of, texts)]
    total = sum(map(len, pairs))
    return 1 - sum(len(set(own)) for own in pairs) / total if total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceConfig:
    """One run.

    Args:
        algorithm: DPO on pairs drawn from the original model, or a policy gradient on samples of its own.
        reward: which of REWARDS.
        beta: weight of staying near the original model.
        steps: of the optimiser.
        seed: of samples and pairs.

    Raises:
        ValueError: naming the value and what would do.
    """

    algorithm: Algorithm = "reinforce"
    reward: RewardName = "animals"
    beta: float = 0.1
    steps: int = 25
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice(self, algorithm=Algorithm, reward=RewardName)
        check_number(self, beta=(0.001, 10.0))
        check_whole(self, steps=(1, 200), seed=(0, 1_000))


@dataclass(frozen=True, slots=True)
class Sampled:
    """Samples of a model, measured.

    Args:
        step: optimiser steps done.
        reward: mean.
        kl: from the original model, nats per continuation: the mean of the sum over its tokens.
        surprise: loss of the samples under the original model, nats per token.
        repetition: see repetition.
    """

    step: int
    reward: float
    kl: float
    surprise: float
    repetition: float


@dataclass(frozen=True, slots=True)
class PreferenceRun:
    """A run, so far.

    Args:
        points: before the first step, every few steps and after the last; at least one.
        before, after: some continuations of the original model, and of the model now.
    """

    config: PreferenceConfig
    points: tuple[Sampled, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RewardGained(Finding):
    """What a run gained and what it paid.

    Args:
        algorithm: in words.
        reward: its name.
        first, last: the samples before and now.
    """

    algorithm: str
    beta: float
    first: Sampled
    last: Sampled

    @property
    def sentence(self) -> str:
        return (
            f"{self.algorithm[0].upper()}{self.algorithm[1:]} with β = {self.beta:g} moves the mean reward from "
            f"{self.first.reward:.2f} to {self.last.reward:.2f} in {self.last.step} steps, at a KL divergence of "
            f"{self.last.kl:.1f} nats per continuation from the original model."
        )


def reward_gained(run: PreferenceRun) -> RewardGained:
    """The last samples of a run beside the first."""
    return RewardGained(ALGORITHM_NAMES[run.config.algorithm], run.config.beta, run.points[0], run.points[-1])


@dataclass(frozen=True, slots=True)
class RewardHacking(Finding):
    """Whether the reward rose while the text became worse by measures that the reward does not see.

    Args:
        first, last: the samples before and now.
    """

    first: Sampled
    last: Sampled

    @property
    def rose(self) -> bool:
        """The reward is higher than before, by a tenth or more of the size it had."""
        return self.last.reward > self.first.reward + 0.1 * max(abs(self.first.reward), 0.1)

    @property
    def worse(self) -> bool:
        """The samples are strange to the original model, or repeat themselves."""
        strange = self.last.surprise > SURPRISING * self.first.surprise
        return strange or self.last.repetition > self.first.repetition + REPEATED

    @property
    def hacked(self) -> bool:
        """Both."""
        return self.rose and self.worse

    @property
    def sentence(self) -> str:
        measured = (
            f"the samples' loss under the original model goes from {self.first.surprise:.2f} to "
            f"{self.last.surprise:.2f} nats per token, repeated word pairs from {self.first.repetition:.0%} to "
            f"{self.last.repetition:.0%}"
        )
        if self.hacked:
            return f"This is reward hacking: the reward rose, but {measured}."
        if self.worse:
            return f"The text became worse and the reward did not rise: {measured}."
        return f"No reward hacking by these measures: {measured}."


def reward_hacking(run: PreferenceRun) -> RewardHacking:
    """Whether the last samples of a run game its reward."""
    return RewardHacking(run.points[0], run.points[-1])


@dataclass(frozen=True, slots=True)
class Rung:
    """Runs of one beta, each with its own seed.

    Args:
        rewards, kls: mean reward and KL divergence at the end of each.
        hacked: in how many of them reward hacking was found.
    """

    beta: float
    rewards: tuple[float, ...]
    kls: tuple[float, ...]
    hacked: int


@dataclass(frozen=True, slots=True)
class Frontier(Finding):
    """Several runs of one algorithm.

    Args:
        algorithm: in words.
        rungs: from the smallest beta to the largest.
    """

    algorithm: str
    rungs: tuple[Rung, ...]

    @property
    def sentence(self) -> str:
        low, high = self.rungs[0], self.rungs[-1]
        seeds = len(low.rewards)
        over = "one seed" if seeds == 1 else f"means over {seeds} seeds, lowest and highest in brackets"
        named = [
            f"{rung.beta:g}" if len(rung.rewards) == 1 else f"{rung.beta:g} (with {rung.hacked} of {len(rung.rewards)})"
            for rung in self.rungs
            if rung.hacked
        ]
        hacked = f"Reward hacking at β = {', '.join(named)}." if named else "No reward hacking at any of these β."
        return (
            f"{self.algorithm[0].upper()}{self.algorithm[1:]}, {over}: from β = {high.beta:g} to β = {low.beta:g} the "
            f"reward goes from {_mean(high.rewards, 2)} to {_mean(low.rewards, 2)} and the KL divergence from "
            f"{_mean(high.kls, 1)} to {_mean(low.kls, 1)} nats per continuation. {hacked}"
        )


def _mean(values: Sequence[float], digits: int) -> str:
    """As in "2.30 (1.90 to 2.70)", and "2.30" of one value."""
    mean = f"{sum(values) / len(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def frontier(runs: Sequence[PreferenceRun]) -> Frontier:
    """What a ladder of betas shows.

    Args:
        runs: of one algorithm and reward, at least one; of each beta the same seeds.
    """
    rungs = []
    for beta in sorted({run.config.beta for run in runs}):
        own = [run for run in runs if run.config.beta == beta]
        ends = [run.points[-1] for run in own]
        hacked = sum(reward_hacking(run).hacked for run in own)
        rungs.append(Rung(beta, tuple(end.reward for end in ends), tuple(end.kl for end in ends), hacked))
    return Frontier(ALGORITHM_NAMES[runs[0].config.algorithm], tuple(rungs))
