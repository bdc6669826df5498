"""Panels of the page on residual connections: leave sublayers of a trained model out, and dropout."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.block.residuals import experiments as experiments
from pages.ui import cache, controls, fragments, notices, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.loading import models
from pages.ui.reading import first_tokens
from tfcore.analysis.block import dropping, paths
from tfcore.analysis.block.dropping import Dropped
from tfcore.analysis.block.paths import Paths
from tfcore.figures.block import paths as figures

MODEL, CHARACTERS, TOKENS, NEW_TOKENS = "stories", 2_000, 40, 24
TEXT = (
    "Once upon a time, there was a little girl named Lily. She had a red ball. "
    "One day the ball rolled away and Lily ran after it."
)
N_LAYERS = 4
KEYS = [f"{part}{i}" for i in range(N_LAYERS) for part in ("attention", "mlp")]  # in the order of the sublayers
SKIPPED = {"attention2", "mlp2"}  # in the default view
PARTS = {"attn_out": "attention", "mlp_out": "feed-forward"}


@cache.data(max_entries=12)
def all_paths(pasted: str) -> Paths:
    return paths.every_subset(cache.model(MODEL)[0], first_tokens(MODEL, pasted, TOKENS).ids)


@cache.data(max_entries=128)
def continuation(pasted: str, without: tuple[int, ...]) -> str:
    model, tokenizer = cache.model(MODEL)
    return tokenizer.decode(paths.continue_without(model, first_tokens(MODEL, pasted, TOKENS).ids, without, NEW_TOKENS))


def choose(event: Event) -> None:
    """A click on a dot: leave out the sublayers that it leaves out."""
    row = event["customdata"]
    if isinstance(row, int) and 0 <= row < 2 ** len(KEYS):
        controls.set_values(**{key: bool(row >> s & 1) for s, key in enumerate(KEYS)})


def keep(*skipped: str) -> dict[str, Any]:
    """The switches with these sublayers off."""
    return {key: key not in skipped for key in KEYS}


def read_text() -> tuple[str, int]:
    """The box for the text, and how many of its tokens are used; stops the page when there are too few."""
    pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=110)
    ids, _, total = first_tokens(MODEL, pasted, TOKENS)
    notices.tokens(total, len(ids))
    if len(ids) < 2:
        st.info("There are fewer than two tokens: type or paste a text, or press Ctrl+Z in the box.")
        fragments.stop()
    return pasted, len(ids)


def skip_blocks() -> None:
    """The panel of 2^N paths."""
    st.latex(
        r"x + f_1(x) + f_2\big(x + f_1(x)\big) + \dots\,,\quad\text{each } f \text{ taken or not: } 2^{N}\text{ paths}"
    )
    left, right = st.columns([2, 3], gap="large")
    with left:
        pasted, n = read_text()
        models.only(MODEL, "its eight sublayers make 2⁸ = 256 subsets; larger models have too many to run them all.")
        st.caption("Sublayers of the model that are kept:")
        kept: dict[str, bool] = {}
        for part, label in (("attention", "attention"), ("mlp", "feed-forward")):
            with st.container(horizontal=True, gap="small"):
                for i in range(N_LAYERS):
                    key = f"{part}{i}"
                    kept[key] = controls.toggle(f"{label} {i}", key, key not in SKIPPED)
    without = tuple(s for s, key in enumerate(KEYS) if not kept[key])
    result = all_paths(pasted)
    row, whole = result.row(without), len(result.losses) - 1
    loss, full = float(result.loss[row]), float(result.loss[whole])
    names = [f"{PARTS[name.split('.')[-1]]} {name.split('.')[1]}" for name in paths.names(N_LAYERS)]
    words = "without " + ", ".join(names[s] for s in without) if without else "with nothing left out"
    means = ", ".join(f"{result.loss[result.removed == k].mean():.2f}" for k in (1, 2, 4, 8))
    rises = paths.single_rises(result)
    least, most = rises.index(min(rises)), rises.index(max(rises))
    with right:
        figure(
            figures.paths_figure(result, row, 430),
            key="paths",
            height=430,
            min_width=340,
            on_click=choose,
            table=lambda: _table(result, names),
            alt=f"Loss of {whole + 1} ways through the model. Whole {full:.2f}; {words} {loss:.2f}; mean with "
            f"1, 2, 4, 8 sublayers left out: {means}.",
            caption=f"All 2^{len(KEYS)} = {whole + 1} ways to leave out sublayers, on {n} tokens; click a dot. "
            f"{words.capitalize()}: {loss:.2f} nats; mean with 1, 2, 4, 8 left out: {means}.",
        )
        one, two = st.columns(2)
        one.metric("Loss, whole model", f"{full:.2f}", help="nats per token")
        two.metric("Loss, your set", f"{loss:.2f}", f"{loss - full:+.2f}", delta_color="inverse")
    for title, chosen in (("Continuation of the whole model", ()), (f"Continuation {words}", without)):
        st.markdown(f"**{title}:** {text.escape(continuation(pasted, chosen))}")
    page.try_this(
        {
            "the whole model": keep(),
            "without block 2": keep("attention2", "mlp2"),
            "without the first attention": keep("attention0"),
            "only attention": keep(*KEYS[1::2]),
            "only feed-forward": keep(*KEYS[::2]),
            "no sublayer at all": keep(*KEYS),
        }
    )
    page.what_to_see(
        f"Loss increase on this text when one sublayer alone is left out: from {rises[least]:+.2f} ({names[least]}) to "
        f"{rises[most]:+.2f} nats ({names[most]}). On average it grows with the number left out; the caption has the "
        "means. In the paper's view a residual network is an ensemble of paths of different lengths, most of which do "
        "not pass through the part that is left out."
    )
    page.source(paths.doubled_streams, paths.continue_without)
    page.experiment(experiments.skipped, MODEL, pasted, TOKENS, without, NEW_TOKENS)
    st.caption("Residual Networks Behave Like Ensembles of Relatively Shallow Networks, arXiv:1605.06431, section 4.2")
    page.question(
        "Which sublayer can the model spare least, and why might it be that one?",
        f"On this text {names[most]} (the highest dot of the column at 1). All later layers were trained on a stream "
        "in which it has written. With all eight left out, the stream is the embedding alone, and the unembedding, "
        "the same table, gives a high logit to the token itself.",
    )


def _table(result: Paths, names: list[str]) -> pd.DataFrame:
    rows = pd.DataFrame({"left out": result.removed, "loss": result.loss})
    return rows.assign(**{name: [row >> s & 1 for row in range(len(rows))] for s, name in enumerate(names)})


@cache.data(max_entries=128)
def dropped(model_name: str, pasted: str, layer: int, p: float, training: bool, seed: int) -> Dropped:
    model, ids = cache.model(model_name)[0], first_tokens(model_name, pasted, TOKENS).ids
    return dropping.drop(model, ids, f"blocks.{layer}.mlp_out", p, training, seed)


passes = cache.data(max_entries=64)(dropping.two_passes)


def dropout() -> None:
    """The panel of dropout."""
    st.latex(
        r"y_i = \frac{m_i\, x_i}{1 - p}, \quad m_i = 1 \text{ with probability } 1 - p \text{, else } 0, \qquad "
        r"\mathbb E[y_i] = x_i"
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        p = controls.slider("Share dropped p", "p", 0.0, 0.9, 0.3, 0.05)
        training = controls.toggle("Training (off: inference)", "training", True)
        seed = controls.slider("Draw", "draw", 0, 99, 0)
        model_name = models.choose("decoder", "encoder", default=MODEL, why_not=models.attention_alone)
        n_layers = models.config(model_name).n_layers
        layer = controls.slider("Layer", "layer", 0, n_layers - 1, min(1, n_layers - 1))
    result = dropped(model_name, TEXT, layer, p, training, seed)
    n, kept = len(result.before), int(result.kept.sum())
    apart = passes(p, training)
    with left:
        st.metric(
            "Two passes differ by up to",
            f"{apart:.2g}" if apart else "0.0",
            "dropout is on" if apart else "equal to the last bit",
            delta_color="off",
            delta_arrow="off",
            help="largest difference of a score, two layers with this p",
        )
    factor = 1 / (1 - p) if training else 1.0
    measured = float(result.means.mean())
    with right:
        figure(
            figures.dropped_figure(result, 290),
            key="dropped",
            height=290,
            min_width=620,
            table=lambda: pd.DataFrame({"before": result.before, "after": result.after}),
            alt=f"Of {n} numbers {n - kept} are set to zero and the other {kept} multiplied by {factor:.3g}.",
            caption=f"What feed-forward layer {layer} of {model_name} adds for the last token of a text, {n} "
            f"numbers: {n - kept} dropped, {kept} multiplied by {factor:.3g}. Drawn: the first {figures.SHOWN}.",
        )
        figure(
            figures.means_figure(result, 290),
            key="means",
            height=290,
            min_width=340,
            table=lambda: pd.DataFrame({"mean after dropout": result.means}),
            alt=f"Mean over {dropping.DRAWS:,} draws: {measured:.4f} on average, {result.mean:.4f} before.",
            caption=f"{dropping.DRAWS:,} draws: their means average {measured:.5f} (before: {result.mean:.5f}), with "
            f"standard deviation {result.means.std():.5f}; theory says {result.spread:.5f}.",
        )
    page.try_this(
        {
            "as in 2017": {"p": 0.1, "training": True},
            "half": {"p": 0.5, "training": True},
            "nearly all": {"p": 0.9, "training": True},
            "inference": {"training": False},
            "another draw": {"draw": (seed + 1) % 100, "training": True},
        }
    )
    page.what_to_see(
        "What is dropped is drawn anew at every step of training. The rest is multiplied by 1/(1 − p), so that the "
        "mean is the same as at inference, when nothing is dropped: single draws scatter around it as the theory "
        "says. At inference dropout is the identity, and the same text gives the same numbers, bit by bit."
    )
    page.source(dropping.dropout, dropping.drop, dropping.two_passes)
    page.experiment(experiments.dropout, model_name, TEXT, TOKENS, layer, p, training, seed)
    st.caption(
        "Dropout, arXiv:1207.0580; in the Transformer on embeddings and on what each sublayer adds, with p = 0.1 "
        "(arXiv:1706.03762, section 5.4)"
    )
    page.question(
        "What would go wrong without the factor 1/(1 − p)?",
        "In training every sum would be 1 − p times as large on average as at inference, when nothing is dropped: each "
        "layer would get larger inputs than in training. The 2012 paper made up for it the other way round, with "
        "smaller weights at inference.",
    )
