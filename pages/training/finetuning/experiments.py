"""The experiments of the page on fine-tuning."""

from collections.abc import Sequence

from tfcore.analysis.training.fine_tuning import compare_methods, learned, over_seeds
from tfcore.analysis.training.preference import frontier, reward_gained, reward_hacking
from tfcore.figures.shown import Shown
from tfcore.figures.training.fine_tuning import losses_figure
from tfcore.figures.training.preference import frontier_figure
from tfcore.training.finetuning import kept_runs
from tfcore.training.finetuning_runs import FineTuneConfig, FineTuned
from tfcore.training.preference import kept_preferences
from tfcore.training.preference_runs import PreferenceConfig, PreferenceRun


def kept_run(config: FineTuneConfig) -> FineTuned:
    """The run of these settings that ships."""
    return next(run for run in kept_runs() if run.config == config)


def other_runs(config: FineTuneConfig) -> list[FineTuned]:
    """The runs that ship, of other settings."""
    return [run for run in kept_runs() if run.config != config]


def new_text(run: FineTuned, others: Sequence[FineTuned]) -> Shown:
    """A model of stories is tuned on a play: the held-out loss on the play."""
    seeds = run.over_seeds(others)
    spread = (over_seeds(seeds),) if run.has_ended and len(seeds) > 1 else ()
    return Shown(losses_figure(run, others, "new", height=340), (learned(run), *spread))


def old_text(run: FineTuned, others: Sequence[FineTuned]) -> Shown:
    """A model of stories is tuned on a play: the held-out loss on the stories that it was trained on before."""
    ended = [one for one in (*others, run) if one.has_ended]
    return Shown(losses_figure(run, others, "old", height=340), (compare_methods(ended),))


def kept_preference(config: PreferenceConfig) -> PreferenceRun:
    """The run of these settings that ships."""
    return next(run for run in kept_preferences() if run.config == config)


def ladder(reward: str) -> list[PreferenceRun]:
    """The runs that ship for a reward, of every algorithm and beta, some with several seeds."""
    return [run for run in kept_preferences() if run.config.reward == reward]


def reward_against_kl(run: PreferenceRun, beside: Sequence[PreferenceRun]) -> Shown:
    """A model of stories is tuned towards a reward: what is gained, against the distance from the original model."""
    own = [one for one in beside if one.config.algorithm == run.config.algorithm]
    findings = (reward_gained(run), reward_hacking(run), *([frontier(own)] if own else []))
    return Shown(frontier_figure(beside, run, run.config.reward, height=400), findings)
