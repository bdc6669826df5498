"""Panels of the page on residual connections: deep networks at initialisation, with and without the skip."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.block.probing import INITS, WIRINGS, activations, measure_all, probe, short
from pages.block.residuals import experiments as experiments
from pages.ui import controls, page
from pages.ui.components.figure import figure
from tfcore import initialise
from tfcore.analysis.block import depth
from tfcore.analysis.block.depth import Deep, Placement
from tfcore.config import Init
from tfcore.figures.block import depth as figures

ALIKE = 0.99  # mean cosine from which on tokens count as the same vector
SHOWN = ("pre-LN", "post-LN", "no skip", "no skip, no norm")
# name: (init, its standard deviation, colour role)
STARTS: dict[str, tuple[Init, float, str]] = {
    "std 1": ("normal", 1.0, "@cat1"),
    "Xavier": ("xavier", 0.02, "@cat0"),
    "std 0.02": ("normal", 0.02, "@cat2"),
    "GPT-2: 0.02, outputs / √(2N)": ("gpt2", 0.02, "@cat3"),
}
NETWORKS: dict[str, tuple[Placement, bool]] = {
    "pre-LN": ("pre", True),
    "no norm": ("none", True),
    "no skip, no norm": ("none", False),
}


def depths(deepest: int) -> list[int]:
    """1, 2, 4, ... and the deepest."""
    return sorted({*(2**i for i in range(deepest.bit_length())), deepest})


def networks(name: str, layers: list[int], init: Init) -> list[Deep]:
    placement, skip, _ = WIRINGS[name]
    return [Deep(n_layers=n, placement=placement, skip=skip, init=init) for n in layers]


def gradients() -> None:
    """The panel of gradients against depth, and of one depth layer by layer."""
    st.latex(
        r"x_L = x_0 + \sum_{l} f_l(x_l) \quad\Rightarrow\quad \frac{\partial \mathcal L}{\partial x_0} = "
        r"\frac{\partial \mathcal L}{\partial x_L}\Big(1 + \frac{\partial}{\partial x_0}\sum_{l} f_l(x_l)\Big)"
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        deepest = controls.slider("Layers of the deepest network", "layers", 1, depth.DEEPEST, depth.DEEPEST)
        init = controls.select("Initial weights", "init", list(INITS), "xavier", INITS)
        counts = depths(deepest)
        every = measure_all(probe, [network for name in SHOWN for network in networks(name, counts, init)])
    found = {name: every[i * len(counts) : (i + 1) * len(counts)] for i, name in enumerate(SHOWN)}
    first = {name: np.array([result.gradient[0] for result in found[name]]) for name in SHOWN}
    with left:
        for name, label in (("pre-LN", "First layer's gradient, pre-LN"), (SHOWN[-1], "no skip, no norm")):
            st.metric(label, short(first[name][-1]))
    words = "; ".join(f"{name} {short(first[name][-1])}" for name in SHOWN)
    lines = [figures.Line(name, WIRINGS[name][2], np.array(counts), first[name]) for name in SHOWN]
    with right:
        figure(
            figures.curves_figure(
                lines,
                x_title="layers of the network",
                y_title="gradient of the first layer",
                height=360,
                log_x=True,
                limits=figures.SMALLEST,
            ),
            key="first",
            height=360,
            min_width=460,
            table=lambda: pd.DataFrame({"layers": counts} | first),
            alt=f"Gradient norm at the first layer against depth. With {deepest} layers: {words}.",
            caption=f"Norm of ∂loss/∂W₂ in the first layer of {len(counts) * len(SHOWN)} networks, each built with "
            f"{counts[0]} to {deepest} layers. At {deepest}: {words}.",
        )
    page.try_this(
        {
            "six layers": {"layers": 6},
            "64 layers": {"layers": 64, "init": "xavier"},
            "small weights": {"layers": 32, "init": "normal"},
            "GPT-2's weights": {"layers": 32, "init": "gpt2"},
        }
    )
    last = {name: found[name][-1] for name in SHOWN}
    alike = "; ".join(f"{name} {_when_alike(result)}" for name, result in last.items())
    columns = {name: _inside(name, result, deepest) for name, result in last.items()}
    st.subheader(f"Inside the networks of {deepest} layers", anchor=False)
    figure(
        figures.panels_figure(columns, ("gradient", "activation", "likeness"), 500),
        key="inside",
        height=500,
        min_width=640,
        table=lambda: pd.DataFrame(
            {f"{name}, {line.name}": pd.Series(line.y) for name, pair in columns.items() for line in pair}
        ),
        alt=f"Gradient norm, size of the stream and likeness of the tokens in each of {deepest} layers. All tokens "
        f"alike (mean cosine above {ALIKE}): {alike}.",
        caption=f"Gradient of each layer; size (root mean square) of the stream after it; likeness: mean cosine "
        f"between two tokens of a text. All tokens alike (above {ALIKE}): {alike}.",
    )
    page.what_to_see(
        f"Gradient of the first layer at {deepest} layers: {words}. The residual connection is the 1 in the bracket: a "
        "way back to the first layer without any factor. Without it, whether the gradient vanishes depends on the norm "
        "and on the initial weights: choose others. The lowest row shows rank collapse: without residual connections "
        f"attention makes all tokens the same vector (arXiv:2103.03404); here {alike}."
    )
    page.source(depth.residual, depth.run, depth.probe)
    page.experiment(experiments.gradients, counts, init)
    st.caption("Deep Residual Learning, arXiv:1512.03385; Identity Mappings, arXiv:1603.05027, equations 4 and 5")
    page.question(
        "Post-LN has skips as well, but a norm sits on the stream after every sum. Is the path still free?",
        "Not quite: each norm divides the gradient by the size of the sum, so the 1 becomes a product of such factors "
        "(arXiv:2002.04745). What post-LN's warm-up is for is the large gradient of the last layers, which the page on "
        "normalisation shows.",
    )


def _inside(name: str, result: depth.Probe, n_layers: int) -> list[figures.Line]:
    """Gradient, activation and likeness of one network, layer by layer."""
    colour = WIRINGS[name][2]
    return [
        figures.Line("gradient", colour, np.arange(1, n_layers + 1), result.gradient),
        figures.Line("activation", colour, np.arange(n_layers + 1), result.activation),
        figures.Line("likeness", colour, np.arange(n_layers + 1), result.alike),
    ]


def _when_alike(result: depth.Probe) -> str:
    """From which layer on all tokens are as good as the same vector."""
    alike = np.flatnonzero(result.alike > ALIKE)
    return f"from layer {alike[0]}" if len(alike) else "never"


def initial_weights() -> None:
    """The panel of activations by depth, for each way to draw the first weights."""
    st.latex(
        r"W \sim \mathcal N(0, \sigma^2), \qquad \text{Xavier: } \sigma^2 = \tfrac{2}{d_{in} + d_{out}}, \qquad "
        r"\text{GPT-2: outputs } \sigma = \tfrac{0.02}{\sqrt{2N}}"
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        n_layers = controls.slider("Layers N", "layers", 1, depth.DEEPEST, 48)
        name = controls.select("Network", "network", list(NETWORKS), "pre-LN")
        placement, skip = NETWORKS[name]
        starts = [
            Deep(n_layers=n_layers, placement=placement, skip=skip, init=init, init_std=std)
            for init, std, _ in STARTS.values()
        ]
        found = dict(zip(STARTS, measure_all(activations, starts), strict=True))
        growth = {start: float(values[-1] / values[0]) for start, values in found.items()}
        for start in ("std 0.02", list(STARTS)[-1]):
            st.metric(f"Growth, {start.partition(':')[0]}", f"× {short(growth[start])}", help="last size / first size")
    words = ", ".join(f"{start.partition(':')[0]} {short(values[-1])}" for start, values in found.items())
    lines = [figures.Line(start, STARTS[start][2], np.arange(n_layers + 1), values) for start, values in found.items()]
    with right:
        figure(
            figures.curves_figure(
                lines,
                x_title="after layer",
                y_title="std of the stream",
                height=400,
                limits=(*figures.LARGEST, *figures.SMALLEST),
            ),
            key="starts",
            height=400,
            min_width=460,
            table=lambda: pd.DataFrame({"after layer": lines[0].x} | found),
            alt=f"Standard deviation of the activations after each of {n_layers} layers; after the last: {words}.",
            caption=f"Standard deviation (about zero) of the stream of {n_layers} layers, {name}, width "
            f"{depth.D_MODEL}. After the last layer: {words}.",
        )
    page.try_this(
        {
            "12 layers": {"layers": 12, "network": "pre-LN"},
            "64 layers": {"layers": 64, "network": "pre-LN"},
            "without norms": {"layers": 24, "network": "no norm"},
            "no norm, no skip": {"layers": 12, "network": "no skip, no norm"},
        }
    )
    page.what_to_see(
        "Under pre-LN each sublayer adds a vector of about the same size, independent of the others, so the variance "
        "grows by the same amount each time and the stream with the root of the depth. GPT-2 divides the matrices "
        "that write to the stream by √(2N), since there are 2N of them: the sum then grows by the same factor "
        "at any depth (move the depth and compare the two numbers at the left). Without norms the size of each "
        "addition depends on the size of the stream, which then grows or shrinks exponentially with depth."
    )
    page.source(initialise.initialise, depth.activations)
    ways = {start: (init, std) for start, (init, std, _) in STARTS.items()}
    page.experiment(experiments.starts, n_layers, placement, skip, ways)
    st.caption("Glorot and Bengio 2010, equation 16; GPT-2 report (Radford et al. 2019), section 2.3")
    page.question(
        "Why 1/√(2N), and not 1/√N or 1/(2N)?",
        "N blocks write twice each: 2N independent vectors, whose variances add up. For the sum to have the variance "
        "of one, each variance must be divided by 2N, so each standard deviation by √(2N). With 1/(2N) the sum "
        "would have a variance of 1/(2N).",
    )
