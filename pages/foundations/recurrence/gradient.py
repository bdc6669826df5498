"""A panel of the page on recurrence: how much of the gradient at the output arrives at the token d steps back."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.foundations.recurrence import experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.foundations.recurrence import network_findings
from tfcore.training.recurrent import gradients
from tfcore.training.recurrent.gradients import Arriving, GradientConfig
from tfcore.training.recurrent.networks import KINDS, NAMES, NetworkConfig
from tfcore.training.recurrent.real_model import kept_real_gradient

HEIGHT = 420
LENGTHS = (32, 64, 128)
WEIGHTS: dict[Any, str] = {
    "start": "at initialisation",
    "copy": "trained to copy",
    "recall": "trained to recall one letter",
    "characters": "trained on a text",
}
TRY: dict[str, dict[str, Any]] = {
    "an LSTM that keeps": {"weights": "start", "forget_bias": 4.0},
    "an LSTM that forgets": {"weights": "start", "forget_bias": -1.0},
    "larger recurrent weights": {"weights": "start", "gain": 2.2},
    "an exploding gradient": {"weights": "start", "gain": 4.0},
    "after training on a text": {"weights": "characters"},
}

arriving = cache.data(max_entries=128)(gradients.arriving_in)


def table(found: tuple[Arriving, ...]) -> pd.DataFrame:
    """Every curve, by distance."""
    first, *_ = found
    columns: dict[str, Any] = {"distance": range(len(first.measured))}
    for one in found:
        columns |= {NAMES[one.kind]: one.measured}
        columns |= {} if one.product is None else {f"{NAMES[one.kind]}, product of Jacobians": one.product}
        columns |= {} if one.cell is None else {f"{NAMES[one.kind]}, cell state alone": one.cell}
    return pd.DataFrame(columns)


def panel() -> None:
    """The three networks at initialisation, or after a training."""
    page.try_this(TRY)
    left, right = st.columns([1, 3], gap="large")
    with left:
        weights = controls.select("Weights", "weights", list(WEIGHTS), "start", WEIGHTS)
        if weights == "start":
            config = choose()
            found = tuple(arriving(gradients.relevant(config, kind), kind) for kind in KINDS)
            begun, sizes = made(gradients.arriving_at_start, config), config.networks
        else:
            found, begun = experiments.trained_gradients(weights), made(experiments.trained_gradients, weights)
            sizes = GradientConfig().networks
    shown = experiments.gradients(found, HEIGHT)
    with right:
        figure(
            shown.figure,
            key="gradient",
            height=HEIGHT,
            min_width=340,
            table=lambda: table(found),
            alt=shown.alt,
            caption=shown.caption,
        )
    words(begun, sizes)


def choose() -> GradientConfig:
    """How the weights begin."""
    gain = controls.slider("RNN: recurrent weights ×", "gain", 0.4, 4.0, 1.0, 0.2, format="%.1f")
    bias = controls.slider("LSTM: bias of the forget gates", "forget_bias", -2.0, 6.0, 1.0, 0.5, format="%.1f")
    with page.more_settings():
        seq = controls.stops("Tokens", "seq", LENGTHS, 64)
        seed = controls.slider("Seed of weights and tokens", "seed", 0, 20, 0)
    return GradientConfig(seq=seq, gain=gain, forget_bias=bias, seed=seed)


def words(begun: Any, sizes: NetworkConfig) -> None:
    """What to see, the question, the drawer."""
    real = kept_real_gradient()
    page.what_to_see(
        "Training can only strengthen what a gradient reaches. In the **RNN** the way back from the output to a token "
        "*d* steps earlier is a product of *d* matrices, each $\\mathrm{diag}(1 - h^2)\\,W_h$: it shrinks, or "
        "explodes, by about the same factor per step, a straight line on this axis. The open marks are that product, "
        "multiplied out without autograd. The **LSTM** adds a cell state whose own factor per step is the forget gate "
        "(thin dotted line): with a gate near 1 the line is nearly level. In the **Transformer** the way from any "
        "token to the output is as long as there are layers, whatever the distance; in SmolLM2, a real model of 30 "
        "layers, it falls little. Compare slopes, not heights: these depend on how large each network's embeddings "
        "begin."
    )
    page.question(
        "Make the RNN's recurrent weights larger until its line no longer falls. Is the problem solved?",
        "No: there is one value at which it is level, and it depends on the tokens and changes with every step of "
        "training. A little above it the gradient grows from step to step instead (exploding gradients, against which "
        "its norm is clipped). An LSTM's forget gate is a number per unit between 0 and 1 that is learned.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.gradients, begun, HEIGHT),
        formula=(
            r"\begin{gathered} h_t = \tanh(W_x x_t + W_h h_{t-1} + b) \qquad "
            r"\frac{\partial h_t}{\partial h_{t-d}} = \prod_{k=0}^{d-1} "
            r"\mathrm{diag}\big(1 - h_{t-k}^2\big)\, W_h \\"
            r"c_t = f_t \odot c_{t-1} + i_t \odot g_t \qquad h_t = o_t \odot \tanh(c_t) \qquad "
            r"\left.\frac{\partial c_t}{\partial c_{t-d}}\right|_{\text{cell state alone}} = "
            r"\prod_{k=0}^{d-1} \mathrm{diag}(f_{t-k}) \end{gathered}"
        ),
        code=(gradients.rnn_steps_back, gradients.lstm_steps_back, gradients.embedding_gradients),
        papers=(
            "The product of Jacobians, and when it vanishes: arXiv:1211.5063, equation 5 and section 2.1. LSTM: "
            "Hochreiter and Schmidhuber, Neural Computation 9(8), 1997; the forget gate and its bias: Gers, "
            "Schmidhuber and Cummins, Neural Computation 12(10), 2000. Networks: one layer of torch.nn.RNN, one of "
            "torch.nn.LSTM, and a Transformer of 2 layers of 4 heads. Rows: random letters of which one is marked and "
            f"asked for at the end; norms are means over {gradients.ROWS} rows, of the gradient in the embedding, "
            "for a gradient of the cross-entropy that is brought to norm 1 at the logits; float64. "
            f"{network_findings.equal_sizes(sizes)} SmolLM2: {real.windows} windows of {len(real.measured)} tokens of "
            "the four standard texts of the page on heads, float32, measured once: "
            "`python -m tfcore.training recurrence`."
        ),
        terms=("recurrent neural network", "LSTM", "vanishing gradient"),
    )
