"""Panels of the page on normalisation: where the norm stands, in real networks, and the first steps of training."""

import math

import numpy as np
import pandas as pd
import streamlit as st

from pages.block.normalisation import experiments as experiments
from pages.block.probing import INITS, WIRINGS, measure_all, probe, short
from pages.ui import controls, page
from pages.ui.components.figure import figure
from pages.ui.work import jobs, live
from tfcore.analysis.block import depth
from tfcore.analysis.block import first_steps as training
from tfcore.analysis.block.depth import Deep, Placement
from tfcore.config import Init, Norm
from tfcore.figures.block import depth as figures

NORMS: dict[Norm, str] = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}
PLACEMENTS = [name for name, (_, skip, _) in WIRINGS.items() if skip]
RATES = [0.001, 0.003, 0.006, 0.01]
DEEPEST_TRAINED = 32


def placements() -> None:
    """The panel of gradients and activations by layer, for each placement."""
    st.latex(
        r"\text{pre: } x + f(\mathrm{LN}(x)) \qquad \text{post: } \mathrm{LN}(x + f(x)) \qquad "
        r"\text{sandwich: } x + \mathrm{LN}(f(\mathrm{LN}(x))) \qquad \text{none: } x + f(x)"
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        n_layers = controls.slider("Layers", "layers", 1, depth.DEEPEST, 24)
        init = controls.select("Initial weights", "init", list(INITS), "xavier", INITS)
        norm = controls.segmented("Norm", "norm", list(NORMS), "layernorm", NORMS)
        networks = [Deep(n_layers=n_layers, placement=WIRINGS[name][0], norm=norm, init=init) for name in PLACEMENTS]
        found = dict(zip(PLACEMENTS, measure_all(probe, networks), strict=True))
        last = {name: float(result.gradient[-1]) for name, result in found.items()}
        st.metric("Last layer, post-LN", f"{last['post-LN']:.3f}", help="by theory the same at every depth")
        st.metric(
            "Last layer, pre-LN, · √layers",
            f"{last['pre-LN'] * math.sqrt(n_layers):.3f}",
            help="by theory of the same order at every depth",
        )
    layers, places = np.arange(1, n_layers + 1), np.arange(n_layers + 1)
    with right:
        words = ", ".join(f"{name} {short(value)}" for name, value in last.items())
        lines = [figures.Line(name, WIRINGS[name][2], layers, result.gradient) for name, result in found.items()]
        figure(
            figures.curves_figure(lines, x_title="layer", y_title="gradient of W₂", height=330, limits=figures.LARGEST),
            key="gradients",
            height=330,
            min_width=340,
            table=lambda: by_layer(lines, "layer"),
            alt=f"Gradient norm in each of {n_layers} layers at initialisation; in the last layer: {words}.",
            caption=f"Norm of ∂loss/∂W₂ (the feed-forward layer's second matrix) in each of {n_layers} layers before "
            f"training. Last layer: {words}.",
        )
        sizes = ", ".join(f"{name} {short(result.activation[-1])}" for name, result in found.items())
        sized = [figures.Line(name, WIRINGS[name][2], places, result.activation) for name, result in found.items()]
        figure(
            figures.curves_figure(
                sized, x_title="after layer", y_title="size of the stream", height=300, limits=figures.LARGEST
            ),
            key="sizes",
            height=300,
            min_width=340,
            table=lambda: by_layer(sized, "after layer"),
            alt=f"Root mean square of the residual stream after each layer; after the last: {sizes}.",
            caption=f"Root mean square of the residual stream. After the last layer: {sizes}.",
        )
    page.try_this(
        {
            "the paper's six layers": {"layers": 6, "init": "xavier"},
            "64 layers": {"layers": 64, "init": "xavier"},
            "GPT-2's weights": {"layers": 24, "init": "gpt2"},
            "small weights": {"layers": 24, "init": "normal"},
            "RMSNorm": {"norm": "rmsnorm"},
        }
    )
    page.what_to_see(
        f"{_by_depth(norm, init)} The paper's theorem explains with it why post-LN needs warm-up. With pre-LN the "
        "residual stream grows layer by layer, since each sublayer adds to it; post-LN normalises it each time. "
        "Without any norm all depends on the initial weights: with Xavier's the stream grows by orders of magnitude."
    )
    page.terms("pre-LN", "post-LN", "warm-up")
    page.source(depth.residual, depth.probe)
    page.experiment(experiments.placements, n_layers, init, norm)
    st.caption("On Layer Normalization in the Transformer Architecture, theorem 1 and figure 3, arXiv:2002.04745")
    page.question(
        "Pre-LN puts one more norm after the last block, post-LN does not. Why?",
        "With post-LN, each block ends with a norm, so the stream leaves at size 1. With pre-LN, nothing ever "
        "normalises the stream itself; see how large it is after the last layer. The final norm brings it to the size "
        "that the unembedding can work with. Without it, the logits would grow with depth.",
    )


def _by_depth(norm: Norm, init: Init) -> str:
    """How the last layer's gradient changes from the shallowest network to the deepest, pre-LN and post-LN."""
    said = []
    for name in ("post-LN", "pre-LN"):
        pair = [Deep(n_layers=n, placement=WIRINGS[name][0], norm=norm, init=init) for n in (1, depth.DEEPEST)]
        falls, root = depth.fall(*measure_all(probe, pair))
        said.append(f"{falls:.1f} times smaller with {name}")
    return (
        f"From 1 layer to {depth.DEEPEST} the last layer's gradient becomes {' and '.join(said)} ({NORMS[norm]}, "
        f"{INITS[init]}); the root of the depth would be {root:.0f} times."
    )


def by_layer(lines: list[figures.Line], index: str) -> pd.DataFrame:
    """The curves as columns."""
    return pd.DataFrame({index: lines[0].x} | {line.name: line.y for line in lines})


def network(n_layers: int, placement: Placement) -> Deep:
    return Deep(n_layers=n_layers, placement=placement, vocab_size=training.VOCAB)


def first_steps() -> None:
    """The panel of the first training steps."""
    st.latex(r"\eta_t = \eta_{max} \cdot \min\!\left(1,\ \tfrac{t}{t_{warm}}\right)")
    left, right = st.columns([1, 3], gap="medium")
    with left:
        n_layers = controls.slider(
            "Layers", "deep", 2, DEEPEST_TRAINED, 8, 2, help=f"{DEEPEST_TRAINED} at most: all four are trained now."
        )
        peak = controls.select("Learning rate", "rate", RATES, 0.006, {r: f"{r:g}" for r in RATES})
        warmup = controls.slider("Warm-up: steps to reach it", "warmup", 5, training.STEPS, 40, 5)
        seed = controls.slider("Seed of weights and data", "seed", 0, 9, 0)
        beside = st.container()
    runs = {
        f"{name}, {'warm-up' if steps else 'none'}": (network(n_layers, WIRINGS[name][0]), steps)
        for name in PLACEMENTS
        for steps in (warmup, 0)
    }
    key = ("first steps", n_layers, peak, warmup, seed)
    job = live.begin(key, lambda: training.race(runs, peak, seed))

    def draw(job: jobs.Job) -> None:
        with beside:
            live.bar(key, job, len(job.items), training.STEPS, {"seed": (seed + 1) % 10})
        with right:
            curves(n_layers, list(job.items))

    live.watch(key, draw, job)
    page.try_this(
        {
            "shallow": {"deep": 2, "rate": 0.006},
            "deeper": {"deep": 16, "rate": 0.006},
            "a smaller learning rate": {"deep": 8, "rate": 0.001},
            "another seed": {"seed": (seed + 1) % 10},
            "a short warm-up": {"deep": 8, "rate": 0.006, "warmup": 10},
        }
    )
    page.what_to_see(
        "Compare for each placement the curve with warm-up and the one without: the caption has their losses, and says "
        "which networks have begun to learn. Move the layers, the learning rate and the warm-up: what post-LN needs "
        "depends on all three. Each curve is one run with one seed; try another."
    )
    page.source(training.first_losses, training.learning_rate, depth.residual)
    page.experiment(experiments.first_steps, n_layers, peak, warmup, seed)
    st.caption(
        "arXiv:2002.04745, section 3. Adam as in arXiv:1706.03762, without its inverse-root decay. Task: repeat the "
        f"previous token, {training.VOCAB} tokens, {training.ROWS} sequences of {training.SEQ} per step, width "
        f"{depth.D_MODEL}."
    )
    page.question(
        "GPT-2, LLaMA and nearly all large models since are pre-LN. What did that change about training?",
        "Its first steps depend less on depth: compare pre-LN at 2 and at 16 layers with post-LN at the same learning "
        "rate. Large models are still trained with warm-up, because Adam's averages are poor at first "
        "(arXiv:1908.03265).",
    )


def curves(n_layers: int, steps: list[dict[str, float]]) -> None:
    """All curves so far."""
    name_of = {name: [[step[f"{name}, {way}"] for step in steps] for way in ("warm-up", "none")] for name in PLACEMENTS}
    ends = "; ".join(
        f"{name} {_now(warm)} with warm-up and {_now(cold)} without" for name, (warm, cold) in name_of.items()
    )
    chance = training.chance_loss()
    begun = training.learned(steps, list(steps[-1])) if steps else []
    verdict = f" Below {training.LEARNED:.0%} of that of a uniform guess: {'; '.join(begun) or 'none'}."
    figure(
        figures.race_figure(
            {name: (WIRINGS[name][2], both) for name, both in name_of.items()}, training.STEPS, chance, 380
        ),
        key="race",
        height=380,
        min_width=580,
        table=lambda: pd.DataFrame(steps),
        alt=f"Loss over {len(steps)} steps of networks of {n_layers} layers; uniform guess {chance:.2f}. Now: {ends}.",
        caption=f"Loss in nats, uniform guess ln {training.VOCAB} = {chance:.2f}. Mean of the last five steps: "
        f"{ends}.{verdict}",
    )


def _now(losses: list[float]) -> str:
    return f"{np.mean(losses[-5:]):.2f}" if losses else "–"
