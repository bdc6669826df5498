"""Preference tuning: when a reward is gamed, and what a ladder of betas comes to."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.training.preference_runs import PreferenceRun, Sampled

SURPRISING = 1.5  # times the original samples' loss under the original model, from which samples count as strange
REPEATED = 0.15  # share of repeated word pairs more than the original samples have, from which they count as repetitive


@dataclass(frozen=True, slots=True)
class RewardHacking:
    """Whether the reward rose while the text became worse by measures that the reward does not see.

    Args:
        first, last: the samples before and now.
    """

    first: Sampled
    last: Sampled

    @property
    def rose(self) -> bool:
        """Whether the reward is higher than before, by a tenth or more of the size it had."""
        return self.last.reward > self.first.reward + 0.1 * max(abs(self.first.reward), 0.1)

    @property
    def worse(self) -> bool:
        """Whether the samples are strange to the original model, or repeat themselves."""
        strange = self.last.surprise > SURPRISING * self.first.surprise
        return strange or self.last.repetition > self.first.repetition + REPEATED

    @property
    def hacked(self) -> bool:
        """Whether the reward rose while the samples became worse."""
        return self.rose and self.worse


def reward_hacking(run: PreferenceRun) -> RewardHacking:
    """Whether the last samples of a run game its reward."""
    return RewardHacking(run.points[0], run.points[-1])


@dataclass(frozen=True, slots=True)
class BetaRuns:
    """Runs of one beta, each with its own seed.

    Args:
        rewards, kls: mean reward and KL divergence at the end of each.
        hacked: in how many of them reward hacking was found.
    """

    beta: float
    rewards: tuple[float, ...]
    kls: tuple[float, ...]
    hacked: int


def rungs_of(runs: Sequence[PreferenceRun]) -> list[BetaRuns]:
    """A ladder of betas, from the smallest to the largest.

    Args:
        runs: of one algorithm and reward, at least one; of each beta the same seeds.
    """
    rungs = []
    for beta in sorted({run.config.beta for run in runs}):
        own = [run for run in runs if run.config.beta == beta]
        ends = [run.points[-1] for run in own]
        hacked = sum(reward_hacking(run).hacked for run in own)
        rungs.append(BetaRuns(beta, tuple(end.reward for end in ends), tuple(end.kl for end in ends), hacked))
    return rungs
