"""What deep networks at initialisation show: gradients and sizes of the stream by depth, in sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.block import depth
from tfcore.analysis.block.normalisation import NORM_NAMES
from tfcore.analysis.finding import Finding
from tfcore.config import Init, Norm


def few_digits(value: float) -> str:
    """A number of any size in few characters."""
    if not 0.001 <= abs(value) < 100_000:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 99.5 else f"{value:.2g}"


def _listed(values: Mapping[str, float], between: str) -> str:
    return between.join(f"{name} {few_digits(value)}" for name, value in values.items())


@dataclass(frozen=True, slots=True)
class LastGradients(Finding):
    """The gradient norm of the last layer, for each placement of the norms.

    Args:
        n_layers: of each network.
        gradients: placement -> norm.
    """

    n_layers: int
    gradients: dict[str, float]

    @property
    def sentence(self) -> str:
        return (
            "Norm of ∂loss/∂W₂ (the feed-forward layer's second matrix) in each of "
            f"{self.n_layers} layers before training. Last layer: {_listed(self.gradients, ', ')}."
        )

    @property
    def post_norm(self) -> str:
        """Of post-LN, by theory the same at every depth."""
        return f"{self.gradients['post-LN']:.3f}"

    @property
    def scaled_pre_norm(self) -> str:
        """Of pre-LN, times the root of the depth; by theory of the same order at every depth."""
        return f"{self.gradients['pre-LN'] * self.n_layers**0.5:.3f}"


def last_gradients(found: Mapping[str, depth.DepthProbe]) -> LastGradients:
    """The gradients of the last layers.

    Args:
        found: name -> probe, of networks of one depth.
    """
    last = {name: float(probed.gradient[-1]) for name, probed in found.items()}
    return LastGradients(len(next(iter(found.values())).gradient), last)


@dataclass(frozen=True, slots=True)
class LastSizes(Finding):
    """The root mean square of the stream after the last layer, placement -> size."""

    sizes: dict[str, float]

    @property
    def sentence(self) -> str:
        return f"Root mean square of the residual stream. After the last layer: {_listed(self.sizes, ', ')}."


def last_sizes(found: Mapping[str, depth.DepthProbe]) -> LastSizes:
    """The sizes after the last layers, of name -> probe."""
    return LastSizes({name: float(probed.activation[-1]) for name, probed in found.items()})


@dataclass(frozen=True, slots=True)
class GradientFall(Finding):
    """How many times smaller the last layer's gradient is in a deep network than in a shallow one.

    Args:
        shallow, deep: layers of the two.
        falls: name of the wiring -> ratio.
        norm, init: names of the norm and of the initial weights.
    """

    shallow: int
    deep: int
    falls: dict[str, float]
    norm: str
    init: str

    @property
    def root(self) -> float:
        """What the ratio would be by the root of the depth alone (arXiv:2002.04745, theorem 1)."""
        return (self.deep / self.shallow) ** 0.5

    @property
    def sentence(self) -> str:
        falls = " and ".join(f"{fall:.1f} times smaller with {name}" for name, fall in self.falls.items())
        return (
            f"From {self.shallow} layer to {self.deep} the last layer's gradient becomes {falls} ({self.norm}, "
            f"{self.init}); the root of the depth would be {self.root:.0f} times."
        )


def gradient_fall(
    pairs: Mapping[str, tuple[depth.DepthProbe, depth.DepthProbe]], norm: Norm, init: Init
) -> GradientFall:
    """The ratios of the last layers' gradients.

    Args:
        pairs: name -> the probes of a shallow and of a deep network.
        norm, init: of all networks.
    """
    shallow, deep = next(iter(pairs.values()))
    return GradientFall(
        shallow=len(shallow.gradient),
        deep=len(deep.gradient),
        falls={name: float(one.gradient[-1] / other.gradient[-1]) for name, (one, other) in pairs.items()},
        norm=NORM_NAMES[norm],
        init=depth.INIT_NAMES[init],
    )


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
            f"{self.deepest} layers. At {self.deepest}: {_listed(self.gradients, '; ')}."
        )

    def number(self, wiring: str) -> str:
        """The gradient of a wiring in the deepest network."""
        return few_digits(self.gradients[wiring])

    @property
    def at_the_deepest(self) -> str:
        """The gradients of the deepest, in a sentence of their own."""
        return f"Gradient of the first layer at {self.deepest} layers: {_listed(self.gradients, '; ')}."


def first_gradients(found: Mapping[str, Sequence[depth.DepthProbe]]) -> FirstGradients:
    """The gradients of the first layers, of name -> probes of networks of rising depth."""
    depths = [len(probed.gradient) for probed in next(iter(found.values()))]
    return FirstGradients(
        count=sum(map(len, found.values())),
        shallowest=depths[0],
        deepest=depths[-1],
        gradients={name: float(probes[-1].gradient[0]) for name, probes in found.items()},
    )


@dataclass(frozen=True, slots=True)
class RankCollapse(Finding):
    """From which layer on all tokens are as good as one vector (arXiv:2103.03404).

    Args:
        layers: wiring -> the first layer after which the mean cosine is above depth.ALIKE; None if there is none.
    """

    layers: dict[str, int | None]

    @property
    def sentence(self) -> str:
        return f"All tokens alike (mean cosine above {depth.ALIKE}): {self.listed}."

    @property
    def listed(self) -> str:
        """As in "pre-LN never; no skip from layer 3"."""
        return "; ".join(
            f"{name} {'never' if layer is None else f'from layer {layer}'}" for name, layer in self.layers.items()
        )


def rank_collapse(found: Mapping[str, depth.DepthProbe]) -> RankCollapse:
    """The first layers above ALIKE, of name -> probe."""
    return RankCollapse(
        {
            name: next((i for i, cosine in enumerate(probed.alike.tolist()) if cosine > depth.ALIKE), None)
            for name, probed in found.items()
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
            f"{self.d_model}. After the last layer: {_listed(last, ', ')}."
        )

    def growth(self, start: str) -> str:
        """How many times larger the last size is than the first."""
        first, last = self.sizes[start]
        return f"× {few_digits(last / first)}"


def stream_growth(found: Mapping[str, Float[ndarray, " place"]], wiring: str) -> StreamGrowth:
    """The first and the last sizes, of initial weights -> sizes from `stream_sizes`."""
    sizes = {start: (float(places[0]), float(places[-1])) for start, places in found.items()}
    return StreamGrowth(len(next(iter(found.values()))) - 1, wiring, depth.D_MODEL, sizes)
