"""The page on linear-time mixers: one formula with a switch a row, as a matrix and as a state; recall and time."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.foundations.linear.facts import FACTS
from pages.ui import controls, notices, page, text
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from pages.ui.work import live
from tfcore.charts.alike import Against
from tfcore.training.alike import Comparison
from tfcore.training.mixing import comparison, lengths
from tfcore.training.mixing.comparison import TASKS, MixingConfig, MixingTask, begun
from tfcore.training.mixing.lengths import FORMS, LengthConfig
from tfcore.views.foundations import linear as views
from tfcore.views.foundations.linear.measure import ERASING, FADING, MixerRow, MixerSettings
from tfcore.views.foundations.linear.say import recall_regained

RUNS = {"kept": "kept", "now": "here, now"}

# ---- matrix and state ----

CHARACTERS = 2_000
TEXT = (
    "Once upon a time there was a little dog named Max. Max had a red ball. One day the little dog lost the red ball."
)
ROWS: dict[MixerRow, str] = {
    "linear": "linear attention",
    "decay": "decay (RetNet)",
    "gated": "gated linear attention",
    "ssm": "SSD (Mamba-2)",
    "delta": "delta rule",
    "gated delta": "gated delta rule",
    "conv": "short convolution",
}
SWITCHES = """
$S_t = a_t \\odot \\big(S_{t-1} - [\\text{erase}]\\, b_t\\, k_t k_t^\\top S_{t-1}\\big) + b_t\\, k_t v_t^\\top
\\qquad o_t = S_t^\\top q_t$

| | kept, $a_t$ | written, $b_t$ | erased first | models |
|---|---|---|---|---|
| linear attention | all | all | no; divided by the sum of weights | |
| decay | one share in every step | all | no | RetNet |
| gated linear attention | a share a token and key channel | all | no | GLA |
| SSD | a share a token | the token's step | no | Mamba-2, Nemotron-H, Falcon-H1 |
| delta rule | all | a share a token | what stood under the key | DeltaNet |
| gated delta rule | a share a token | a share a token | what stood under the key | Qwen3-Next, Qwen3.5 |
| short convolution | the last few tokens | all | the oldest | LFM2 |
"""


def matrix() -> None:
    """One head of a model: softmax attention, a mixer's matrix, and the state that it carries."""
    with panel() as p:
        p.examples(
            {
                "a plain sum": {"row": "linear"},
                "forgetting after 4 tokens": {"row": "decay", "half_life": 4},
                "overwriting": {"row": "delta"},
                "as in Qwen3-Next": {"row": "gated delta", "half_life": 16},
                "as in LFM2": {"row": "conv"},
            }
        )
        with p.controls:
            row_of_text = controls.text_row()
            model = models.choose("decoder", reads="a head")
            pasted = text_box(model, "Text", "text", TEXT, CHARACTERS, height=110, row=row_of_text, end="first")
            row = controls.select("Mixer", "row", list(ROWS), "gated delta", ROWS)
            half_life, strength = 16.0, 1.0
            if row in FADING:
                half_life = float(controls.slider("Half is left after (tokens)", "half_life", 1, 64, 16))
            config = models.config(model)
            read = first_tokens(model, pasted, views.TOKENS)
            last = max(0, len(read.ids) - 1)
            token = controls.place("Token", "token", len(read.ids), last, of=(model, pasted)) if last else 0
            with page.more_settings():
                if row in ERASING:
                    strength = controls.slider("Strength of writing", "strength", 0.1, 1.0, 1.0, 0.1, format="%.1f")
                layer = controls.layer_among(config.attention_layers, config.n_layers // 2)
                telling = views.telling_of(model, pasted, layer) if read.ids else 0
                if controls.is_new("head", (model, pasted, layer)):
                    controls.renew("head", telling)
                head = controls.place("Head", "head", config.attention.n_heads, telling)
        notices.tokens(read.total, len(read.ids), which="first")
        if not read.ids:
            say_nothing_read(model, pasted, "text", "There is no text yet: type or paste some.")
            return
        settings = MixerSettings(row=row, half_life=half_life, strength=strength)
        with p.picture:
            of = model, pasted, layer, head
            left, right = st.columns(2, gap="medium")
            with left:
                p.show(views.softmax(*of))
            with right:
                p.show(views.implied(*of, settings))
            left, right = st.columns(2, gap="medium")
            with left:
                p.show(views.state(*of, settings, token))
            with right:
                p.show(views.held(*of, settings, token))
            p.show(views.carried(*of, settings, token))
            st.markdown(SWITCHES)
        p.what_to_see(
            "Both matrices are made from the same queries and keys, those of the model on this text. The head was "
            "trained **with softmax**, so the second is what the formula makes of its vectors, not what a model "
            "trained with it would do. Softmax picks out single keys, because an exponential makes large products much "
            "larger; a mixer takes the products as they are, and its rows are smoother and may be negative. In return "
            "all that it knows of the text is the **state**, whose size does not grow: move the token and see what is "
            "still held of the earlier ones. Summing mixes them up, decay forgets the old ones, the delta rule "
            "overwrites what stood under a similar key."
        )
        p.question(
            "With the delta rule and strength 1 the last token is read back with cosine 1. Why not the ones before?",
            "Its key reads exactly what was just written under it: what stood there is erased first. Keys of other "
            "tokens are not at right angles to it, so writing it has changed what they read. In a space of d "
            "dimensions at most d keys are all at right angles to each other.",
        )


# ---- recall and the size of the state ----

KEY_WIDTHS = (8, 16, 32, 64)


def recall() -> None:
    """Random pairs in a state, and trained networks by the size of theirs."""
    with panel() as p:
        p.examples(
            {"a small state": {"d_key": 8}, "a state of 64 by 64": {"d_key": 64}, "other draws": {"pairs_seed": 1}}
        )
        with p.controls:
            d_key = controls.stops("Width of keys", "d_key", KEY_WIDTHS, 16)
            with page.more_settings():
                seed = controls.slider("Seed of keys and values", "pairs_seed", 0, 20, 0)
        with p.picture:
            left, right = st.columns(2, gap="medium")
            with left:
                p.show(views.recall(d_key, seed))
            with right:
                p.show(views.sizes())
        p.what_to_see(
            "**Left, nothing is trained**: pairs of a random key and a value are stored, and each key asks for its "
            "value. Softmax keeps all pairs apart, and keeps all of them. A state has as many numbers for one pair as "
            "for a hundred: from about the width of the keys on (dotted line) they overlap. With random keys the delta "
            "rule has the newest pair exactly and pays with the oldest, so that on the whole it holds fewer than the "
            "sum. **Right, networks are trained** to recall pairs, with states of four sizes: there the keys are "
            "learned, and the delta rule makes room for them."
        )
        p.question(
            "How can a trained delta rule recall more pairs than its keys have dimensions?",
            "It need not: at most that many keys are at right angles, and each head has a state of its own. The task "
            "has 16 keys; two heads of width 8 together tell 16 of them apart.",
        )


# ---- trained side by side ----

NAMED: dict[MixingTask, str] = {"one layer": "one layer of each", "four layers": "hybrids of four layers"}
SAYS: dict[MixingTask, str] = {
    "one layer": "**One layer**: up to 16 pairs of a key and a value, then eight keys are asked for. Guessing has one "
    "in eight right.",
    "four layers": "**Four layers** with small states: attention in all of them, in one (hybrids: the first, or the "
    "third), or in none.",
}
AGAINST: dict[Against, str] = {"steps": "steps", "seconds": "seconds"}
STEPS = (30, 60, 120, 200, 300, 400, 600)
RATES = (1e-3, 3e-3, 1e-2, 3e-2)


def training() -> None:
    """Networks trained alike on the same batches: the course, and what is right by the number of pairs."""
    with panel() as p:
        p.examples(
            {
                "each mixer alone": {"task": "one layer", "run": "kept"},
                "one layer of attention in four": {"task": "four layers", "run": "kept"},
                "by seconds": {"task": "one layer", "run": "kept", "against": "seconds"},
                "train them, here": {"task": "four layers", "run": "now"},
            }
        )
        with p.controls:
            task = controls.select("Networks", "task", list(TASKS), "one layer", NAMED)
            run = controls.segmented("Trained", "run", list(RUNS), "kept", RUNS)
            against = controls.segmented("Loss against", "against", list(AGAINST), "steps", AGAINST)
            config = settings(task) if run == "now" else None
            beside = st.container()

        def show(of: MixingConfig | MixingTask, looks: list[Comparison] | None = None) -> None:
            st.markdown(SAYS[task])
            p.show(views.by_pairs(of, so_far=looks))
            p.show(views.course(of, against, so_far=looks))

        live.stored_or_here(
            config,
            task,
            comparison.compare,
            lambda looked: looked.last.step,
            {"seed_here": controls.next_seed(getattr(config, "seed", 0))},
            (beside, p.picture),
            show,
        )
        p.what_to_see(
            "All networks are as large, see the same batches and have the same state, where they have one. A short "
            "convolution reaches four tokens and cannot recall what stood farther back. Sums and decays mix the pairs; "
            "rules that erase first learn keys that do not disturb each other. In a **hybrid** one layer in four can "
            "look up. Where it comes first, it reads the pairs as they were written, and most of the recall is back; "
            "behind two layers with a small state, which already guess, it has hardly begun to look up in as many "
            "steps. "
            f"{recall_regained(comparison.kept_repeats('four layers'))}"
        )
        p.question(
            "A hybrid keeps keys and values of one layer in four. What does it save, and what does it keep?",
            "Three quarters of the cache that grows with the text, and of the work that grows with its square. What "
            "any single token said can still be looked up, in that one layer; the others carry what is needed all the "
            "time.",
        )


def settings(task: MixingTask) -> MixingConfig | str:
    """The settings of a training, or why there is none."""
    begin = begun(task)
    chosen: dict[str, Any] = {"task": task}
    with page.more_settings():
        chosen["steps"] = controls.stops("Steps", "steps", STEPS, begin.steps)
        chosen["d_key"] = controls.stops("Width of keys", f"d_key_{task.split()[0]}", comparison.WIDTHS, begin.d_key)
        own = "lr" if task == "one layer" else "lr_four"  # each begins with another
        chosen["lr"] = controls.stops("Learning rate", own, RATES, begin.lr, {rate: f"{rate:g}" for rate in RATES})
        chosen["seed"] = controls.slider("Seed of weights and batches", "seed_here", 0, 20, 0)
    try:
        return MixingConfig(**chosen)
    except ValueError as problem:
        return text.escape(str(problem), text.MESSAGE)


# ---- time and memory ----

HEAD_WIDTHS = (32, 64, 128)


def time() -> None:
    """Time of one pass and what is kept for the next token, by length."""
    with panel() as p:
        p.examples(
            {
                "this machine": {"timing": "now", "width": 64},
                "wide heads, here": {"timing": "now", "width": 128},
                "the kept measurement": {"timing": "kept"},
            }
        )
        with p.controls:
            run = controls.segmented("Measured", "timing", list(RUNS), "kept", RUNS)
            config = None
            if run == "now":
                config = LengthConfig(d_head=controls.stops("Width of a head", "width", HEAD_WIDTHS, 64))
            beside = st.container()

        def show(so_far: list[Any] | None) -> None:
            left, right = st.columns([4, 3], gap="medium")
            with left:
                p.show(views.time_by_length(config, so_far=so_far))
            with right:
                p.show(views.memory(config))

        if config is None:
            with p.picture:
                show(None)
        else:
            total = len(FORMS) * len(lengths.LENGTHS)
            live.watch_measurement(config, lambda: lengths.time_lengths(config), total, (beside, p.picture), show)
        p.what_to_see(
            "Token by token the time grows in proportion to the length, in many small steps that wait for each other: "
            "good for writing, slow for reading. As one matrix it grows faster than the length, as attention's does. "
            "**In chunks** both are joined: matrices within a chunk, the state from one chunk to the next; that is how "
            "these layers are trained. Attention is torch's fused kernel, the others are plain functions: on GPUs, "
            "kernels made for them are as quick. What is kept for the next token is the lasting difference."
        )
        p.question(
            "At which length do keys and values take as many numbers as the state?",
            "A key and a value have 2 d numbers per token and head, a state d² per head: at d / 2 tokens. For all "
            "shorter texts attention keeps less.",
        )


# what draws each section, computed and sent only when it is looked at
SECTIONS: dict[str, Callable[[], None]] = {"matrix": matrix, "recall": recall, "training": training, "time": time}

page.begin(FACTS)
SECTIONS[controls.sections(FACTS.sections)]()
