"""Fine-tuning: `stories` made different in a minute, by another text or by a reward."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from pages.training.finetuning.facts import FACTS
from pages.ui import controls, page
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.work import live
from tfcore.measures.quantities import amount, whole
from tfcore.training import finetuning, preference
from tfcore.training.finetuning_runs import METHODS, RANKS, RATES, FineTuneConfig, FineTuned, Method
from tfcore.training.preference_runs import (
    ALGORITHM_NAMES,
    ALGORITHMS,
    BETAS,
    REWARD_NAMES,
    PreferenceConfig,
    PreferenceRun,
    RewardName,
)
from tfcore.views.training import finetuning as views
from tfcore.views.training.finetuning import say
from tfcore.views.training.finetuning.measure.tuning import tuning_cost

PATIENCE = 20.0  # seconds without anybody looking after which a run is stopped
STORED = "A stored run of these settings, trained by `python -m tfcore.training {}`."

# ---- another text ----

NOT_STORED = (
    "No run of these settings is stored: switch “Train it here” on to see one. Drawn is a stored run of others."
)
NAMES: dict[Method, str] = {"full": "all", "last": "last layers", "lora": "LoRA"}
FACTORS = (0.1, 0.3, 1.0, 3.0)  # times the usual learning rate


def tuning() -> None:
    """A method, the losses on the new and the old text, and a continuation."""
    with panel() as p:
        p.examples(
            {
                "LoRA of rank 1": {"method": "lora", "rank": 1, "live": False},
                "the last layer": {"method": "last", "layers": 1, "live": False},
                "all weights": {"method": "full", "live": False},
                "too large a learning rate": {"method": "full", "rate": 3.0, "steps": 60, "live": True},
            }
        )
        with p.controls:
            method = controls.segmented("Weights that are trained", "method", list(METHODS), "lora", NAMES)
            config, wanted = choose_run(method)
            beside = st.container()
        if wanted:
            live.watch_training(
                config,
                lambda: finetuning.fine_tune(config),
                lambda run: run.losses[-1].step,
                {"seed": controls.next_seed(config.seed, 9)},
                (beside, p.picture),
                lambda runs: show_run(p, runs[-1], train=True),
                PATIENCE,
            )
        else:
            runs = views.stored_runs()
            stored = [run for run in runs if run.config == config]
            beside.caption(STORED.format("finetuning") if stored else NOT_STORED)
            with p.picture:
                show_run(p, (stored or runs)[0], train=False)
        p.what_to_see(
            "In every stored run the loss on unseen scenes of the play falls, fast and then hardly any more, and the "
            "loss on the old stories rises: the weights that knew the stories are overwritten (catastrophic "
            "forgetting). Training fewer numbers saves memory for gradients and optimiser; whether it forgets less "
            "depends on how far the learning rate moves the model. `stories` is used here because it can be trained "
            "while you watch; what is said of memory holds for large models too, where the state of the optimiser is "
            "what does not fit."
        )
        p.question(
            "LoRA trains few numbers. Is the tuned model slower or larger when it is used?",
            "No: after training, W + (α / r) B A is written down as one matrix of the old size (“merged”), and gives "
            "the same numbers. Kept apart, the two thin matrices of each task can be exchanged while W stays in "
            "memory.",
        )


def choose_run(method: Method) -> tuple[FineTuneConfig, bool]:
    """The settings, and whether to train here and now."""
    rank, layers = 8, 1
    if method == "lora":
        rank = controls.stops("Rank r", "rank", RANKS, 8)
    elif method == "last":
        layers = controls.slider("Last layers that are trained", "layers", 1, 3, 1)
    wanted = controls.toggle("Train it here", "live")
    with page.more_settings():
        steps = controls.slider("Training steps", "steps", 20, 200, 120, 20)
        labels = {factor: f"{factor * RATES[method]:.0e}" for factor in FACTORS}
        rate = controls.stops("Learning rate", "rate", FACTORS, 1.0, labels)
        seed = controls.slider("Seed of batches", "seed", 0, 9, 0)
    return FineTuneConfig(method=method, rank=rank, layers=layers, steps=steps, rate=rate, seed=seed), wanted


def show_run(p: Panel, run: FineTuned, *, train: bool) -> None:
    """Both losses, the continuations, and what the method costs."""
    stored = [one for one in views.stored_runs() if train and one.config == run.config]
    new, old = st.columns(2, gap="medium")
    with new:
        p.show(live.over_stored(lambda one: views.new_text(run.config, train=train, so_far=one[-1]), [run], stored))
    with old:
        p.show(live.over_stored(lambda one: views.old_text(run.config, train=train, so_far=one[-1]), [run], stored))
    for place, name, text in zip(st.columns(2, gap="medium"), ("Before", "After"), run.continuations, strict=True):
        place.caption(f"{name}, `stories` continues “{finetuning.PROMPT}”:")
        place.code(text or "(when the run has ended)", language=None, wrap_lines=True)
    cost = tuning_cost(models.config(finetuning.MODEL), run.config)
    first, last = run.losses[0], run.losses[-1]
    numbers = (
        ("Trained numbers", whole(cost.trainable), f"{cost.share:.1%} of the model"),
        ("Gradients and AdamW", amount(cost.state), f"{amount(cost.full_state)} for all weights"),
        ("Loss on the play", f"{last.new:.2f}", f"{last.new - first.new:+.2f}"),
        ("Loss on the old stories", f"{last.old:.2f}", f"{last.old - first.old:+.2f}"),
    )
    for place, (label, value, note) in zip(st.columns(4), numbers, strict=True):
        place.metric(label, value, note, delta_color="off", delta_arrow="off")
    st.caption(str(say.tuning_cost(cost)))


# ---- a preference ----

NO_SEED = "No run of this seed is stored: switch “Train it here” on to see one. Drawn is the stored run of seed 0."
REWARD_LABELS: dict[RewardName, str] = {
    "animals": "words that name an animal",
    "happy": "ends happily (0 or 1)",
    "short": "is short (1 down)",
}
MEANT: dict[RewardName, str] = {
    "animals": "stories about animals",
    "happy": "stories that end well",
    "short": "short stories",
}


def preferring() -> None:
    """A reward, reward against KL divergence, and what the samples become."""
    with panel() as p:
        p.examples(
            {
                "hardly a penalty": {"algorithm": "reinforce", "reward": "animals", "beta": 0.01, "train": False},
                "a strong penalty": {"algorithm": "reinforce", "reward": "animals", "beta": 1.0, "train": False},
                "DPO": {"algorithm": "dpo", "reward": "animals", "beta": 0.1, "train": False},
                "a happy end": {"algorithm": "dpo", "reward": "happy", "beta": 0.1, "train": False},
                "short": {"algorithm": "reinforce", "reward": "short", "beta": 0.03, "train": False},
                "a happy end, here and now": {"algorithm": "reinforce", "reward": "happy", "beta": 0.1, "train": True},
            }
        )
        with p.controls:
            config, wanted = choose_preference()
            beside = st.container()
        if wanted:
            live.watch_training(
                config,
                lambda: preference.tune(config),
                lambda run: run.points[-1].step,
                {"draws": controls.next_seed(config.seed, 9)},
                (beside, p.picture),
                lambda runs: show_preference(p, runs[-1], train=True),
                PATIENCE,
            )
        else:
            stored = {run.config: run for run in views.stored_preferences()}
            beside.caption(STORED.format("preference") if config in stored else NO_SEED)
            with p.picture:
                show_preference(p, stored.get(config) or stored[replace(config, seed=0)], train=False)
        p.what_to_see(
            "Each mark on a line is a model tuned with another β: the further right, the further from the original "
            "model; filled marks are those where reward hacking is found; small marks are other seeds. In the stored "
            "runs of the policy gradient the smallest β buys more reward than the largest: what the reward counts is "
            "there, what it does not count may be lost. In those of DPO, which learns from pairs of the original "
            "model's samples alone, the smallest β goes furthest away, but has less reward than a larger one. The "
            "reward is a function that you can read under “How it is computed”; its writer meant "
            f"{MEANT[config.reward]}.\n\n"
            "**What RLHF adds.** Here a function gives the reward. In reinforcement learning from human feedback "
            "(arXiv:2203.02155) people compare answers, a *reward model* is trained to predict their choice "
            "(arXiv:1706.03741), the policy starts from fine-tuning on written demonstrations, and PPO "
            "(arXiv:1707.06347) takes the place of the plain policy gradient, with the same penalty on the KL "
            "divergence. A learned reward can be gamed too: the true preference first rises and then falls as the KL "
            "divergence grows (arXiv:2210.10760)."
        )
        p.question(
            "DPO has no reward model and draws no samples while it trains. Where is the KL divergence in it?",
            "In the log-ratios to the original model. The best policy under a KL penalty is the original one times "
            "exp(r / β), divided by its sum Z(x). So the reward is β times the log-ratio of policy and original, plus "
            "β log Z(x), which is the same for both answers of a pair and cancels (arXiv:2305.18290, equations 4 to "
            "6); DPO fits what is left to the pairs.",
        )


def choose_preference() -> tuple[PreferenceConfig, bool]:
    """The settings, and whether to train here and now."""
    algorithm = controls.segmented("Algorithm", "algorithm", list(ALGORITHMS), "reinforce", ALGORITHM_NAMES)
    beta = controls.stops("Weight β of the KL divergence", "beta", BETAS, 0.1, {b: f"{b:g}" for b in BETAS})
    wanted = controls.toggle("Train it here", "train")
    with page.more_settings():
        reward = controls.select("Reward", "reward", list(REWARD_NAMES), "animals", REWARD_LABELS)
        seed = controls.slider("Seed of samples", "draws", 0, 9, 0)
    return PreferenceConfig(algorithm=algorithm, reward=reward, beta=beta, seed=seed), wanted


def show_preference(p: Panel, run: PreferenceRun, *, train: bool) -> None:
    """Reward against KL divergence, and samples before and after."""
    p.show(views.reward_against_kl(run.config, train=train, so_far=run))
    for place, name, texts in zip(
        st.columns(2, gap="medium"), ("Before", "After"), (run.before, run.after), strict=True
    ):
        place.caption(f"{name}, drawn after “{preference.PROMPT}”:")
        place.code("\n\n".join(f"…{text}" for text in texts), language=None, wrap_lines=True)


PARTS: dict[str, Callable[[], None]] = {"tuning": tuning, "preference": preferring}

page.begin(FACTS)
PARTS[controls.sections(FACTS.sections)]()
