"""The kept ladders of the page on fine-tuning: `stories` tuned towards rewards, by two algorithms, over betas."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from tfcore.training.finetuning import save_runs
from tfcore.training.loop import Progress
from tfcore.training.preference import kept_preferences, tune_to_the_end
from tfcore.training.preference_runs import ALGORITHMS, BETAS, REWARD_NAMES, PreferenceConfig, PreferenceRun

REPEATS = (1, 2)  # further seeds, of the reward that the page begins with


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceRecipe:
    """Which runs are kept."""

    configs: tuple[PreferenceConfig, ...] = tuple(
        PreferenceConfig(algorithm=algorithm, reward=reward, beta=beta)
        for reward, algorithm, beta in product(REWARD_NAMES, ALGORITHMS, BETAS)
    ) + tuple(
        PreferenceConfig(algorithm=algorithm, reward="animals", beta=beta, seed=seed)
        for seed, algorithm, beta in product(REPEATS, ALGORITHMS, BETAS)
    )


PREFERENCE = PreferenceRecipe()


def preference(
    corpus: Path | None,  # noqa: ARG001 - the model's own samples are its text
    out: Path,
    report: Callable[[Progress], None],  # noqa: ARG001 - minutes, without steps to report
    recipe: PreferenceRecipe = PREFERENCE,
) -> dict[str, float]:
    """Train every run, write `out`/preferences.json, and return the reward and KL divergence at the end of each."""
    runs = [tune_to_the_end(config) for config in recipe.configs]
    out.mkdir(parents=True, exist_ok=True)
    save_runs(runs, out / "preferences.json")
    return ends(runs)


def ends(runs: list[PreferenceRun]) -> dict[str, float]:
    """Name of a run and number -> its last value; a seed is named where it is not 0."""
    numbers: dict[str, float] = {}
    for run in runs:
        name = f"{run.config.reward}_{run.config.algorithm}_{run.config.beta:g}"
        name += f"_seed{run.config.seed}" if run.config.seed else ""
        numbers |= {f"{name}_reward": run.points[-1].reward, f"{name}_kl": run.points[-1].kl}
    return numbers


def of_preference() -> dict[str, float]:
    """The ends of the runs that ship."""
    return ends(kept_preferences())
