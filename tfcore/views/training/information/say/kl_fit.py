"""The words for one bump fitted to two."""

from dataclasses import dataclass

from tfcore.views.finding import Finding
from tfcore.views.training.information.measure.kl_fit import Fit, KLFit
from tfcore.views.training.information.say.entropy import bits_text


@dataclass(frozen=True, slots=True)
class FittedBumps(Finding):
    """P, and the bump that fits it best by each divergence.

    Args:
        mean, deviation: of P.
        cover_mean, cover_width: of the bump with the least KL(P || Q).
        pick_mean, pick_width: of the bump with the least KL(Q || P).
    """

    mean: float
    deviation: float
    cover_mean: float
    cover_width: float
    pick_mean: float
    pick_width: float

    @property
    def sentence(self) -> str:
        return minus(
            f"P has mean {self.mean:.2f} and standard deviation {self.deviation:.2f}. Least KL(P‖Q): mean "
            f"{self.cover_mean:.2f}, width {self.cover_width:.2f}. Least KL(Q‖P): mean {self.pick_mean:.2f}, width "
            f"{self.pick_width:.2f}."
        )


def fitted_bumps(result: KLFit) -> FittedBumps:
    """The best fits of a result."""
    cover, pick = result.covering, result.picking[0]
    return FittedBumps(result.mean, result.deviation, cover.mean, cover.width, pick.mean, pick.width)


@dataclass(frozen=True, slots=True)
class KLMinima(Finding):
    """The minima of both maps.

    Args:
        cover_bits, cover_mean: the least KL(P || Q), in bits, and the mean of its bump.
        minima: local minima of KL(Q || P).
        pick_bits, pick_mean: the lowest of them, in bits, and the mean of its bump.
    """

    cover_bits: float
    cover_mean: float
    minima: int
    pick_bits: float
    pick_mean: float

    @property
    def sentence(self) -> str:
        counted = "one local minimum" if self.minima == 1 else f"{self.minima} local minima, the lowest"
        return minus(
            f"KL(P‖Q) is least, {bits_text(self.cover_bits)} bits, at mean {self.cover_mean:.2f}; KL(Q‖P) has "
            f"{counted} with {bits_text(self.pick_bits)} bits at mean {self.pick_mean:.2f}."
        )


def kl_minima(result: KLFit) -> KLMinima:
    """The minima of a result's maps."""
    cover, pick = result.covering, result.picking[0]
    return KLMinima(cover.forward, cover.mean, len(result.picking), pick.reverse, pick.mean)


@dataclass(frozen=True, slots=True)
class OwnBump(Finding):
    """KL(P || Q) and KL(Q || P) of a bump that a visitor chose, in bits."""

    forward: float
    reverse: float

    @property
    def sentence(self) -> str:
        return f"Yours: KL(P‖Q) = {bits_text(self.forward)} bits, KL(Q‖P) = {bits_text(self.reverse)} bits."


def own_bump(own: Fit) -> OwnBump:
    """The divergences of a visitor's bump."""
    return OwnBump(own.forward, own.reverse)


def minus(sentence: str) -> str:
    """The same with a minus sign before negative numbers, as in formulas."""
    return sentence.replace(" -", " −")


def fit_table(result: KLFit, own: Fit) -> dict[str, list[str]]:
    """Columns of a table: the best bump by each divergence, further minima of KL(Q || P), and the visitor's own."""
    others = [("another minimum of KL(Q‖P)", fit) for fit in result.picking[1:]]
    named = [
        ("covers: least KL(P‖Q)", result.covering),
        ("picks: least KL(Q‖P)", result.picking[0]),
        *others,
        ("yours", own),
    ]
    return {
        "bump": [name for name, _ in named],
        "mean": [f"{fit.mean:.3f}" for _, fit in named],
        "width": [f"{fit.width:.3f}" for _, fit in named],
        "KL(P‖Q), bits": [f"{fit.forward:.3f}" for _, fit in named],
        "KL(Q‖P), bits": [f"{fit.reverse:.3f}" for _, fit in named],
    }
