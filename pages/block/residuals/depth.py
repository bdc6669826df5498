"""Panels of the page on residual connections: deep networks at initialisation, with and without the skip."""

import pandas as pd
import streamlit as st

from pages.block.probing import measure_all, stream_sizes
from pages.block.residuals import experiments
from pages.ui import controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore import initialise
from tfcore.analysis.block.depth_findings import first_gradients, rank_collapse, stream_growth
from tfcore.measures import deep_networks as depth
from tfcore.measures.deep_networks import COMPARED, INIT_NAMES, networks, powers_of_two, start_networks
from tfcore.views.block.normalisation.measure.depths import probe_of

NETWORKS = ("pre-LN", "no norm", "no skip, no norm")


def gradients() -> None:
    """The panel of gradients against depth, and of one depth layer by layer."""
    page.try_this(
        {
            "six layers": {"layers": 6},
            "64 layers": {"layers": 64, "init": "xavier"},
            "small weights": {"layers": 32, "init": "normal"},
            "GPT-2's weights": {"layers": 32, "init": "gpt2"},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        deepest = controls.slider("Layers of the deepest network", "layers", 1, depth.DEEPEST, depth.DEEPEST)
        init = controls.select("Initial weights", "init", list(INIT_NAMES), "xavier", INIT_NAMES)
        counts = powers_of_two(deepest)
        every = measure_all(probe_of, [network for name in COMPARED for network in networks(name, counts, init)])
    probes = {name: every[i * len(counts) : (i + 1) * len(counts)] for i, name in enumerate(COMPARED)}
    first = first_gradients(probes)
    with left:
        for name, label in (("pre-LN", "First layer's gradient, pre-LN"), ("no skip, no norm", "no skip, no norm")):
            st.metric(label, first.number(name))
    with right:
        shown = experiments.gradients(probes)
        figure(
            shown.figure,
            key="first",
            height=360,
            min_width=350,
            table=lambda: pd.DataFrame(
                {"layers": counts} | {name: [one.gradient[0] for one in found] for name, found in probes.items()}
            ),
            alt=shown.alt,
            caption=shown.caption,
        )
    last = {name: found[-1] for name, found in probes.items()}
    st.subheader(f"Inside the networks of {deepest} layers", anchor=False)
    shown = experiments.layer_by_layer(last)
    figure(
        shown.figure,
        key="inside",
        height=500,
        min_width=640,
        table=lambda: inside(last),
        alt=f"Gradient norm, size of the stream and likeness of the tokens in each of {deepest} layers. {shown.alt}",
        caption="Gradient of each layer; size (root mean square) of the stream after it; likeness: mean cosine "
        f"between two tokens of a text. {shown.caption}",
    )
    page.what_to_see(
        f"{first.at_the_deepest} The residual connection is the 1 in the bracket: a "
        "way back to the first layer without any factor. Without it, whether the gradient vanishes depends on the norm "
        "and on the initial weights: choose others. The lowest row shows rank collapse: without residual connections "
        f"attention makes all tokens the same vector (arXiv:2103.03404); here {rank_collapse(last).listed}."
    )
    page.question(
        "Post-LN has skips as well, but a norm sits on the stream after every sum. Is the path still free?",
        "Not quite: each norm divides the gradient by the size of the sum, so the 1 becomes a product of such factors "
        "(arXiv:2002.04745). What post-LN's warm-up is for is the large gradient of the last layers, which the page on "
        "normalisation shows.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.gradients, made(depth.probe_depths, counts, init)),
        formula=(
            r"x_L = x_0 + \sum_{l} f_l(x_l) \quad\Rightarrow\quad \frac{\partial \mathcal L}{\partial x_0} = "
            r"\frac{\partial \mathcal L}{\partial x_L}\Big(1 + \frac{\partial}{\partial x_0}\sum_{l} f_l(x_l)\Big)"
        ),
        code=(depth.residual_sublayer, depth.run_deep, depth.probe),
        papers="Deep Residual Learning, arXiv:1512.03385; Identity Mappings, arXiv:1603.05027, equations 4 and 5",
    )


def inside(probes: dict[str, depth.DepthProbe]) -> pd.DataFrame:
    """The curves of every network as columns."""
    return pd.DataFrame(
        {
            f"{name}, {what}": pd.Series(values)
            for name, probed in probes.items()
            for what, values in (
                ("gradient", probed.gradient),
                ("activation", probed.activation),
                ("likeness", probed.alike),
            )
        }
    )


def initial_weights() -> None:
    """The panel of activations by depth, for each way to draw the first weights."""
    page.try_this(
        {
            "12 layers": {"layers": 12, "network": "pre-LN"},
            "64 layers": {"layers": 64, "network": "pre-LN"},
            "without norms": {"layers": 24, "network": "no norm"},
            "no norm, no skip": {"layers": 12, "network": "no skip, no norm"},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        n_layers = controls.slider("Layers N", "layers", 1, depth.DEEPEST, 48)
        wiring = controls.select("Network", "network", list(NETWORKS), "pre-LN")
        built = start_networks(n_layers, wiring)
        sizes = dict(zip(built, measure_all(stream_sizes, list(built.values())), strict=True))
        found = stream_growth(sizes, wiring)
        for start in ("std 0.02", "GPT-2: 0.02, outputs / √(2N)"):
            st.metric(f"Growth, {start.partition(':')[0]}", found.growth(start), help="last size / first size")
    with right:
        shown = experiments.starts(sizes, wiring)
        figure(
            shown.figure,
            key="starts",
            height=400,
            min_width=350,
            table=lambda: pd.DataFrame({"after layer": range(n_layers + 1)} | sizes),
            alt=shown.alt,
            caption=shown.caption,
        )
    page.what_to_see(
        "Under pre-LN each sublayer adds a vector of about the same size, independent of the others, so the variance "
        "grows by the same amount each time and the stream with the root of the depth. GPT-2 divides the matrices "
        "that write to the stream by √(2N), since there are 2N of them: the sum then grows by the same factor "
        "at any depth (move the depth and compare the two numbers at the left). Without norms the size of each "
        "addition depends on the size of the stream, which then grows or shrinks exponentially with depth."
    )
    page.question(
        "Why 1/√(2N), and not 1/√N or 1/(2N)?",
        "N blocks write twice each: 2N independent vectors, whose variances add up. For the sum to have the variance "
        "of one, each variance must be divided by 2N, so each standard deviation by √(2N). With 1/(2N) the sum "
        "would have a variance of 1/(2N).",
    )
    page.how_it_is_computed(
        page.experiment(experiments.starts, made(depth.start_sizes, n_layers, wiring), wiring),
        formula=(
            r"W \sim \mathcal N(0, \sigma^2), \qquad \text{Xavier: } \sigma^2 = \tfrac{2}{d_{in} + d_{out}}, \qquad "
            r"\text{GPT-2: outputs } \sigma = \tfrac{0.02}{\sqrt{2N}}"
        ),
        code=(initialise.initialise, depth.stream_sizes),
        papers="Glorot and Bengio 2010, equation 16; GPT-2 report (Radford et al. 2019), section 2.3",
    )
