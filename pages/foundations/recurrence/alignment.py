"""A panel of the page on recurrence: attention over an encoder's states, the step between RNNs and the Transformer."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.foundations.recurrence import experiments
from pages.ui import controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import live
from tfcore.analysis.foundations.recurrence.alignment_findings import place_kept
from tfcore.training.recurrent import alignment
from tfcore.training.recurrent.alignment import LENGTHS, AlignmentConfig, AlignmentLook, AlignmentRepeats, Order

HEIGHT = 340
RUNS = {"kept": "kept", "now": "here, now"}
WORDS: dict[Order, str] = {"reverse": "reversed", "copy": "copied"}
STEPS = (60, 200, 400, 600)
TRY: dict[str, dict[str, Any]] = {
    "without attention": {"attention": False},
    "with attention": {"attention": True},
    "copied": {"order": "copy", "attention": True},
    "train both, here": {"aligned": "now", "attention": True},
}


def panel() -> None:
    """Accuracy by length, and the alignment."""
    page.try_this(TRY)
    left, right = st.columns([1, 3], gap="large")
    with left:
        attention = controls.toggle("Attention", "attention", True, help="Over all states of the encoder.")
        order = controls.segmented("Letters written", "order", list(WORDS), "reverse", WORDS)
        run = controls.segmented("Trained", "aligned", list(RUNS), "kept", RUNS)
        begun: Any = made(alignment.kept_alignment, order)
        config = AlignmentConfig(order=order)
        if run == "now":
            with page.more_settings():
                steps = controls.stops("Steps", "aligned_steps", STEPS, 600)
                seed = controls.slider("Seed of weights and letters", "aligned_seed", 0, 20, 0)
            config = AlignmentConfig(order=order, steps=steps, seed=seed)
            begun = made(alignment.aligned, config)
        beside = st.container()
    if run == "kept":
        with right:
            show(alignment.kept_alignment(order), order, attention, alignment.kept_alignment_repeats(order))
    else:
        live.watch_training(
            config,
            lambda: alignment.align(config),
            lambda look: look.step,
            {"aligned_seed": controls.next_seed(config.seed)},
            (beside, right),
            lambda looks: show(looks[-1], order, attention),
        )
    words(begun, order, attention, made(alignment.kept_alignment_repeats, order) if run == "kept" else None)


def show(look: AlignmentLook, order: Order, attention: bool, repeats: AlignmentRepeats | None = None) -> None:
    """Both figures; without attention there is no alignment."""
    first, second = st.columns([4, 3], gap="medium")
    with first:
        shown = experiments.lengths(look, attention, HEIGHT, repeats)
        sides = {"one vector": look.plain.by_length} | ({"attention": look.attending.by_length} if attention else {})
        figure(
            shown.figure,
            key="lengths",
            height=HEIGHT,
            min_width=320,
            table=lambda: pd.DataFrame({"letters": LENGTHS, **sides}),
            alt=shown.alt,
            caption=shown.caption,
        )
    with second:
        if not attention:
            st.info(
                "Without attention the decoder reads the same vector for every letter, the encoder's last states, so "
                "there is no alignment to draw."
            )
            return
        shown = experiments.alignment(look, order, HEIGHT)
        figure(
            shown.figure,
            key="alignment",
            height=HEIGHT,
            min_width=240,
            cursor=True,
            table=lambda: pd.DataFrame(look.alignment),
            alt=f"Attention weights of each letter written on each letter read. {shown.alt}",
            caption=shown.caption,
        )


def words(begun: Any, order: Order, attention: bool, repeats: Any) -> None:
    """What to see, the question, the drawer."""
    page.what_to_see(
        "In 2014 neural translation was an **encoder** that read a sentence into one vector and a **decoder** that "
        "wrote from it: quality fell with the length of the sentence. **Attention** was added so that the decoder can "
        "look back: for each letter it writes, every state of the encoder gets a score against its own state, a "
        "softmax makes weights of them, and it reads the weighted sum. The weights are the alignment: once it is "
        "learned, near the diagonal for a copy, near the other diagonal for a reversal. Queries, keys and values are "
        "all here already; in 2017 the recurrence around them was left out (arXiv:1706.03762)."
    )
    page.question(
        f"The network with attention was trained on rows of up to {alignment.TRAINED[1]} letters. In longer ones fewer "
        "letters are right. Does its alignment lose the place?",
        f"{place_kept(alignment.kept_alignment_repeats(order))} Where the next letter stands has to be found from the "
        "states of both recurrent networks, and neither has read rows of this length in training. Which place "
        "is which, at lengths never trained on, is what the page on positions is about.",
    )
    shown = [page.experiment_of("By length", experiments.lengths, begun, attention, HEIGHT, repeats)]
    if attention:
        shown.append(page.experiment_of("The alignment", experiments.alignment, begun, order, HEIGHT))
    low, high = alignment.TRAINED
    page.how_it_is_computed(
        *shown,
        formula=(
            r"e_{ij} = v^\top \tanh(W_a s_{i-1} + U_a h_j) \qquad \alpha_{ij} = \mathrm{softmax}_j(e_{ij}) \qquad "
            r"c_i = \sum_j \alpha_{ij} h_j \qquad s_i = \mathrm{GRU}(s_{i-1}, [y_{i-1}; c_i])"
        ),
        code=(alignment.additive_attention, alignment.EncoderDecoder, alignment.align),
        papers=(
            "arXiv:1409.0473, section 3 and appendix A: a bidirectional GRU reads, a GRU writes; here without the "
            "maxout layer before the output. Without attention c is the encoder's last two states for every letter. "
            "The network with attention has the alignment's weights besides: W, U and v. Both see the same rows of "
            f"{low} to {high} random letters, {alignment.ROWS} per step, with Adam at {alignment.LR:g}; right letters "
            f"are counted on {alignment.TESTED} rows of each length, free-running: the decoder reads what it wrote. "
            "The kept trainings: `python -m tfcore.training recurrence`."
        ),
        terms=("encoder-decoder", "cross-attention", "teacher forcing"),
    )
