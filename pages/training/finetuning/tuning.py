"""Section of the page on fine-tuning: a method, the losses on the new and the old text, and a continuation."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.training.finetuning import experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.work import live
from tfcore.analysis.training.fine_tuning import compare_methods, lora_parameters, tuning_cost
from tfcore.measures.quantities import amount, whole
from tfcore.training import finetuning
from tfcore.training.finetuning_runs import METHODS, RANKS, RATES, FineTuneConfig, FineTuned, Method
from tfcore.training.lora import LoRALinear, add_lora_, merge_lora_

HEIGHT = 340
KEPT = "A stored run of these settings, trained by `python -m tfcore.training finetuning`."
BARS = "Bars at the end: stored runs with other seeds."
NOT_KEPT = "No run of these settings is stored: switch “Train it here” on to see one. Drawn is a stored run of others."
PATIENCE = 20.0  # seconds without anybody looking after which a run is stopped
NAMES: dict[Method, str] = {"full": "all", "last": "last layers", "lora": "LoRA"}
FACTORS = (0.1, 0.3, 1.0, 3.0)  # times the usual learning rate
TRY: dict[str, dict[str, Any]] = {
    "LoRA of rank 1": {"method": "lora", "rank": 1, "live": False},
    "the last layer": {"method": "last", "layers": 1, "live": False},
    "all weights": {"method": "full", "live": False},
    "too large a learning rate": {"method": "full", "rate": 3.0, "steps": 60, "live": True},
}

kept_runs = cache.data(max_entries=1)(finetuning.kept_runs)


def panel() -> None:
    """The section."""
    page.try_this(TRY)
    left, right = st.columns([1, 3], gap="large")
    with left:
        method = controls.segmented("Weights that are trained", "method", list(METHODS), "lora", NAMES)
        config, wanted = _choose(method)
        beside = st.container()
    picture = right.container()
    kept = [run for run in kept_runs() if run.config == config]
    if wanted:
        live.watch_training(
            config,
            lambda: finetuning.fine_tune(config),
            lambda run: run.losses[-1].step,
            {"seed": controls.next_seed(config.seed, 9)},
            (beside, picture),
            lambda runs: _show(runs[-1]),
            PATIENCE,
        )
        run = made(finetuning.fine_tune_to_the_end, config)
    else:
        beside.caption(KEPT if kept else NOT_KEPT)
        shown = (kept or kept_runs())[0]
        config, run = shown.config, made(experiments.kept_run, shown.config)
        with picture:
            _show(shown)
    _words(config, run)


def _choose(method: Method) -> tuple[FineTuneConfig, bool]:
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


def _show(run: FineTuned) -> None:
    """Both losses, the continuations, and what the method costs."""
    others = [other for other in kept_runs() if other.config != run.config]
    columns = st.columns(2, gap="medium")
    shown = (("new", experiments.new_text(run, others)), ("old", experiments.old_text(run, others)))
    for place, (key, one) in zip(columns, shown, strict=True):
        with place:
            table = _table([run, *others])
            figure(one.figure, key=key, height=HEIGHT, alt=one.alt, caption=f"{one.caption} {BARS}", table=table)
    for place, name, text in zip(st.columns(2, gap="medium"), ("Before", "After"), run.continuations, strict=True):
        place.caption(f"{name}, `stories` continues “{finetuning.PROMPT}”:")
        place.code(text or "(when the run has ended)", language=None, wrap_lines=True)
    cost = tuning_cost(models.config(finetuning.MODEL), run.config)
    numbers = (
        ("Trained numbers", whole(cost.trainable), f"{cost.share:.1%} of the model"),
        ("Gradients and AdamW", amount(cost.state), f"{amount(cost.full_state)} for all weights"),
        ("Loss on the play", f"{run.losses[-1].new:.2f}", f"{run.losses[-1].new - run.losses[0].new:+.2f}"),
        ("Loss on the old stories", f"{run.losses[-1].old:.2f}", f"{run.losses[-1].old - run.losses[0].old:+.2f}"),
    )
    for place, (label, value, note) in zip(st.columns(4), numbers, strict=True):
        place.metric(label, value, note, delta_color="off", delta_arrow="off")
    st.caption(str(cost))


def _table(runs: list[FineTuned]) -> pd.DataFrame:
    """Every look at every run."""
    rows = [
        (run.config.name, run.config.seed, losses.step, losses.new, losses.old) for run in runs for losses in run.losses
    ]
    return pd.DataFrame(rows, columns=["trained", "seed", "step", "loss on the play", "loss on the old stories"])


def _words(config: FineTuneConfig, run: Any) -> None:
    """What to see, the question, the drawer.

    Args:
        run: what makes the run that is drawn.
    """
    page.what_to_see(
        "In every stored run the loss on unseen scenes of the play falls, fast and then hardly any more, and the loss "
        "on the old stories rises: the weights that knew the stories are overwritten (catastrophic forgetting). "
        "Training fewer numbers saves memory for gradients and optimiser; whether it forgets less depends on how far "
        "the learning rate moves the model. `stories` is used here because it can be trained while you watch; what is "
        "said of memory holds for large models too, where the state of the optimiser is what does not fit."
    )
    page.question(
        "LoRA trains few numbers. Is the tuned model slower or larger when it is used?",
        "No: after training, W + (α / r) B A is written down as one matrix of the old size (“merged”), and gives the "
        "same numbers. Kept apart, the two thin matrices of each task can be exchanged while W stays in memory.",
    )
    others = made(experiments.other_runs, config)
    page.how_it_is_computed(
        page.experiment_of("The loss on the play", experiments.new_text, run, others),
        page.experiment_of("The loss on the stories", experiments.old_text, run, others),
        formula=(
            r"W' = W + \frac{\alpha}{r}\, B A, \quad B \in \mathbb{R}^{d_{out} \times r},\; "
            r"A \in \mathbb{R}^{r \times d_{in}},\; B = 0 \text{ at the start}"
        ),
        code=(LoRALinear, add_lora_, merge_lora_, finetuning.fine_tune, lora_parameters, tuning_cost, compare_methods),
        papers=(
            "LoRA: arXiv:2106.09685, equation 3; on all matrices instead of those of attention alone: "
            "arXiv:2305.14314. Memory of mixed and full precision training: arXiv:1910.02054, section 3.1. The play: "
            "the first 60 kB of Romeo and Juliet as tinyshakespeare has it, the last tenth held out; the old stories: "
            "excerpts of TinyStories (arXiv:2305.07759) that were held out when `stories` was trained."
        ),
        terms=("LoRA", "fine-tuning", "catastrophic forgetting", "held-out loss"),
    )
