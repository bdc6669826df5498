"""Section of the page on fine-tuning: a reward, reward against KL divergence, and what the samples become."""

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from pages.training.finetuning import experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import live
from tfcore.training import preference
from tfcore.training.preference_runs import (
    ALGORITHM_NAMES,
    ALGORITHMS,
    BETAS,
    REWARD_NAMES,
    REWARDS,
    PreferenceConfig,
    PreferenceRun,
    RewardName,
)

HEIGHT = 400
PATIENCE = 20.0  # seconds without anybody looking after which a run is stopped
KEPT = "A stored run of these settings, trained by `python -m tfcore.training preference`."
NOT_KEPT = "No run of this seed is stored: switch “Train it here” on to see one. Drawn is the stored run of seed 0."
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
TRY: dict[str, dict[str, Any]] = {
    "hardly a penalty": {"algorithm": "reinforce", "reward": "animals", "beta": 0.01, "train": False},
    "a strong penalty": {"algorithm": "reinforce", "reward": "animals", "beta": 1.0, "train": False},
    "DPO": {"algorithm": "dpo", "reward": "animals", "beta": 0.1, "train": False},
    "a happy end": {"algorithm": "dpo", "reward": "happy", "beta": 0.1, "train": False},
    "short": {"algorithm": "reinforce", "reward": "short", "beta": 0.03, "train": False},
    "a happy end, here and now": {"algorithm": "reinforce", "reward": "happy", "beta": 0.1, "train": True},
}

kept_preferences = cache.data(max_entries=1)(preference.kept_preferences)


def panel() -> None:
    """The section."""
    page.try_this(TRY)
    left, right = st.columns([1, 3], gap="large")
    with left:
        config, wanted = _choose()
        beside = st.container()
    picture = right.container()
    kept = any(run.config == config for run in kept_preferences())
    if wanted:
        live.watch_training(
            config,
            lambda: preference.tune(config),
            lambda run: run.points[-1].step,
            {"draws": controls.next_seed(config.seed, 9)},
            (beside, picture),
            lambda runs: _show(runs[-1]),
            PATIENCE,
        )
        run = made(preference.tune_to_the_end, config)
    else:
        beside.caption(KEPT if kept else NOT_KEPT)
        config = config if kept else replace(config, seed=0)
        run = made(experiments.kept_preference, config)
        with picture:
            _show(experiments.kept_preference(config))
    _words(config, run)


def _choose() -> tuple[PreferenceConfig, bool]:
    """The settings, and whether to train here and now."""
    algorithm = controls.segmented("Algorithm", "algorithm", list(ALGORITHMS), "reinforce", ALGORITHM_NAMES)
    beta = controls.stops("Weight β of the KL divergence", "beta", BETAS, 0.1, {b: f"{b:g}" for b in BETAS})
    wanted = controls.toggle("Train it here", "train")
    with page.more_settings():
        reward = controls.select("Reward", "reward", list(REWARD_NAMES), "animals", REWARD_LABELS)
        seed = controls.slider("Seed of samples", "draws", 0, 9, 0)
    return PreferenceConfig(algorithm=algorithm, reward=reward, beta=beta, seed=seed), wanted


def _show(run: PreferenceRun) -> None:
    """Reward against KL divergence, what is found, and samples before and after."""
    shown = experiments.reward_against_kl(run, experiments.ladder(run.config.reward))
    gained, hacking, *ladder = shown.findings
    caption = " ".join(map(str, (gained, *ladder)))
    figure(shown.figure, key="frontier", height=HEIGHT, alt=shown.alt, caption=caption, table=_table(run))
    st.markdown(f"**Found.** {hacking}")
    for place, name, texts in zip(
        st.columns(2, gap="medium"), ("Before", "After"), (run.before, run.after), strict=True
    ):
        place.caption(f"{name}, drawn after “{preference.PROMPT}”:")
        place.code("\n\n".join(f"…{text}" for text in texts), language=None, wrap_lines=True)


def _table(run: PreferenceRun) -> pd.DataFrame:
    """Every point of the run, and the end of those beside it."""
    rows = [(one.config.algorithm, one.config.beta, one.config.seed, point) for one in [run] for point in one.points]
    rows += [
        (one.config.algorithm, one.config.beta, one.config.seed, one.points[-1])
        for one in experiments.ladder(run.config.reward)
        if one.config != run.config
    ]
    return pd.DataFrame(
        [(*named, p.step, p.reward, p.kl, p.surprise, p.repetition) for *named, p in rows],
        columns=[
            *("algorithm", "beta", "seed", "step", "reward", "KL, nats", "loss under the original"),
            "repeated word pairs",
        ],
    )


def _words(config: PreferenceConfig, run: Any) -> None:
    """What to see, the question, what is left out, the drawer."""
    page.what_to_see(
        "Each mark on a line is a model tuned with another β: the further right, the further from the original model; "
        "filled marks are those where reward hacking is found; small marks are other seeds. In the stored runs of the "
        "policy gradient the smallest β buys more reward than the largest: what the reward counts is there, what it "
        "does not count may be lost. In those of DPO, which learns from pairs of the original model's samples alone, "
        "the smallest β goes furthest away, but has less reward than a larger one. The reward is a function that you "
        f"can read under “How it is computed”; its writer meant {MEANT[config.reward]}."
    )
    st.markdown(
        "**What RLHF adds.** Here a function gives the reward. In reinforcement learning from human feedback "
        "(arXiv:2203.02155) people compare answers, a *reward model* is trained to predict their choice "
        "(arXiv:1706.03741), the policy starts from fine-tuning on written demonstrations, and PPO (arXiv:1707.06347) "
        "takes the place of the plain policy gradient, with the same penalty on the KL divergence. A learned reward "
        "can be gamed too: the true preference first rises and then falls as the KL divergence grows "
        "(arXiv:2210.10760)."
    )
    page.question(
        "DPO has no reward model and draws no samples while it trains. Where is the KL divergence in it?",
        "In the log-ratios to the original model. The best policy under a KL penalty is the original one times "
        "exp(r / β), divided by its sum Z(x). So the reward is β times the log-ratio of policy and original, plus "
        "β log Z(x), which is the same for both answers of a pair and cancels (arXiv:2305.18290, equations 4 to 6); "
        "DPO fits what is left to the pairs.",
    )
    beside = made(experiments.ladder, config.reward)
    page.how_it_is_computed(
        page.experiment_of("Reward against KL divergence", experiments.reward_against_kl, run, beside),
        formula=(
            r"\mathcal{L}_{\mathrm{DPO}} = -\log \sigma\!\left(\beta \log \frac{\pi(y_w)}{\pi_0(y_w)} - "
            r"\beta \log \frac{\pi(y_l)}{\pi_0(y_l)}\right), \qquad \nabla J = \mathbb{E}_{y \sim \pi}\!\left[\left("
            r"r(y) - \beta \log \frac{\pi(y)}{\pi_0(y)}\right) \nabla \log \pi(y)\right]"
        ),
        code=(
            REWARDS[config.reward],
            preference.dpo_loss,
            preference.policy_gradient_loss,
            preference.kl_per_row,
            preference.tune,
        ),
        papers=(
            "DPO: arXiv:2305.18290, equation 7; the objective with a KL penalty: there, equation 3. In the formula y "
            "is a continuation of the prompt, the subscripts w and l the preferred and the other one of a pair, π₀ the "
            "original model. The policy gradient is REINFORCE (Williams, 1992), with the mean of the batch as baseline."
        ),
        terms=("DPO", "policy gradient", "reward hacking", "RLHF", "KL divergence"),
    )
