"""Findings on normalisation: by hand, over which axis, where it stands, and the first steps of training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfcore.config import Init
from tfcore.measures import deep_networks
from tfcore.measures.deep_networks import PLACEMENTS
from tfcore.measures.quantities import listed
from tfcore.part_configs import Norm
from tfcore.views.block.normalisation.measure.early_training import (
    LEARNED_SHARE,
    RUN_VOCAB,
    curves_of,
    have_learned,
    uniform_loss,
)
from tfcore.views.block.normalisation.measure.norms import AXES, NORM_NAMES, Axis, AxisLeak, NormSteps
from tfcore.views.finding import Finding, Statement, state


def norm_divisors(layer: NormSteps, rms: NormSteps) -> Statement:
    """The divisors of LayerNorm and RMSNorm on the same numbers."""
    return state(
        "norm divisors",
        "{count} features of one token; mean {mean:.4g}, variance {variance:.4g}: LayerNorm divides by "
        "{layer_divisor:.4g}, RMSNorm by {rms_divisor:.4g}.",
        count=layer.stages.shape[1],
        mean=layer.mean,
        variance=layer.variance,
        layer_divisor=layer.divisor,
        rms_divisor=rms.divisor,
    )


def against_torch(layer: NormSteps, rms: NormSteps) -> Statement:
    """The largest difference of a result from that of torch's own modules."""
    return state(
        "against torch",
        "Against torch.nn.LayerNorm and torch.nn.RMSNorm on the same numbers in float64: the last step differs by "
        "{difference:.1e} at most.",
        difference=max(layer.difference, rms.difference),
    )


@dataclass(frozen=True, slots=True)
class AxisChanges(Finding):
    """Which other vectors change when a token is replaced, for each axis of normalisation.

    Args:
        row, position: of the replaced token.
        total: number of other tokens.
        others: axis -> how many of them change, and the largest change of a feature.
        spread: axis -> how far the root mean square of a vector is from 1, for the worst token.
    """

    row: int
    position: int
    total: int
    others: dict[Axis, tuple[int, float]]
    spread: dict[Axis, float]

    @property
    def sentence(self) -> str:
        words = "; ".join(
            f"over {_axis_words(axis)} {count} of {self.total} other tokens change"
            + (f", by up to {most:.2g}" if count else "")
            for axis, (count, most) in self.others.items()
        )
        return f"Replacing token {self.position} of text {self.row}: {words}."

    @property
    def sizes(self) -> str:
        """How well the size of a vector is kept, in a sentence of its own."""
        return (
            f"Nor is the size kept: over the features each vector ends within {self.spread['features']:.0e} of 1, over "
            f"the tokens one is off by {self.spread['tokens']:.2f}."
        )


def _axis_words(axis: Axis) -> str:
    return axis if axis == "everything" else f"the {axis}"


def axis_changes(leak: AxisLeak, row: int, position: int) -> AxisChanges:
    """The changes of all tokens but the replaced one."""
    total = next(iter(leak.change.values())).size - 1
    return AxisChanges(row, position, total, {axis: leak.others(axis, row, position) for axis in AXES}, leak.spread)


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
            f"{self.n_layers} layers before training. Last layer: {listed(self.gradients, ', ')}."
        )

    @property
    def post_norm(self) -> str:
        """The ratio of post-LN, by theory the same at every depth."""
        return f"{self.gradients['post-LN']:.3f}"

    @property
    def scaled_pre_norm(self) -> str:
        """The ratio of pre-LN, times the root of the depth; by theory of the same order at every depth."""
        return f"{self.gradients['pre-LN'] * self.n_layers**0.5:.3f}"


def last_gradients(probes: Mapping[str, deep_networks.DepthProbe]) -> LastGradients:
    """The gradients of the last layers.

    Args:
        probes: name -> probe, of networks of one depth.
    """
    last = {name: float(probed.gradient[-1]) for name, probed in probes.items()}
    return LastGradients(len(next(iter(probes.values())).gradient), last)


def last_sizes(probes: Mapping[str, deep_networks.DepthProbe]) -> Statement:
    """The root mean square of the stream after the last layers, of name -> probe."""
    sizes = {name: float(probed.activation[-1]) for name, probed in probes.items()}
    words = "Root mean square of the residual stream. After the last layer: {sizes}."
    return state("last sizes", words, sizes=listed(sizes, ", "))


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
        """The ratio as it would be by the root of the depth alone (arXiv:2002.04745, theorem 1)."""
        return (self.deep / self.shallow) ** 0.5

    @property
    def sentence(self) -> str:
        changes = {
            name: f"{fall:.1f} times smaller" if fall >= 1 else f"{1 / max(fall, 1e-300):.1f} times larger"
            for name, fall in self.falls.items()
        }
        falls = " and ".join(f"{change} with {name}" for name, change in changes.items())
        return (
            f"From {self.shallow} layer to {self.deep} the last layer's gradient becomes {falls} ({self.norm}, "
            f"{self.init}); the root of the depth would be {self.root:.0f} times."
        )


def gradient_fall(
    pairs: Mapping[str, tuple[deep_networks.DepthProbe, deep_networks.DepthProbe]], norm: Norm, init: Init
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
        init=deep_networks.INIT_NAMES[init],
    )


@dataclass(frozen=True, slots=True)
class FirstSteps(Finding):
    """The result of the first steps.

    Args:
        n_layers: of each network.
        steps: done so far.
        uniform: loss of a uniform guess, nats.
        ends: placement -> mean loss of the last five steps with warm-up, and without; None before the first step.
        learned: names of the runs whose loss is below LEARNED_SHARE of the uniform guess.
    """

    n_layers: int
    steps: int
    uniform: float
    ends: dict[str, tuple[float | None, float | None]]
    learned: tuple[str, ...]

    @property
    def sentence(self) -> str:
        pairs = {name: [_loss_words(loss) for loss in pair] for name, pair in self.ends.items()}
        ends = "; ".join(f"{name} {warm} with warm-up and {cold} without" for name, (warm, cold) in pairs.items())
        below = f" Below {LEARNED_SHARE:.0%} of that of a uniform guess: {'; '.join(self.learned) or 'none'}."
        return (
            f"Loss in nats over {self.steps} steps of networks of {self.n_layers} layers, uniform guess "
            f"ln {RUN_VOCAB} = {self.uniform:.2f}. Mean of the last five steps: {ends}.{below if self.steps else ''}"
        )


def _loss_words(loss: float | None) -> str:
    return "–" if loss is None else f"{loss:.2f}"


def describe_first_steps(losses: Sequence[Mapping[str, float]], n_layers: int) -> FirstSteps:
    """State the losses of `first_steps` so far."""
    ends = {name: [_mean_of_last(curve) for curve in curves_of(losses, name)] for name in PLACEMENTS}
    return FirstSteps(
        n_layers=n_layers,
        steps=len(losses),
        uniform=uniform_loss(),
        ends={name: (warm, cold) for name, (warm, cold) in ends.items()},
        learned=tuple(have_learned(losses)),
    )


def _mean_of_last(losses: Sequence[float]) -> float | None:
    last = losses[-5:]
    return sum(last) / len(last) if last else None
