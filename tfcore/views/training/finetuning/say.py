"""Findings on fine-tuning: what runs learned and forgot, what methods cost, and rewards that are gained or gamed."""

from collections.abc import Sequence

from tfcore.measures.quantities import span
from tfcore.training.finetuning_runs import FineTuned
from tfcore.training.preference_runs import ALGORITHM_NAMES, Algorithm, PreferenceRun
from tfcore.views.finding import Statement, state
from tfcore.views.training.finetuning.measure.preference import reward_hacking, rungs_of
from tfcore.views.training.finetuning.measure.tuning import TuningCost, forgotten, gain, method_means

# ---- another text ----


def learned(run: FineTuned) -> Statement:
    """The losses at the last look of a run, beside the first."""
    first, last = run.losses[0], run.losses[-1]
    return state(
        "learned",
        "{method}, {step} steps: the loss on Romeo and Juliet {new} nats per token, that on the stories {old}.",
        step=last.step,
        method=_upper(run.config.name),
        new=_moved(first.new, last.new),
        old=_moved(first.old, last.old),
    )


def _upper(name: str) -> str:
    return name[0].upper() + name[1:]


def _moved(before: float, now: float) -> str:
    if f"{before:.2f}" == f"{now:.2f}":
        return f"stays at {now:.2f}"
    return f"{'falls' if now < before else 'rises'} from {before:.2f} to {now:.2f}"


def over_seeds(runs: Sequence[FineTuned]) -> Statement:
    """The spread of what runs of the same settings, each with its own seed, learned and forgot.

    Args:
        runs: at least one.
    """
    gains, losses = [gain(run) for run in runs], [forgotten(run) for run in runs]
    return state(
        "over seeds",
        "Over {seeds} seeds of batches ({method}) the loss on the new text falls by {gain} nats per token, that on "
        "the old one rises by {forgot}.",
        seeds=len(runs),
        method=runs[0].config.name,
        gain=span((min(gains), max(gains)), ".2f"),
        forgot=span((min(losses), max(losses)), ".2f"),
    )


def compare_methods(runs: Sequence[FineTuned]) -> Statement:
    """The settings that learned most, and those that forgot least, seeds taken together.

    Args:
        runs: at least one.
    """
    means = method_means(runs)
    most, least = max(means, key=lambda one: one.gain), min(means, key=lambda one: one.forgotten)
    among = "Of {runs} runs, tuning {most} learns most"
    return state(
        "methods compared",
        f"{among} ({{gain:.2f}} nats per token) and forgets least ({{forgot:.2f}})."
        if most == least
        else f"{among} ({{gain:.2f}} nats per token, {{forgot:.2f}} forgotten), and {{least}} forgets least "
        "({small_gain:.2f}, {little:.2f}).",
        runs=len(runs),
        most=most.name,
        gain=most.gain,
        forgot=most.forgotten,
        least=least.name,
        small_gain=least.gain,
        little=least.forgotten,
    )


def tuning_cost(cost: TuningCost) -> Statement:
    """The numbers that a method trains, and the memory of gradients and optimiser."""
    return state(
        "tuning cost",
        "Training {method} trains {trainable:whole} numbers, {share:.1%} of the {total:whole} in the model. Gradients "
        "and AdamW's two moments take {state:size} in float32; for all weights they take {full_state:size}.",
        method=cost.method,
        trainable=cost.trainable,
        share=cost.share,
        total=cost.total,
        state=cost.state,
        full_state=cost.full_state,
    )


# ---- a preference ----


def reward_gained(run: PreferenceRun) -> Statement:
    """The last samples of a run beside the first."""
    first, last = run.points[0], run.points[-1]
    return state(
        "reward gained",
        "{algorithm} with β = {beta:g} moves the mean reward from {before:.2f} to {now:.2f} in {step} steps, at a KL "
        "divergence of {kl:.1f} nats per continuation from the original model.",
        algorithm=_capital(run.config.algorithm),
        beta=run.config.beta,
        before=first.reward,
        now=last.reward,
        step=last.step,
        kl=last.kl,
    )


def hacking(run: PreferenceRun) -> Statement:
    """Whether the last samples of a run game its reward."""
    hacked = reward_hacking(run)
    measured = (
        "the samples' loss under the original model goes from {surprise:.2f} to {surprise_now:.2f} nats per token, "
        "repeated word pairs from {repetition:.0%} to {repetition_now:.0%}."
    )
    if hacked.hacked:
        verdict = "This is reward hacking: the reward rose, but "
    elif hacked.worse:
        verdict = "The text became worse and the reward did not rise: "
    else:
        verdict = "No reward hacking by these measures: "
    return state(
        "reward hacking",
        verdict + measured,
        surprise=hacked.first.surprise,
        surprise_now=hacked.last.surprise,
        repetition=hacked.first.repetition,
        repetition_now=hacked.last.repetition,
    )


def frontier(runs: Sequence[PreferenceRun]) -> Statement:
    """The reward and the KL divergence at both ends of a ladder of betas.

    Args:
        runs: of one algorithm and reward, at least one; of each beta the same seeds.
    """
    rungs = rungs_of(runs)
    low, high = rungs[0], rungs[-1]
    seeds = len(low.rewards)
    named = [
        f"{rung.beta:g}" if len(rung.rewards) == 1 else f"{rung.beta:g} (with {rung.hacked} of {len(rung.rewards)})"
        for rung in rungs
        if rung.hacked
    ]
    return state(
        "frontier",
        "{algorithm}, {over}: from β = {high:g} to β = {low:g} the reward goes from {reward} to {low_reward} and the "
        "KL divergence from {kl} to {low_kl} nats per continuation. {hacked}",
        algorithm=_capital(runs[0].config.algorithm),
        over="one seed" if seeds == 1 else f"means over {seeds} seeds, lowest and highest in brackets",
        high=high.beta,
        low=low.beta,
        reward=_mean(high.rewards, 2),
        low_reward=_mean(low.rewards, 2),
        kl=_mean(high.kls, 1),
        low_kl=_mean(low.kls, 1),
        hacked=f"Reward hacking at β = {', '.join(named)}." if named else "No reward hacking at any of these β.",
    )


def _capital(algorithm: Algorithm) -> str:
    return _upper(ALGORITHM_NAMES[algorithm])


def _mean(values: Sequence[float], digits: int) -> str:
    """As in "2.30 (1.90 to 2.70)", and "2.30" of one value."""
    mean = f"{sum(values) / len(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"
