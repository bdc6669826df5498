"""A panel of the page on recurrence: three networks of equal size trained on the same batches, side by side."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.foundations.recurrence import experiments
from pages.ui import controls, page, text
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import live
from tfcore.analysis.foundations.recurrence import comparison_findings, network_findings
from tfcore.training.recurrent import comparison, networks
from tfcore.training.recurrent import side_by_side as training
from tfcore.training.recurrent.comparison import BEGIN, TASKS, Comparison, ComparisonConfig, Repeats, TaskName
from tfcore.training.recurrent.networks import KINDS, NAMES, NetworkConfig

HEIGHT = 340
BELOW = 280
NAMED: dict[TaskName, str] = {
    "copy": "copy letters",
    "recall": "recall one letter",
    "addition": "sums",
    "characters": "a text",
}
SAYS: dict[TaskName, str] = {
    "copy": "**Copy**: random letters, an arrow, the same letters again. All of them have to be kept at once.",
    "recall": "**Recall**: random letters, one of them marked; at the end it is asked for. One letter has to be kept.",
    "addition": "**Sums** modulo 31, of which 30 % are held out: memorised sums are of no use there.",
    "characters": "**A text**, character by character, of a small artificial language; its last tenth is held out.",
}
RUNS = {"kept": "kept", "now": "here, now"}
AGAINST: dict[Any, str] = {"steps": "steps", "seconds": "seconds"}
STEPS = (30, 60, 120, 240, 300, 400, 600, 900)
RATES = (3e-4, 1e-3, 3e-3, 1e-2)
TRY: dict[str, dict[str, Any]] = {
    "copy, by seconds": {"task": "copy", "run": "kept", "against": "seconds"},
    "one letter: the LSTM wins": {"task": "recall", "run": "kept", "against": "steps"},
    "sums": {"task": "addition", "run": "kept"},
    "a text": {"task": "characters", "run": "kept"},
    "train on copies, here": {"task": "copy", "run": "now"},
}


def panel() -> None:
    """The course of the trainings, and what is right by place."""
    page.try_this(TRY)
    left, right = st.columns([1, 3], gap="large")
    with left:
        task = controls.select("Task", "task", list(TASKS), "copy", NAMED)
        run = controls.segmented("Trained", "run", list(RUNS), "kept", RUNS)
        against = controls.segmented("Loss against", "against", list(AGAINST), "steps", AGAINST)
        begun: Any = made(comparison.kept_comparison, task)
        config: ComparisonConfig | str = comparison.kept_comparison(task).config
        if run == "now":
            config = choose(BEGIN[task])
        beside = st.container()
    with right:
        picture = st.container()
    if isinstance(config, str):
        picture.info(config)
    elif run == "kept":
        with picture:
            show(comparison.kept_comparison(task), against, comparison.kept_repeats(task))
    else:
        live.watch_training(
            config,
            lambda: training.compare(config),
            lambda found: found.last.step,
            {"seed_here": controls.next_seed(config.seed)},
            (beside, picture),
            lambda found: show(found[-1], against),
        )
        begun = made(training.compared, config)
    words(task, begun, against, made(comparison.kept_repeats, task) if run == "kept" else None)


def choose(begin: ComparisonConfig) -> ComparisonConfig | str:
    """The settings of a training, or why there is none."""
    task, chosen = begin.task, dict[str, Any](task=begin.task, rows=begin.rows, length=begin.length)
    with page.more_settings():
        chosen["steps"] = controls.stops("Steps", f"steps_{task}", STEPS, begin.steps)
        chosen["lr"] = controls.stops("Learning rate", "lr", RATES, begin.lr, {rate: f"{rate:g}" for rate in RATES})
        if task != "addition":
            label = "Letters" if task == "copy" else "Tokens"
            chosen["length"] = controls.slider(
                label, f"length_{task}", 4, 48 if task == "characters" else 24, begin.length
            )
        chosen["seed"] = controls.slider("Seed of weights and batches", "seed_here", 0, 20, 0)
    try:
        return ComparisonConfig(**chosen)
    except ValueError as problem:
        return text.escape(str(problem), text.MESSAGE)


def show(found: Comparison, against: Any, repeats: Repeats | None = None) -> None:
    """Both figures."""
    st.markdown(SAYS[found.config.task])
    shown = experiments.course(found, against, repeats, HEIGHT)
    figure(
        shown.figure,
        key="course",
        height=HEIGHT,
        min_width=340,
        table=lambda: course_table(found),
        alt=f"Held-out loss of three networks. {shown.alt}",
        caption=f"{shown.caption} Strong lines: held-out rows; thin: the batches. On {found.machine}.",
    )
    if len(found.places) > 1:
        shown = experiments.by_place(found, repeats, BELOW)
        figure(
            shown.figure,
            key="places",
            height=BELOW,
            min_width=340,
            table=lambda: place_table(found),
            alt=shown.alt,
            caption=f"{shown.caption} Bars: lowest to highest of all seeds." if repeats else shown.caption,
        )


def course_table(found: Comparison) -> pd.DataFrame:
    """Every look, one row for each network."""
    return pd.DataFrame(
        [
            (NAMES[kind], look.step, look.seconds[i], look.loss[i], look.held_out[i], look.accuracy[i])
            for look in found.looks
            for i, kind in enumerate(KINDS)
        ],
        columns=["network", "step", "seconds", "loss", "held-out loss", "accuracy"],
    )


def place_table(found: Comparison) -> pd.DataFrame:
    """Right tokens by place."""
    return pd.DataFrame({"place": found.places, **dict(zip(NAMES.values(), found.last.by_place, strict=True))})


def words(task: TaskName, begun: Any, against: Any, repeats: Any) -> None:
    """What to see, the question, the drawer."""
    page.what_to_see(
        "What the kept trainings show. **Copying** needs all letters at once: attention finds each where it stands, a "
        "state of fixed size has to hold them all, and the RNN stays at guessing. **One letter** is what an LSTM was "
        "made for: it learns that first. "
        f"{comparison_findings.recall_over_seeds(comparison.kept_repeats('recall'))} "
        "**Sums**: the recurrent networks memorise those that they are trained on, and only the Transformer has more "
        "than a few of those held out right. On a short **text** in which the last few characters decide, "
        "recurrence is the better start. A step of the Transformer takes longest, though it computes all "
        "positions at once: that pays on hardware with many units (see “Time of one pass”)."
    )
    page.question(
        "The kept LSTM recalls one letter perfectly and copies ten letters badly. Is its state too small for ten?",
        "No: ten letters of 26 are 47 bits, and it has two states of more than a hundred numbers each. What it lacks "
        "is a simple way to write each letter to a place of its own and to read it from there; it has to learn an "
        "encoding through the gradient, slowly. Attention leaves every letter where it is and looks it up.",
    )
    sizes = network_findings.equal_sizes(NetworkConfig(vocab_size=len(training.material(BEGIN[task]).names)))
    page.how_it_is_computed(
        page.experiment_of("The loss", experiments.course, begun, against, repeats, HEIGHT),
        page.experiment_of("By place", experiments.by_place, begun, repeats, BELOW),
        formula=(
            r"\text{RNN, LSTM: } h_t = f(x_t, h_{t-1}) \qquad \text{attention: } "
            r"o_t = \sum_{s \le t} \mathrm{softmax}_s\!\Big(\frac{q_t \cdot k_s}{\sqrt{d_k}}\Big)\, v_s"
        ),
        code=(networks.RecurrentNetwork, training.compare, training.Trainee),
        papers=(
            f"{sizes} All see the same batches, with AdamW, one peak learning rate, {training.WARMUP} steps of "
            f"warm-up, then a cosine, gradients clipped to norm {training.CLIP:g}; no rate was searched for any of "
            "them. Seconds are those of a network's own steps. Copying as a test of memory: arXiv:1410.5401; one item "
            "over a long distance: Hochreiter and Schmidhuber, Neural Computation 9(8), 1997; sums modulo a prime: "
            "arXiv:2201.02177. The kept trainings: `python -m tfcore.training recurrence`."
        ),
        terms=("recurrent neural network", "LSTM", "held-out loss"),
    )
