"""The lab: the settings of a run in three groups. Their beginnings depend on the task, and so does what they offer."""

from typing import Any

import streamlit as st

from pages.ui import controls, text
from tfcore.training.lab.options import OPTIMISERS, SCHEDULES
from tfcore.training.lab.recipes import own_text, recipe
from tfcore.training.lab.setting_words import POSITIONS, setting_text, summary
from tfcore.training.lab.spec import LONGEST_TEXT, TASKS, LabSpec, TaskName

NAMES: dict[TaskName, str] = {
    "induction": "induction: repeated random tokens",
    "copy": "copy",
    "reverse": "reverse",
    "sort": "sort",
    "addition": "addition modulo p",
    "characters": "characters of your text",
}
SAYS: dict[TaskName, str] = {
    "induction": "Random tokens that repeat after a random period: in the second copy each next token is the one that "
    "followed before (arXiv:2209.11895).",
    "copy": "Letters, an arrow, and the same letters again.",
    "reverse": "Letters, an arrow, and the letters backwards: the model must count.",
    "sort": "Letters, an arrow, and the letters in order: the model must compare.",
    "addition": "a + b = c modulo p, some of the sums held out. The model memorises, and much later, if it saw enough "
    "of the sums, generalises: grokking (arXiv:2201.02177, arXiv:2301.05217).",
    "characters": "The next character of a text; its last tenth is held out.",
}
WIDTHS = (16, 32, 48, 64, 96, 128)
HEADS = (1, 2, 4, 8)
ROWS = (4, 8, 16, 32, 64, 128, 256, 512)
RATES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 2e-3, 3e-3, 5e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
DECAYS = (0.0, 0.01, 0.1, 0.3, 1.0, 3.0)
CLIPS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
MICRO_BATCHES = (1, 2, 4, 8, 16, 32)
WARMUPS = (0, 5, 10, 20, 50, 100, 200, 500)
STEPS = (20, 60, 120, 180, 240, 300, 400, 600, 1_000, 2_000, 4_000, 8_000, 16_000)
# key of a control -> field of the spec
KEYS = {
    "task": "task",
    "text": "text",
    "symbols": "symbols",
    "length": "length",
    "share": "share",
    "layers": "n_layers",
    "heads": "n_heads",
    "width": "d_model",
    "ff": "feed_forward",
    "positions": "positions",
    "dropout": "dropout",
    "optimiser": "optimiser",
    "lr": "lr",
    "schedule": "schedule",
    "warmup": "warmup",
    "decay": "weight_decay",
    "momentum": "momentum",
    "clip": "clip",
    "smoothing": "smoothing",
    "steps": "steps",
    "rows": "rows",
    "micro": "micro_batches",
    "seed": "seed",
}
_LAST = "_lab_task"  # in the session: the task of the run before


def values(spec: LabSpec) -> dict[str, Any]:
    """The controls that say a spec."""
    fields = spec.to_dict()
    return {key: fields[field] for key, field in KEYS.items() if key != "text" or spec.task == "characters"}


def choose() -> LabSpec | str:
    """The three groups; returns the spec, or why there is none, in a sentence."""
    with st.expander("Task", expanded=True, icon=":material/target:"):
        task = controls.select("Task", "task", list(TASKS), "induction", NAMES)
        start = recipe(task)
        if st.session_state.get(_LAST, task) != task:  # another task begins with settings that suit it
            controls.set_values(**{key: value for key, value in values(start).items() if key not in ("task", "seed")})
        st.session_state[_LAST] = task
        st.caption(SAYS[task])
        chosen: dict[str, Any] = {"task": task, **_of_task(task, start)}
    with st.expander("Model", icon=":material/hub:"):
        chosen |= _of_model(start)
    with st.expander("Optimiser", icon=":material/tune:"):
        chosen |= _of_optimiser(start)
    try:
        spec = LabSpec(**{KEYS[key]: value for key, value in chosen.items()})
    except ValueError as problem:
        return text.escape(str(problem), text.MESSAGE)
    st.caption(summary(spec))
    return spec


def _of_task(task: TaskName, start: LabSpec) -> dict[str, Any]:
    if task == "characters":
        pasted = controls.text_area("Text", "text", own_text(), LONGEST_TEXT, height=120)
        length = controls.slider("Context (characters)", "length", 8, 64, start.length, 4)
        return {"text": pasted, "length": length, "symbols": len(set(pasted)) if 4 <= len(set(pasted)) <= 97 else 97}
    left, right = st.columns(2)
    if task == "addition":
        with left:
            p = controls.slider("Modulus p", "symbols", 7, 97, start.symbols, 2)
        with right:
            share = controls.slider("Sums trained on, %", "share", 10, 90, start.share, 5)
        return {"symbols": p, "share": share, "length": start.length}
    most = 64 if task == "induction" else 26
    with left:
        symbols = controls.slider("Different tokens", "symbols", 4, most, start.symbols, 2)
    with right:
        name = "Longest period" if task == "induction" else "Letters in a row"
        high = min(32, symbols) if task == "induction" else 24
        length = controls.slider(name, "length", 3, high, min(start.length, high))
    return {"symbols": symbols, "length": length}


def _of_model(start: LabSpec) -> dict[str, Any]:
    left, right = st.columns(2)
    with left:
        layers = controls.slider("Layers", "layers", 1, 4, start.n_layers)
        width = controls.stops("Width d_model", "width", WIDTHS, start.d_model)
    with right:
        heads = controls.stops("Heads", "heads", HEADS, start.n_heads)
        dropout = controls.slider("Dropout", "dropout", 0.0, 0.5, start.dropout, 0.05, format="%.2f")
    positions = controls.select("Positions", "positions", list(POSITIONS), start.positions, POSITIONS)
    ff = controls.toggle("Feed-forward layers, 4 times as wide", "ff", start.feed_forward)
    return {"layers": layers, "width": width, "heads": heads, "dropout": dropout, "positions": positions, "ff": ff}


def _of_optimiser(start: LabSpec) -> dict[str, Any]:
    optimiser = controls.select("Optimiser", "optimiser", list(OPTIMISERS), start.optimiser, OPTIMISERS)
    schedule = controls.select("Schedule", "schedule", list(SCHEDULES), start.schedule, SCHEDULES)
    lr = controls.stops("Learning rate", "lr", RATES, start.lr, {rate: setting_text(rate) for rate in RATES})
    left, right = st.columns(2)
    with left:
        warmup = controls.stops("Warm-up steps", "warmup", WARMUPS, start.warmup)
        rows = controls.stops("Batch size (sequences)", "rows", ROWS, start.rows)
        micro = controls.stops(
            "Micro-batches a step",
            "micro",
            MICRO_BATCHES,
            start.micro_batches,
            help="Gradient accumulation: the batch is read in that many parts, one after the other, and their "
            "gradients are added up before the step. The same training in less memory.",
        )
        decay = controls.stops(
            "Weight decay", "decay", DECAYS, start.weight_decay, {decay: setting_text(decay) for decay in DECAYS}
        )
        momentum = controls.slider("Momentum (SGD)", "momentum", 0.0, 0.95, start.momentum, 0.05, format="%.2f")
    with right:
        steps = controls.stops("Steps", "steps", STEPS, start.steps)
        clip = controls.stops(
            "Clip gradients to",
            "clip",
            CLIPS,
            start.clip,
            {clip: setting_text(clip) if clip else "off" for clip in CLIPS},
        )
        smoothing = controls.slider("Label smoothing", "smoothing", 0.0, 0.4, start.smoothing, 0.05, format="%.2f")
        seed = controls.slider("Seed", "seed", 0, 99, start.seed)
    return {
        "optimiser": optimiser,
        "schedule": schedule,
        "lr": lr,
        "warmup": warmup,
        "rows": rows,
        "micro": micro,
        "decay": decay,
        "momentum": momentum,
        "steps": steps,
        "clip": clip,
        "smoothing": smoothing,
        "seed": seed,
    }
