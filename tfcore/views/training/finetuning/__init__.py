"""Fine-tuning: a small model of stories tuned on a play, or towards a reward."""

from collections.abc import Sequence

import pandas as pd

from tfcore.training import finetuning, preference
from tfcore.training.finetuning_runs import FineTuneConfig, FineTuned
from tfcore.training.lora import LoRALinear, add_lora_, merge_lora_
from tfcore.training.preference_runs import REWARDS, PreferenceConfig, PreferenceRun
from tfcore.views.kept import kept
from tfcore.views.training.finetuning import say
from tfcore.views.training.finetuning.draw.preference import frontier_figure
from tfcore.views.training.finetuning.draw.tuning import losses_figure
from tfcore.views.training.finetuning.measure import tuning
from tfcore.views.view import View, view

BARS = "Bars at the end: stored runs with other seeds."

# ---- another text ----

stored_runs = kept(finetuning.kept_runs, entries=1)


def _run(config: FineTuneConfig, train: bool) -> FineTuned:
    stored = () if train else (run for run in stored_runs() if run.config == config)
    return next(iter(stored), None) or finetuning.fine_tune_to_the_end(config)


@view
def new_text(config: FineTuneConfig, *, train: bool = False, so_far: FineTuned | None = None) -> View:
    """A model of stories is tuned on a play: the held-out loss on the play.

    Args:
        config: of the run.
        train: train it, though a run of these settings may ship.
        so_far: the run until now; None takes the one that ships, or trains it to its end.
    """
    run = so_far or _run(config, train)
    others = [other for other in stored_runs() if other.config != config]
    seeds = run.over_seeds(others)
    spread = f" {say.over_seeds(seeds)}" if run.has_ended and len(seeds) > 1 else ""
    return View(
        key="new",
        title="The loss on the play",
        result=run,
        chart=losses_figure(run, others, "new", height=340),
        findings=(say.learned(run),),
        note=BARS,
        table=lambda: _every_look([run, *others]),
        formula=(
            r"W' = W + \frac{\alpha}{r}\, B A, \quad B \in \mathbb{R}^{d_{out} \times r},\; "
            r"A \in \mathbb{R}^{r \times d_{in}},\; B = 0 \text{ at the start}"
        ),
        papers=(
            "LoRA: arXiv:2106.09685, equation 3; on all matrices instead of those of attention alone: "
            "arXiv:2305.14314. Memory of mixed and full precision training: arXiv:1910.02054, section 3.1. The play: "
            "the first 60 kB of Romeo and Juliet as tinyshakespeare has it, the last tenth held out; the old stories: "
            f"excerpts of TinyStories (arXiv:2305.07759) that were held out when `stories` was trained.{spread}"
        ),
        terms=("LoRA", "fine-tuning", "catastrophic forgetting", "held-out loss"),
        code=(
            *(LoRALinear, add_lora_, merge_lora_, finetuning.fine_tune),
            *(tuning.lora_parameters, tuning.tuning_cost, tuning.method_means),
        ),
    )


@view
def old_text(config: FineTuneConfig, *, train: bool = False, so_far: FineTuned | None = None) -> View:
    """A model of stories is tuned on a play: the held-out loss on the stories that it knew before. See new_text."""
    run = so_far or _run(config, train)
    others = [other for other in stored_runs() if other.config != config]
    return View(
        key="old",
        title="The loss on the stories",
        result=run,
        chart=losses_figure(run, others, "old", height=340),
        findings=(say.compare_methods([one for one in (*others, run) if one.has_ended]),),
        note=BARS,
        table=lambda: _every_look([run, *others]),
    )


def _every_look(runs: Sequence[FineTuned]) -> pd.DataFrame:
    rows = [
        (run.config.name, run.config.seed, losses.step, losses.new, losses.old) for run in runs for losses in run.losses
    ]
    return pd.DataFrame(rows, columns=["trained", "seed", "step", "loss on the play", "loss on the old stories"])


# ---- a preference ----

stored_preferences = kept(preference.kept_preferences, entries=1)


def _preference(config: PreferenceConfig, train: bool) -> PreferenceRun:
    stored = () if train else (run for run in stored_preferences() if run.config == config)
    return next(iter(stored), None) or preference.tune_to_the_end(config)


@view
def reward_against_kl(config: PreferenceConfig, *, train: bool = False, so_far: PreferenceRun | None = None) -> View:
    """A model of stories is tuned towards a reward: what is gained, against the distance from the original model.

    Args:
        config, train, so_far: see new_text.
    """
    run = so_far or _preference(config, train)
    ladder = [one for one in stored_preferences() if one.config.reward == config.reward]
    own = [one for one in ladder if one.config.algorithm == config.algorithm]
    return View(
        key="frontier",
        title="Reward against KL divergence",
        result=run,
        chart=frontier_figure(ladder, run, config.reward, height=400),
        findings=(say.reward_gained(run), *([say.frontier(own)] if own else [])),
        conclusions=(say.hacking(run),),
        table=lambda: _every_point(run, ladder),
        formula=(
            r"\mathcal{L}_{\mathrm{DPO}} = -\log \sigma\!\left(\beta \log \frac{\pi(y_w)}{\pi_0(y_w)} - "
            r"\beta \log \frac{\pi(y_l)}{\pi_0(y_l)}\right), \qquad \nabla J = \mathbb{E}_{y \sim \pi}\!\left[\left("
            r"r(y) - \beta \log \frac{\pi(y)}{\pi_0(y)}\right) \nabla \log \pi(y)\right]"
        ),
        papers=(
            "DPO: arXiv:2305.18290, equation 7; the objective with a KL penalty: there, equation 3. In the formula y "
            "is a continuation of the prompt, the subscripts w and l the preferred and the other one of a pair, π₀ the "
            "original model. The policy gradient is REINFORCE (Williams, 1992), with the mean of the batch as baseline."
        ),
        terms=("DPO", "policy gradient", "reward hacking", "RLHF", "KL divergence"),
        code=(
            REWARDS[config.reward],
            preference.dpo_loss,
            preference.policy_gradient_loss,
            preference.kl_per_row,
            preference.tune,
        ),
    )


def _every_point(run: PreferenceRun, beside: Sequence[PreferenceRun]) -> pd.DataFrame:
    """Every point of the run, and the end of those beside it."""
    rows = [(run, point) for point in run.points]
    rows += [(one, one.points[-1]) for one in beside if one.config != run.config]
    return pd.DataFrame(
        [
            (one.config.algorithm, one.config.beta, one.config.seed, p.step, p.reward, p.kl, p.surprise, p.repetition)
            for one, p in rows
        ],
        columns=[
            *("algorithm", "beta", "seed", "step", "reward", "KL, nats", "loss under the original"),
            "repeated word pairs",
        ],
    )
