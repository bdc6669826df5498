"""The words for one bump fitted to two."""

from dataclasses import dataclass

from tfcore.views.finding import Finding, Statement, state
from tfcore.views.training.information.measure.kl_fit import Fit, KLFit
from tfcore.views.training.information.say.entropy import bits_text


def fitted_bumps(result: KLFit) -> Statement:
    """P, and the bump that fits it best by each divergence."""
    cover, pick = result.covering, result.picking[0]
    numbers = (result.mean, result.deviation, cover.mean, cover.width, pick.mean, pick.width)
    names = ("mean", "deviation", "cover_mean", "cover_width", "pick_mean", "pick_width")
    return state(
        "fitted bumps",
        "P has mean {mean} and standard deviation {deviation}. Least KL(P‖Q): mean {cover_mean}, width {cover_width}. "
        "Least KL(Q‖P): mean {pick_mean}, width {pick_width}.",
        **{name: minus(f" {number:.2f}").strip() for name, number in zip(names, numbers, strict=True)},
    )


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


def own_bump(own: Fit) -> Statement:
    """The divergences of a bump that a visitor chose, in bits."""
    return state(
        "own bump",
        "Yours: KL(P‖Q) = {forward} bits, KL(Q‖P) = {reverse} bits.",
        forward=bits_text(own.forward),
        reverse=bits_text(own.reverse),
    )


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
