"""What deep networks at initialisation show: gradients and sizes of the stream by depth, in sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.measures import deep_networks as depth
from tfcore.measures.quantities import few_digits, listed


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
    def at_the_deepest(self) -> str:
        """The gradients of the deepest, in a sentence of their own."""
        return f"Gradient of the first layer at {self.deepest} layers: {listed(self.gradients, '; ')}."


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
            f"{self.d_model}. After the last layer: {listed(last, ', ')}."
        )

    def growth(self, start: str) -> str:
        """How many times larger the last size is than the first."""
        first, last = self.sizes[start]
        return f"× {few_digits(last / first)}"


def stream_growth(found: Mapping[str, Float[ndarray, " place"]], wiring: str) -> StreamGrowth:
    """The first and the last sizes, of initial weights -> sizes from `stream_sizes`."""
    sizes = {start: (float(places[0]), float(places[-1])) for start, places in found.items()}
    return StreamGrowth(len(next(iter(found.values()))) - 1, wiring, depth.D_MODEL, sizes)
