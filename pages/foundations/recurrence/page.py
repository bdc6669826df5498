"""The page on recurrence: why attention at all."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.foundations.recurrence.facts import FACTS
from pages.ui import controls, page, text
from pages.ui.frame import panel
from pages.ui.work import live
from tfcore.charts.alike import Against
from tfcore.training.alike import Comparison
from tfcore.training.recurrent import alignment, comparison, passes, side_by_side
from tfcore.training.recurrent.alignment import AlignmentConfig, Order
from tfcore.training.recurrent.comparison import BEGIN, TASKS, ComparisonConfig, TaskName
from tfcore.training.recurrent.gradients import GradientConfig
from tfcore.training.recurrent.networks import KINDS
from tfcore.training.recurrent.passes import PassConfig
from tfcore.views.foundations import recurrence as views
from tfcore.views.foundations.recurrence.say import place_kept, recall_over_seeds

KEPT = "Faint: the kept training."
RUNS = {"kept": "kept", "now": "here, now"}

# ---- the gradient that arrives ----

LENGTHS = (32, 64, 128)
WEIGHTS: dict[Any, str] = {
    "start": "at initialisation",
    "copy": "trained to copy",
    "recall": "trained to recall one letter",
    "characters": "trained on a text",
}


def gradient() -> None:
    """How much of the gradient at the output arrives at the token d steps back."""
    with panel() as p:
        p.examples(
            {
                "an LSTM that keeps": {"weights": "start", "forget_bias": 4.0},
                "an LSTM that forgets": {"weights": "start", "forget_bias": -1.0},
                "larger recurrent weights": {"weights": "start", "gain": 2.2},
                "an exploding gradient": {"weights": "start", "gain": 4.0},
                "after training on a text": {"weights": "characters"},
            }
        )
        with p.controls:
            weights = controls.select("Weights", "weights", list(WEIGHTS), "start", WEIGHTS)
            of = beginning() if weights == "start" else weights
        with p.picture:
            p.show(views.gradient(of))
        p.what_to_see(
            "Training can only strengthen what a gradient reaches. In the **RNN** the way back from the output to a "
            "token *d* steps earlier is a product of *d* matrices, each $\\mathrm{diag}(1 - h^2)\\,W_h$: it shrinks, "
            "or explodes, by about the same factor per step, a straight line on this axis. The open marks are that "
            "product, multiplied out without autograd. The **LSTM** adds a cell state whose own factor per step is the "
            "forget gate (thin dotted line): with a gate near 1 the line is nearly level. In the **Transformer** the "
            "way from any token to the output is as long as there are layers, whatever the distance; in SmolLM2, a "
            "real model of 30 layers, it falls little. Compare slopes, not heights: these depend on how large each "
            "network's embeddings begin."
        )
        p.question(
            "Make the RNN's recurrent weights larger until its line no longer falls. Is the problem solved?",
            "No: there is one value at which it is level, and it depends on the tokens and changes with every step of "
            "training. A little above it the gradient grows from step to step instead (exploding gradients, against "
            "which its norm is clipped). An LSTM's forget gate is a number per unit between 0 and 1 that is learned.",
        )


def beginning() -> GradientConfig:
    """How the weights begin."""
    gain = controls.slider("RNN: recurrent weights ×", "gain", 0.4, 4.0, 1.0, 0.2, format="%.1f")
    bias = controls.slider("LSTM: bias of the forget gates", "forget_bias", -2.0, 6.0, 1.0, 0.5, format="%.1f")
    with page.more_settings():
        seq = controls.stops("Tokens", "seq", LENGTHS, 64)
        seed = controls.slider("Seed of weights and tokens", "seed", 0, 20, 0)
    return GradientConfig(seq=seq, gain=gain, forget_bias=bias, seed=seed)


# ---- trained side by side ----

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
AGAINST: dict[Against, str] = {"steps": "steps", "seconds": "seconds"}
STEPS = (30, 60, 120, 240, 300, 400, 600, 900)
RATES = (3e-4, 1e-3, 3e-3, 1e-2)


def training() -> None:
    """Three networks of equal size trained on the same batches: the course, and what is right by place."""
    with panel() as p:
        p.examples(
            {
                "copy, by seconds": {"task": "copy", "run": "kept", "against": "seconds"},
                "one letter: the LSTM wins": {"task": "recall", "run": "kept", "against": "steps"},
                "sums": {"task": "addition", "run": "kept"},
                "a text": {"task": "characters", "run": "kept"},
                "train on copies, here": {"task": "copy", "run": "now"},
            }
        )
        with p.controls:
            task = controls.select("Task", "task", list(TASKS), "copy", NAMED)
            run = controls.segmented("Trained", "run", list(RUNS), "kept", RUNS)
            against = controls.segmented("Loss against", "against", list(AGAINST), "steps", AGAINST)
            config = settings(BEGIN[task]) if run == "now" else None
            beside = st.container()

        def show(of: ComparisonConfig | TaskName, looks: list[Comparison] | None = None) -> None:
            st.markdown(SAYS[task])
            course = views.course(of, against, so_far=looks)
            p.show(course if looks is None else course.over(views.course(task, against), KEPT))
            if len(course.result.places) > 1:
                p.show(views.by_place(of, so_far=looks))

        live.stored_or_here(
            config,
            task,
            side_by_side.compare,
            lambda timed: timed.last.step,
            {"seed_here": controls.next_seed(getattr(config, "seed", 0))},
            (beside, p.picture),
            show,
        )
        p.what_to_see(
            "What the kept trainings show. **Copying** needs all letters at once: attention finds each where it "
            "stands, a state of fixed size has to hold them all, and the RNN stays at guessing. **One letter** is what "
            "an LSTM was made for: it learns that first. "
            f"{recall_over_seeds(comparison.kept_repeats('recall'))} "
            "**Sums**: the recurrent networks memorise those that they are trained on, and only the Transformer has "
            "more than a few of those held out right. On a short **text** in which the last few characters decide, "
            "recurrence is the better start. A step of the Transformer takes longest, though it computes all "
            "positions at once: that pays on hardware with many units (see “Time of one pass”)."
        )
        p.question(
            "The kept LSTM recalls one letter perfectly and copies ten letters badly. Is its state too small for ten?",
            "No: ten letters of 26 are 47 bits, and it has two states of more than a hundred numbers each. What it "
            "lacks is a simple way to write each letter to a place of its own and to read it from there; it has to "
            "learn an encoding through the gradient, slowly. Attention leaves every letter where it is and looks it "
            "up.",
        )


def settings(begin: ComparisonConfig) -> ComparisonConfig | str:
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


# ---- time of one pass ----

WIDTHS = (64, 128, 256)


def time() -> None:
    """Seconds of one pass, step by step against all positions at once."""
    with panel() as p:
        p.examples(
            {
                "this machine": {"timing": "now", "width": 256},
                "small networks, here": {"timing": "now", "width": 64},
                "the kept measurement": {"timing": "kept"},
            }
        )
        with p.controls:
            run = controls.segmented("Measured", "timing", list(RUNS), "kept", RUNS)
            if run == "now":
                config = PassConfig(d_model=controls.stops("Width of the Transformer", "width", WIDTHS, 256))
            beside = st.container()
        if run == "kept":
            with p.picture:
                p.show(views.passes())
        else:
            live.watch_measurement(
                config,
                lambda: passes.time_passes(config),
                len(KINDS) * len(passes.LENGTHS),
                (beside, p.picture),
                lambda points: p.show(views.passes(config, so_far=points)),
            )
        p.what_to_see(
            "A recurrent network cannot begin with token *t* before it is done with *t* − 1: its time grows in "
            "proportion to the length, in steps of one matrix times one vector each. A Transformer multiplies matrices "
            "with all positions at once, which hardware does far quicker per number, and the longest chain of steps "
            "that wait for each other is its layers, whatever the length (arXiv:1706.03762, table 1). Its attention "
            "compares all pairs, so for long sequences its time grows faster than the length. In training all "
            "positions of a known text can be read at once; in generation a Transformer, too, writes one token after "
            "another."
        )
        p.question(
            "On a processor that did everything independent at the same time, how long would each take for 2,048 "
            "tokens?",
            "The recurrent network 2,048 steps that wait for each other; the Transformer as many as it has layers "
            "(each of a few products). GPUs, with thousands of units, made it the better choice; a CPU has few, so "
            "less of it shows here.",
        )


# ---- attention over an encoder ----

WORDS: dict[Order, str] = {"reverse": "reversed", "copy": "copied"}
ALIGNED_STEPS = (60, 200, 400, 600)


def over_an_encoder() -> None:
    """Attention over an encoder's states, the step between RNNs and the Transformer."""
    with panel() as p:
        p.examples(
            {
                "without attention": {"attention": False},
                "with attention": {"attention": True},
                "copied": {"order": "copy", "attention": True},
                "train both, here": {"aligned": "now", "attention": True},
            }
        )
        with p.controls:
            attention = controls.toggle("Attention", "attention", True, help="Over all states of the encoder.")
            order = controls.segmented("Letters written", "order", list(WORDS), "reverse", WORDS)
            run = controls.segmented("Trained", "aligned", list(RUNS), "kept", RUNS)
            if run == "now":
                with page.more_settings():
                    steps = controls.stops("Steps", "aligned_steps", ALIGNED_STEPS, 600)
                    seed = controls.slider("Seed of weights and letters", "aligned_seed", 0, 20, 0)
            beside = st.container()

        def show(of: AlignmentConfig | Order, looks: list[alignment.AlignmentEvaluation] | None = None) -> None:
            first, second = st.columns([4, 3], gap="medium")
            with first:
                found = views.lengths(of, attention, so_far=looks)
                p.show(found if looks is None else found.over(views.lengths(order, attention), KEPT))
            with second:
                if attention:
                    p.show(views.alignment(of, so_far=looks))
                else:
                    st.info(
                        "Without attention the decoder reads the same vector for every letter, the encoder's last "
                        "states, so there is no alignment to draw."
                    )

        config = AlignmentConfig(order=order, steps=steps, seed=seed) if run == "now" else None
        live.stored_or_here(
            config,
            order,
            alignment.align,
            lambda look: look.step,
            {"aligned_seed": controls.next_seed(getattr(config, "seed", 0))},
            (beside, p.picture),
            show,
        )
        p.what_to_see(
            "In 2014 neural translation was an **encoder** that read a sentence into one vector and a **decoder** that "
            "wrote from it: quality fell with the length of the sentence. **Attention** was added so that the decoder "
            "can look back: for each letter it writes, every state of the encoder gets a score against its own state, "
            "a softmax makes weights of them, and it reads the weighted sum. The weights are the alignment: once it is "
            "learned, near the diagonal for a copy, near the other diagonal for a reversal. Queries, keys and values "
            "are all here already; in 2017 the recurrence around them was left out (arXiv:1706.03762)."
        )
        p.question(
            f"The network with attention was trained on rows of up to {alignment.TRAINED[1]} letters. In longer ones "
            "fewer letters are right. Does its alignment lose the place?",
            f"{place_kept(alignment.kept_alignment_repeats(order))} Where the next letter stands has to be found from "
            "the states of both recurrent networks, and neither has read rows of this length in training. Which place "
            "is which, at lengths never trained on, is what the page on positions is about.",
        )


# what draws each section, computed and sent only when it is looked at
SECTIONS: dict[str, Callable[[], None]] = {
    "gradient": gradient,
    "training": training,
    "time": time,
    "alignment": over_an_encoder,
}

page.begin(FACTS)
SECTIONS[controls.sections(FACTS.sections)]()
