"""Preference tuning: rewards that one can read, the settings of a run, and what is kept of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

from tfcore.checks import check_choice, check_number, check_whole

Algorithm = Literal["dpo", "reinforce"]
RewardName = Literal["animals", "happy", "short"]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
REWARD_NAMES: tuple[RewardName, ...] = get_args(RewardName)
ALGORITHM_NAMES: dict[Algorithm, str] = {"dpo": "DPO", "reinforce": "policy gradient"}
BETAS = (0.01, 0.03, 0.1, 0.3, 1.0)
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
