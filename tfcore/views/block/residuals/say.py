"""Findings on residual connections: gradients and sizes of the stream by depth, sublayers left out, and dropout."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray

from tfcore.measures import deep_networks
from tfcore.measures.quantities import counted, few_digits, listed
from tfcore.views.block.residuals.measure.ablation import SubsetLosses, single_rises, sublayer_name
from tfcore.views.block.residuals.measure.dropout import DropoutDraws
from tfcore.views.finding import Finding, Statement, state

HEALTHY = 1e-4  # a gradient of the first layer that the precision of float16 still has digits of


@dataclass(frozen=True, slots=True)
class FirstGradients(Finding):
    """The gradient norm of the first layer in networks of several depths.

    Args:
        count: number of networks.
        shallowest, deepest: their layers.
        gradients: wiring -> norm, in the deepest.
    """

    count: int
    shallowest: int
    deepest: int
    gradients: dict[str, float]

    @property
    def sentence(self) -> str:
        return (
            f"Norm of ∂loss/∂W₂ in the first layer of {self.count} networks, each built with {self.shallowest} to "
            f"{self.deepest} layers. At {self.deepest}: {listed(self.gradients, '; ')}."
        )

    def number(self, wiring: str) -> str:
        """The gradient of a wiring in the deepest network."""
        return few_digits(self.gradients[wiring])

    @property
    def with_and_without(self) -> str:
        """The gradients of the deepest with skips and without, in a sentence of its own."""
        return (
            f"At {counted(self.deepest, 'layer')} a gradient of {self.number('no skip, no norm')} reaches the first "
            f"layer without skips and norms, and {self.number('pre-LN')} with them (pre-LN)."
        )


def first_gradients(networks: Mapping[str, Sequence[deep_networks.DepthProbe]]) -> FirstGradients:
    """The gradients of the first layers, of name -> probes of networks of rising depth."""
    depths = [len(probed.gradient) for probed in next(iter(networks.values()))]
    return FirstGradients(
        count=sum(map(len, networks.values())),
        shallowest=depths[0],
        deepest=depths[-1],
        gradients={name: float(probes[-1].gradient[0]) for name, probes in networks.items()},
    )


@dataclass(frozen=True, slots=True)
class RankCollapse(Finding):
    """From which layer on all tokens are as good as one vector (arXiv:2103.03404).

    Args:
        layers: wiring -> the first layer after which the mean cosine is above ALIKE; None if there is none.
    """

    layers: dict[str, int | None]

    @property
    def sentence(self) -> str:
        return f"All tokens alike (mean cosine above {deep_networks.ALIKE}): {self.listed}."

    @property
    def listed(self) -> str:
        """The layers in words, as in "pre-LN never; no skip from layer 3"."""
        return "; ".join(
            f"{name} {'never' if layer is None else f'from layer {layer}'}" for name, layer in self.layers.items()
        )


def norms_alone(gradients: FirstGradients, collapse: RankCollapse) -> Finding:
    """The gradient that norms alone keep without skips, and the layer from which all tokens are alike."""
    layer, kept = collapse.layers["no skip"], gradients.gradients["no skip"] >= HEALTHY
    if not kept:
        return state(
            "norms alone",
            "Norms alone (“no skip”) do not save it here: {gradient} arrives.",
            gradient=gradients.number("no skip"),
        )
    if layer is None:
        return state(
            "norms alone",
            "Norms alone (“no skip”) keep it at {gradient}: each divides by the size of its input, which undoes the "
            "shrinking on the way back, too.",
            gradient=gradients.number("no skip"),
        )
    return state(
        "norms alone",
        "Norms alone (“no skip”) keep it at {gradient}: each divides by the size of its input, which undoes the "
        "shrinking on the way back, too. But it teaches little: from layer {layer} on all tokens are the same vector "
        "(lowest row).",
        gradient=gradients.number("no skip"),
        layer=layer,
    )


def rank_collapse(probes: Mapping[str, deep_networks.DepthProbe]) -> RankCollapse:
    """The first layers above ALIKE, of name -> probe."""
    return RankCollapse(
        {
            name: next((i for i, cosine in enumerate(probed.alike.tolist()) if cosine > deep_networks.ALIKE), None)
            for name, probed in probes.items()
        }
    )


@dataclass(frozen=True, slots=True)
class StreamGrowth(Finding):
    """The size of the stream after the last layer, for each choice of initial weights.

    Args:
        n_layers, wiring, d_model: of the networks.
        sizes: initial weights -> standard deviation about zero before the first layer, and after the last.
    """

    n_layers: int
    wiring: str
    d_model: int
    sizes: dict[str, tuple[float, float]]

    @property
    def sentence(self) -> str:
        last = {start.partition(":")[0]: sizes[1] for start, sizes in self.sizes.items()}
        return (
            f"Standard deviation (about zero) of the stream of {self.n_layers} layers, {self.wiring}, width "
            f"{self.d_model}. After the last layer: {listed(last, ', ')}."
        )

    def growth(self, start: str) -> str:
        """How many times larger the last size is than the first."""
        first, last = self.sizes[start]
        return f"× {few_digits(last / first)}"


def stream_growth(by_start: Mapping[str, Float[ndarray, " place"]], wiring: str) -> StreamGrowth:
    """The first and the last sizes, of initial weights -> sizes from `stream_sizes`."""
    sizes = {start: (float(places[0]), float(places[-1])) for start, places in by_start.items()}
    return StreamGrowth(len(next(iter(by_start.values()))) - 1, wiring, deep_networks.D_MODEL, sizes)


@dataclass(frozen=True, slots=True)
class ChosenSubset(Finding):
    """The loss without some sublayers, beside those of all sets.

    Args:
        sets, tokens: number of sets of sublayers, and of tokens of the text.
        without: names of the sublayers left out.
        loss, whole: loss without them, and of the whole model, nats per token.
        means: number of sublayers left out -> mean loss of all sets of that size.
    """

    sets: int
    tokens: int
    without: tuple[str, ...]
    loss: float
    whole: float
    means: dict[int, float]

    @property
    def words(self) -> str:
        """The set in words, as in "without attention 2"."""
        return f"without {', '.join(self.without)}" if self.without else "with nothing left out"

    @property
    def sentence(self) -> str:
        words = f"{self.words[0].upper()}{self.words[1:]}"
        counts = ", ".join(map(str, self.means))
        means = ", ".join(f"{mean:.2f}" for mean in self.means.values())
        return (
            f"All 2^{self.sets.bit_length() - 1} = {self.sets} ways to leave out sublayers, on {self.tokens} tokens. "
            f"{words}: {self.chosen_loss} nats, whole model {self.whole_loss}; mean with {counts} left out: {means}."
        )

    @property
    def whole_loss(self) -> str:
        """Two places after the point."""
        return f"{self.whole:.2f}"

    @property
    def chosen_loss(self) -> str:
        """Two places after the point."""
        return f"{self.loss:.2f}"

    @property
    def increase(self) -> str:
        """The loss without these sublayers less that of the whole model."""
        return f"{self.loss - self.whole:+.2f}"


def chosen_subset(result: SubsetLosses, without: Collection[int]) -> ChosenSubset:
    """The loss without these sublayers; means for 1, 2, 4, ... left out."""
    loss, most = result.loss, int(result.removed.max())
    sizes = [2**i for i in range(most.bit_length())]
    return ChosenSubset(
        sets=len(loss),
        tokens=result.losses.shape[1] + 1,  # the first is not predicted
        without=tuple(sublayer_name(sublayer) for sublayer in sorted(without)),
        loss=float(loss[result.row(without)]),
        whole=float(loss[-1]),
        means={size: float(loss[result.removed == size].mean()) for size in sizes},
    )


def single_ablations(result: SubsetLosses) -> Statement:
    """The smallest and the largest loss increase when one sublayer alone is left out, nats per token."""
    rises = single_rises(result)
    least, most = rises.index(min(rises)), rises.index(max(rises))
    return state(
        "single ablations",
        "Loss increase on this text when one sublayer alone is left out: from {least_rise:+.2f} ({least}) to "
        "{most_rise:+.2f} nats ({most}).",
        least=sublayer_name(least),
        least_rise=rises[least],
        most=sublayer_name(most),
        most_rise=rises[most],
    )


def dropout_count(result: DropoutDraws, p: float, training: bool, layer: int, model: str) -> Statement:
    """How many numbers the draw that is shown sets to zero.

    Args:
        layer, model: whose feed-forward layer gave the numbers.
    """
    kept = int(result.kept.sum())
    return state(
        "dropout count",
        "What feed-forward layer {layer} of {model} adds for the last token of a text, {numbers} numbers: {dropped} "
        "dropped, {kept} multiplied by {factor:.3g}.",
        layer=layer,
        model=model,
        numbers=len(result.kept),
        dropped=len(result.kept) - kept,
        kept=kept,
        factor=1 / (1 - p) if training else 1.0,
    )


def dropout_means(result: DropoutDraws) -> Statement:
    """The average and the spread of the means of all draws, beside the mean before and the spread of the theory."""
    return state(
        "dropout means",
        "{draws:whole} draws: their means average {measured:.5f} (before: {before:.5f}), with standard deviation "
        "{spread:.5f}; theory says {theory:.5f}.",
        draws=len(result.means),
        measured=float(result.means.mean()),
        before=result.mean,
        spread=float(result.means.std()),
        theory=result.spread,
    )


@dataclass(frozen=True, slots=True)
class TwoPasses(Finding):
    """The largest difference between two passes on the same tokens."""

    largest: float

    @property
    def sentence(self) -> str:
        return f"Two passes differ by up to {self.number}: {self.why}."

    @property
    def number(self) -> str:
        return f"{self.largest:.2g}" if self.largest else "0.0"

    @property
    def why(self) -> str:
        return "dropout is on" if self.largest else "equal to the last bit"
