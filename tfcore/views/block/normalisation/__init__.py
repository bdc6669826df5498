"""Normalisation: by hand, over which axis, where it stands, and what that does to the first steps of training."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts.depth_curves import LARGEST_NUMBERS, WIRING_COLOURS, Line, depth_figure
from tfcore.config import Init
from tfcore.measures import deep_networks
from tfcore.measures.deep_networks import PLACEMENTS, DepthProbe
from tfcore.measures.token_text import tick_labels
from tfcore.norms import layer_norm, rms_norm
from tfcore.part_configs import Norm
from tfcore.views.block.normalisation import say
from tfcore.views.block.normalisation.draw.early_training import first_steps_figure
from tfcore.views.block.normalisation.draw.norms import axis_figure, norm_steps_figure
from tfcore.views.block.normalisation.measure import early_training, norms
from tfcore.views.block.normalisation.measure.depths import probe_of
from tfcore.views.block.normalisation.measure.norms import NormSteps, ReplacedToken
from tfcore.views.finding import state
from tfcore.views.kept import kept
from tfcore.views.sources import Source, name_of, opened
from tfcore.views.view import View, view

TOKENS = 6  # of each text of a batch, at most
LABEL = 9  # characters of a token in its cell

batch_of = kept(norms.batch, entries=256)
replaced_of = kept(norms.replace_token, entries=256)


# ---- by hand ----


@view
def by_hand(numbers: tuple[float, ...], scale: float = 1.0, shift: float = 0.0, eps: float = 1e-5) -> View:
    """LayerNorm (arXiv:1607.06450) and RMSNorm (arXiv:1910.07467) on a few numbers, step by step.

    Args:
        numbers: the features of one token.
        scale, shift: gamma and beta, here the same for every feature; RMSNorm has no shift.
        eps: keeps equal numbers from being divided by zero.
    """
    layer = norms.normalisation_steps(numbers, "layernorm", scale, shift, eps)
    rms = norms.normalisation_steps(numbers, "rmsnorm", scale, shift, eps)
    return View(
        key="steps",
        title="LayerNorm and RMSNorm, step by step",
        result=(layer, rms),
        chart=norm_steps_figure(layer, rms, height=430),
        min_width=620,
        findings=(say.norm_divisors(layer, rms),),
        note="“Size” is the root mean square.",
        table=lambda: _steps_table(layer, rms),
        formula=(
            r"\mathrm{LayerNorm}(x) = \gamma\,\frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta \qquad "
            r"\mathrm{RMSNorm}(x) = \gamma\,\frac{x}{\sqrt{\tfrac1d \sum_i x_i^2 + \varepsilon}}"
        ),
        papers="LayerNorm: arXiv:1607.06450, equations 3 and 4. RMSNorm: arXiv:1910.07467, equation 4.",
        code=(norms.normalise, layer_norm, rms_norm),
    )


def _steps_table(layer: NormSteps, rms: NormSteps) -> pd.DataFrame:
    """Every step of every number, and torch's result beside ours."""
    return pd.DataFrame(
        {
            "x": layer.stages[0],
            "x − mean": layer.stages[1],
            "÷ √(variance + ε)": layer.stages[2],
            "LayerNorm": layer.stages[3],
            "torch.nn.LayerNorm": layer.torch,
            "RMSNorm": rms.stages[3],
            "torch.nn.RMSNorm": rms.torch,
        }
    )


# ---- over which axis ----


@view
def which_axis(model: Source, texts: Sequence[str], row: int, position: int, kind: Norm = "layernorm") -> View:
    """Over which axis a norm may work: replace one token of a batch, and see whose vectors change.

    Args:
        model: any model with its tokenizer; its embeddings are normalised.
        texts: of the batch; of each as many tokens are read as the shortest has, and TOKENS at most.
        row, position: the token that is replaced.
        kind: of the norm.
    """
    replaced: ReplacedToken = replaced_of(model, tuple(texts), TOKENS, row, position, kind)
    labels = [tick_labels(line, LABEL) for line in replaced.tokens]
    changes = say.axis_changes(replaced.leak, row, position)
    return View(
        key="axis",
        title="The right axis and three wrong ones",
        result=replaced,
        chart=axis_figure(replaced.leak, labels, (row, position), height=400),
        min_width=660,
        findings=(
            state(
                "axis",
                "Embeddings ({texts}, {tokens}, {width}) of {model}; framed: the replaced token. {changes}",
                texts=len(replaced.tokens),
                tokens=len(replaced.tokens[row]),
                width=opened(model)[0].config.d_model,
                model=name_of(model),
                changes=changes,
            ),
        ),
        described=changes,
        table=lambda: _changes_table(replaced),
        papers="Over the features: arXiv:1607.06450. Over the texts: batch normalisation, arXiv:1502.03167",
        code=(norms.normalise, norms.axis_leak),
    )


def _changes_table(replaced: ReplacedToken) -> pd.DataFrame:
    """Every token's change, a column for each axis."""
    places = pd.DataFrame(
        [
            {"text": r, "position": p, "token": piece}
            for r, line in enumerate(replaced.tokens)
            for p, piece in enumerate(line)
        ]
    )
    return places.assign(**{axis: change.ravel() for axis, change in replaced.leak.change.items()})


# ---- where it stands ----


def _placement_probes(n_layers: int, init: Init, norm: Norm) -> dict[str, DepthProbe]:
    """A network with each placement of the norms, by its name."""
    return {name: probe_of(one) for name, one in deep_networks.placements(n_layers, init, norm).items()}


@view
def gradients(n_layers: int, init: Init = "xavier", norm: Norm = "layernorm") -> View:
    """Where the norm stands: gradients by layer before training (arXiv:2002.04745, theorem 1).

    Args:
        n_layers: of each network.
        init: its initial weights.
        norm: which one.
    """
    probes = _placement_probes(n_layers, init, norm)
    curves = {name: probed.gradient for name, probed in probes.items()}
    layers = np.arange(1, n_layers + 1)
    return View(
        key="gradients",
        title="Gradients by layer",
        result=probes,
        chart=depth_figure(
            _lines(layers, curves), x_title="layer", y_title="gradient of W₂", height=330, limits=LARGEST_NUMBERS
        ),
        min_width=340,
        findings=(say.last_gradients(probes),),
        table=lambda: pd.DataFrame({"layer": layers} | curves),
        formula=(
            r"\text{pre: } x + f(\mathrm{LN}(x)) \qquad \text{post: } \mathrm{LN}(x + f(x)) \qquad "
            r"\text{sandwich: } x + \mathrm{LN}(f(\mathrm{LN}(x))) \qquad \text{none: } x + f(x)"
        ),
        papers="On Layer Normalization in the Transformer Architecture, theorem 1 and figure 3, arXiv:2002.04745",
        terms=("pre-LN", "post-LN", "warm-up"),
        code=(deep_networks.residual_sublayer, deep_networks.probe),
    )


@view
def sizes(n_layers: int, init: Init = "xavier", norm: Norm = "layernorm") -> View:
    """Where the norm stands: the size of the residual stream after each layer. See gradients."""
    probes = _placement_probes(n_layers, init, norm)
    curves = {name: probed.activation for name, probed in probes.items()}
    places = np.arange(n_layers + 1)
    return View(
        key="sizes",
        title="Size of the stream by layer",
        result=probes,
        chart=depth_figure(
            _lines(places, curves),
            x_title="after layer",
            y_title="size of the stream",
            height=300,
            limits=LARGEST_NUMBERS,
        ),
        min_width=340,
        findings=(say.last_sizes(probes),),
        table=lambda: pd.DataFrame({"after layer": places} | curves),
    )


def _lines(x: ndarray, curves: Mapping[str, Float[ndarray, " point"]]) -> list[Line]:
    return [Line(name, WIRING_COLOURS[name], x, y) for name, y in curves.items()]


# ---- first steps ----


@view
def first_steps(
    n_layers: int, peak: float, warmup: int, seed: int, *, so_far: Sequence[Mapping[str, float]] | None = None
) -> View:
    """The first steps of training, with warm-up and without, for each place of the norm (arXiv:2002.04745).

    Args:
        n_layers: of each network.
        peak: learning rate.
        warmup: steps until it is reached, in the runs with warm-up.
        seed: of weights and data.
        so_far: the losses until now; None trains all networks.
    """
    losses = early_training.all_first_steps(n_layers, peak, warmup, seed) if so_far is None else so_far
    columns = {name: (WIRING_COLOURS[name], early_training.curves_of(losses, name)) for name in PLACEMENTS}
    return View(
        key="race",
        title="Loss over the first steps",
        result=losses,
        chart=first_steps_figure(columns, early_training.RUN_STEPS, early_training.uniform_loss(), height=380),
        min_width=580,
        findings=(say.describe_first_steps(losses, n_layers),),
        table=lambda: pd.DataFrame(losses),
        formula=r"\eta_t = \eta_{max} \cdot \min\!\left(1,\ \tfrac{t}{t_{warm}}\right)",
        code=(early_training.first_losses, early_training.learning_rate, deep_networks.residual_sublayer),
    )
