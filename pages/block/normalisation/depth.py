"""Panels of the page on normalisation: where the norm stands, in real networks, and the first steps of training."""

import pandas as pd
import streamlit as st

from pages.block.normalisation import experiments
from pages.block.probing import measure_all, probe
from pages.ui import controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import jobs, live
from tfcore.analysis.block import depth
from tfcore.analysis.block.depth import INIT_NAMES, PLACEMENTS, networks
from tfcore.analysis.block.depth_findings import GradientFall, gradient_fall, last_gradients
from tfcore.analysis.block.normalisation import NORM_NAMES
from tfcore.config import Init, Norm

RATES = [0.001, 0.003, 0.006, 0.01]
DEEPEST_TRAINED = 32


def placements() -> None:
    """The panel of gradients and activations by layer, for each placement."""
    page.try_this(
        {
            "the paper's six layers": {"layers": 6, "init": "xavier"},
            "64 layers": {"layers": 64, "init": "xavier"},
            "GPT-2's weights": {"layers": 24, "init": "gpt2"},
            "small weights": {"layers": 24, "init": "normal"},
            "RMSNorm": {"norm": "rmsnorm"},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        n_layers = controls.slider("Layers", "layers", 1, depth.DEEPEST, 24)
        init = controls.select("Initial weights", "init", list(INIT_NAMES), "xavier", INIT_NAMES)
        norm = controls.segmented("Norm", "norm", list(NORM_NAMES), "layernorm", NORM_NAMES)
        every = [network for name in PLACEMENTS for network in networks(name, [n_layers], init, norm)]
        probes = dict(zip(PLACEMENTS, measure_all(probe, every), strict=True))
        last = last_gradients(probes)
        st.metric("Last layer, post-LN", last.post_norm, help="by theory the same at every depth")
        st.metric(
            "Last layer, pre-LN, · √layers", last.scaled_pre_norm, help="by theory of the same order at every depth"
        )
    with right:
        shown = experiments.placements(probes)
        figure(
            shown.figure,
            key="gradients",
            height=330,
            min_width=340,
            table=lambda: pd.DataFrame(
                {"layer": range(1, n_layers + 1)} | {name: probed.gradient for name, probed in probes.items()}
            ),
            alt=shown.alt,
            caption=shown.caption,
        )
        shown = experiments.sizes(probes)
        figure(
            shown.figure,
            key="sizes",
            height=300,
            min_width=340,
            table=lambda: pd.DataFrame(
                {"after layer": range(n_layers + 1)} | {name: probed.activation for name, probed in probes.items()}
            ),
            alt=shown.alt,
            caption=shown.caption,
        )
    page.what_to_see(
        f"{by_depth(norm, init)} The paper's theorem explains with it why post-LN needs warm-up. With pre-LN "
        "each sublayer adds to the residual stream, which grows with depth, hardly with GPT-2's initial weights; "
        "post-LN normalises it each time. Without any norm all depends on the initial weights: with Xavier's the "
        "stream of a deep network grows by orders of magnitude."
    )
    page.question(
        "Pre-LN puts one more norm after the last block, post-LN does not. Why?",
        "With post-LN, each block ends with a norm, so the stream leaves at size 1. With pre-LN, nothing ever "
        "normalises the stream itself; see how large it is after the last layer. The final norm brings it to the size "
        "that the unembedding can work with. Without it, the logits would grow with depth.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.placements, made(depth.probe_placements, n_layers, init, norm)),
        formula=(
            r"\text{pre: } x + f(\mathrm{LN}(x)) \qquad \text{post: } \mathrm{LN}(x + f(x)) \qquad "
            r"\text{sandwich: } x + \mathrm{LN}(f(\mathrm{LN}(x))) \qquad \text{none: } x + f(x)"
        ),
        code=(depth.residual_sublayer, depth.probe),
        papers="On Layer Normalization in the Transformer Architecture, theorem 1 and figure 3, arXiv:2002.04745",
        terms=("pre-LN", "post-LN", "warm-up"),
    )


def by_depth(norm: Norm, init: Init) -> GradientFall:
    """How the last layer's gradient changes from the shallowest network to the deepest, post-LN and pre-LN."""
    pairs = {}
    for name in ("post-LN", "pre-LN"):
        shallow, deep = measure_all(probe, networks(name, [1, depth.DEEPEST], init, norm))
        pairs[name] = (shallow, deep)
    return gradient_fall(pairs, norm, init)


def first_steps() -> None:
    """The panel of the first training steps."""
    tries = st.container()
    left, right = st.columns([1, 3], gap="medium")
    with left:
        n_layers = controls.slider(
            "Layers", "deep", 2, DEEPEST_TRAINED, 8, 2, help=f"{DEEPEST_TRAINED} at most: all four are trained now."
        )
        peak = controls.select("Learning rate", "rate", RATES, 0.006, {r: f"{r:g}" for r in RATES})
        warm = controls.slider("Warm-up: steps to reach it", "warmup", 5, depth.RUN_STEPS, 40, 5)
        with page.more_settings():
            seed = controls.slider("Seed of weights and data", "seed", 0, 9, 0)
        beside = st.container()
    key = ("first steps", n_layers, peak, warm, seed)
    job = live.begin(key, lambda: depth.first_steps(n_layers, peak, warm, seed))

    def draw(job: jobs.Job) -> None:
        with beside:
            live.bar(key, job, len(job.items), depth.RUN_STEPS, {"seed": controls.next_seed(seed, 9)})
        with right:
            curves(n_layers, list(job.items))

    live.watch(key, draw, job)
    with tries:
        page.try_this(
            {
                "shallow": {"deep": 2, "rate": 0.006},
                "deeper": {"deep": 16, "rate": 0.006},
                "a smaller learning rate": {"deep": 8, "rate": 0.001},
                "another seed": {"seed": controls.next_seed(seed, 9)},
                "a short warm-up": {"deep": 8, "rate": 0.006, "warmup": 10},
            }
        )
    page.what_to_see(
        "Compare for each placement the curve with warm-up and the one without: the caption has their losses, and says "
        "which networks have begun to learn. Move the layers, the learning rate and the warm-up: what post-LN needs "
        "depends on all three. Each curve is one run with one seed; try another."
    )
    losses = made(depth.all_first_steps, n_layers, peak, warm, seed)
    st.caption(
        "arXiv:2002.04745, section 3. Adam as in arXiv:1706.03762, without its inverse-root decay. Task: repeat the "
        f"previous token, {depth.RUN_VOCAB} tokens, {depth.RUN_ROWS} sequences of {depth.RUN_SEQ} per step, width "
        f"{depth.D_MODEL}."
    )
    page.question(
        "GPT-2, LLaMA and nearly all large models since are pre-LN. What did that change about training?",
        "Its first steps should depend less on depth (arXiv:2002.04745): compare pre-LN at 2 and at 16 layers with "
        "post-LN at the same learning rate. Large models are still trained with warm-up, because Adam's averages are "
        "poor at first (arXiv:1908.03265).",
    )
    page.how_it_is_computed(
        page.experiment(experiments.first_steps, losses, n_layers),
        formula=r"\eta_t = \eta_{max} \cdot \min\!\left(1,\ \tfrac{t}{t_{warm}}\right)",
        code=(depth.first_losses, depth.learning_rate, depth.residual_sublayer),
    )


def curves(n_layers: int, losses: list[dict[str, float]]) -> None:
    """The losses of all networks so far."""
    shown = experiments.first_steps(losses, n_layers)
    figure(
        shown.figure,
        key="race",
        height=380,
        min_width=580,
        table=lambda: pd.DataFrame(losses),
        alt=shown.alt,
        caption=shown.caption,
    )
