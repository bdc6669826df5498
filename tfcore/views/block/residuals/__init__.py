"""Residual connections: gradients by depth, sublayers left out, initial weights, and dropout."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from tfcore import initialise
from tfcore.charts.depth_curves import (
    LARGEST_NUMBERS,
    SMALLEST_NUMBERS,
    START_COLOURS,
    WIRING_COLOURS,
    Line,
    depth_figure,
)
from tfcore.config import Init
from tfcore.measures import deep_networks
from tfcore.measures.deep_networks import COMPARED, DepthProbe, networks, powers_of_two, start_networks
from tfcore.measures.one_text import last_tokens
from tfcore.views.block.normalisation.measure.depths import probe_of
from tfcore.views.block.residuals import say
from tfcore.views.block.residuals.draw.ablation import subsets_figure
from tfcore.views.block.residuals.draw.dropout import NUMBERS_DRAWN, dropout_figure, dropout_means_figure
from tfcore.views.block.residuals.draw.layers import layers_figure
from tfcore.views.block.residuals.measure import ablation, dropout
from tfcore.views.block.residuals.measure.ablation import SubsetLosses
from tfcore.views.block.residuals.measure.dropout import DropoutDraws
from tfcore.views.finding import state
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, name_of, opened
from tfcore.views.view import View, view

TOKENS = 40  # of a text, at most
NEW_TOKENS = 24  # of a continuation

stream_sizes_of = kept(deep_networks.stream_sizes, entries=512)
passes_of = kept(dropout.two_passes, entries=64)


def _ids(reading: Reading) -> list[int]:
    """The last tokens of a text."""
    model, tokenizer = opened(reading.model)
    return last_tokens(model, tokenizer, reading.text, TOKENS).ids


# ---- gradients ----


@view
def gradients(deepest: int, init: Init = "xavier") -> View:
    """How much of the gradient reaches the first layer of networks of every depth, with the skip and without.

    Args:
        deepest: layers of the deepest network.
        init: initial weights of all networks.
    """
    depths = powers_of_two(deepest)
    probes = {name: [probe_of(one) for one in networks(name, depths, init)] for name in COMPARED}
    first = {name: np.array([probed.gradient[0] for probed in networks]) for name, networks in probes.items()}
    return View(
        key="first",
        title="Gradient of the first layer",
        result=probes,
        chart=depth_figure(
            [Line(name, WIRING_COLOURS[name], np.array(depths), values) for name, values in first.items()],
            x_title="layers of the network",
            y_title="gradient of the first layer",
            height=360,
            log_x=True,
            limits=SMALLEST_NUMBERS,
        ),
        min_width=350,
        findings=(say.first_gradients(probes),),
        table=lambda: pd.DataFrame({"layers": depths} | first),
        formula=(
            r"x_L = x_0 + \sum_{l} f_l(x_l) \quad\Rightarrow\quad \frac{\partial \mathcal L}{\partial x_0} = "
            r"\frac{\partial \mathcal L}{\partial x_L}\Big(1 + \frac{\partial}{\partial x_0}\sum_{l} f_l(x_l)\Big)"
        ),
        papers="Deep Residual Learning, arXiv:1512.03385; Identity Mappings, arXiv:1603.05027, equations 4 and 5",
        code=(deep_networks.residual_sublayer, deep_networks.run_deep, deep_networks.probe),
    )


@view
def layer_by_layer(n_layers: int, init: Init = "xavier") -> View:
    """Gradient, size of the stream and likeness of the tokens in each layer, with the skip and without.

    Args:
        n_layers: of each network.
        init: initial weights of all networks.
    """
    probes = {name: probe_of(one) for name in COMPARED for one in networks(name, [n_layers], init)}
    layers, places = np.arange(1, n_layers + 1), np.arange(n_layers + 1)
    columns = {
        name: [
            Line("gradient", WIRING_COLOURS[name], layers, probed.gradient),
            Line("activation", WIRING_COLOURS[name], places, probed.activation),
            Line("likeness", WIRING_COLOURS[name], places, probed.alike),
        ]
        for name, probed in probes.items()
    }
    collapse = say.rank_collapse(probes)
    return View(
        key="inside",
        title="Layer by layer",
        result=probes,
        chart=layers_figure(columns, ("gradient", "activation", "likeness"), height=500),
        min_width=640,
        findings=(
            state(
                "layer by layer",
                "Gradient of each layer; size (root mean square) of the stream after it; likeness: mean cosine between "
                "two tokens of a text. {collapse}",
                collapse=collapse,
            ),
        ),
        described=state(
            "layer by layer",
            "Gradient norm, size of the stream and likeness of the tokens in each of {n_layers} layers. {collapse}",
            n_layers=n_layers,
            collapse=collapse,
        ),
        table=lambda: _layers_table(probes),
    )


def _layers_table(probes: dict[str, DepthProbe]) -> pd.DataFrame:
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


# ---- sublayers left out ----


def _losses(reading: Reading) -> SubsetLosses:
    """The losses of a text with every set of sublayers left out."""
    return ablation.every_subset(opened(reading.model)[0], _ids(reading))


def _continued(reading: Reading, without: tuple[int, ...]) -> str:
    """The greedy continuation of a text by a model without these sublayers."""
    model, tokenizer = opened(reading.model)
    written: str = tokenizer.decode(ablation.continue_without(model, _ids(reading), without, NEW_TOKENS))
    return written


losses_of = kept(_losses, entries=12)
continued = kept(_continued, entries=128)


@view
def skipped(reading: Reading, without: Collection[int]) -> View:
    """Leave sublayers of a trained model out, in every combination (arXiv:1605.06431).

    Args:
        reading: a pre-norm decoder and a text of two tokens at least, of which the last TOKENS count.
        without: the sublayers of the set that is marked; 2 i is the attention of block i, 2 i + 1 its feed-forward
            layer.
    """
    losses: SubsetLosses = losses_of(reading)
    return View(
        key="paths",
        title="Loss of every set of sublayers",
        result=losses,
        chart=subsets_figure(losses, losses.row(without), height=430),
        min_width=340,
        findings=(say.chosen_subset(losses, without),),
        table=lambda: subsets_table(losses),
        formula=(
            r"x + f_1(x) + f_2\big(x + f_1(x)\big) + \dots\,,\quad"
            r"\text{each } f \text{ taken or not: } 2^{N}\text{ paths}"
        ),
        papers="Residual Networks Behave Like Ensembles of Relatively Shallow Networks, arXiv:1605.06431, section 4.2",
        code=(ablation.doubled_streams, ablation.continue_without),
    )


def subsets_table(losses: SubsetLosses) -> pd.DataFrame:
    """A row for each set: its loss, and which sublayers are kept."""
    rows = pd.DataFrame({"left out": losses.removed, "loss": losses.loss})
    return rows.assign(**{name: [row >> s & 1 for row in range(len(rows))] for s, name in enumerate(losses.sublayers)})


# ---- initial weights ----


@view
def starts(n_layers: int, wiring: str = "pre-LN") -> View:
    """How the size of the stream grows through a network, for each choice of initial weights.

    Args:
        n_layers: of the network.
        wiring: where its norms and skips are, see deep_networks.WIRINGS.
    """
    sizes = {start: stream_sizes_of(one) for start, one in start_networks(n_layers, wiring).items()}
    places = np.arange(n_layers + 1)
    return View(
        key="starts",
        title="Size of the stream by initial weights",
        result=sizes,
        chart=depth_figure(
            [Line(start, START_COLOURS[start], places, values) for start, values in sizes.items()],
            x_title="after layer",
            y_title="std of the stream",
            height=400,
            limits=(*LARGEST_NUMBERS, *SMALLEST_NUMBERS),
        ),
        min_width=350,
        findings=(say.stream_growth(sizes, wiring),),
        table=lambda: pd.DataFrame({"after layer": places} | sizes),
        formula=(
            r"W \sim \mathcal N(0, \sigma^2), \qquad \text{Xavier: } \sigma^2 = \tfrac{2}{d_{in} + d_{out}}, \qquad "
            r"\text{GPT-2: outputs } \sigma = \tfrac{0.02}{\sqrt{2N}}"
        ),
        papers="Glorot and Bengio 2010, equation 16; GPT-2 report (Radford et al. 2019), section 2.3",
        code=(initialise.initialise, deep_networks.stream_sizes),
    )


# ---- dropout ----


def _draws(reading: Reading, layer: int, p: float, training: bool, seed: int) -> DropoutDraws:
    """Dropout on what a feed-forward layer adds for the last token of a text."""
    model = opened(reading.model)[0]
    return dropout.draw_dropout(model, _ids(reading), f"blocks.{layer}.mlp_out", p, training, seed)


draws_of = kept(_draws, entries=128)


@view
def dropped(reading: Reading, layer: int, p: float, training: bool = True, seed: int = 0) -> View:
    """Dropout (arXiv:1207.0580): some numbers become 0, the others larger, and the mean stays.

    Args:
        reading: a decoder or an encoder and a text, of which the last TOKENS tokens count.
        layer: whose feed-forward layer is meant; dropped is what it adds for the last token.
        p: the share that is dropped, below 1.
        training: False is inference, where nothing is dropped.
        seed: of the draw.
    """
    draws: DropoutDraws = draws_of(reading, layer, p, training, seed)
    return View(
        key="dropped",
        title="One draw",
        result=draws,
        chart=dropout_figure(draws, height=290),
        min_width=620,
        findings=(say.dropout_count(draws, p, training, layer, name_of(reading.model)),),
        note=f"Drawn: the first {NUMBERS_DRAWN}.",
        table=lambda: pd.DataFrame({"before": draws.before, "after": draws.after}),
        formula=(
            r"y_i = \frac{m_i\, x_i}{1 - p}, \quad m_i = 1 \text{ with probability } 1 - p \text{, else } 0, \qquad "
            r"\mathbb E[y_i] = x_i"
        ),
        papers="Dropout, arXiv:1207.0580; in the Transformer on embeddings and on what each sublayer adds, with p = "
        "0.1 (arXiv:1706.03762, section 5.4)",
        code=(dropout.dropout, dropout.draw_dropout, dropout.two_passes),
    )


@view
def means(reading: Reading, layer: int, p: float, training: bool = True, seed: int = 0) -> View:
    """The means of many draws of dropout, beside the theory. See dropped."""
    draws: DropoutDraws = draws_of(reading, layer, p, training, seed)
    return View(
        key="means",
        title="Means of many draws",
        result=draws,
        chart=dropout_means_figure(draws, height=290),
        min_width=340,
        findings=(say.dropout_means(draws),),
        table=lambda: pd.DataFrame({"mean after dropout": draws.means}),
    )
