"""The words for one bump fitted to two."""

from tfcore.views.finding import Statement, state
from tfcore.views.training.information.measure.kl_fit import FittedBump, KLFit
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
        **{name: in_hundredths(number) for name, number in zip(names, numbers, strict=True)},
    )


def kl_minima(result: KLFit) -> Statement:
    """The minima of a result's maps."""
    cover, pick, minima = result.covering, result.picking[0], len(result.picking)
    return state(
        "minima",
        "KL(P‖Q) is least, {cover_bits} bits, at mean {cover_mean}; KL(Q‖P) has {minima} with {pick_bits} bits at mean "
        "{pick_mean}.",
        cover_bits=bits_text(cover.forward),
        cover_mean=in_hundredths(cover.mean),
        minima="one local minimum" if minima == 1 else f"{minima} local minima, the lowest",
        pick_bits=bits_text(pick.reverse),
        pick_mean=in_hundredths(pick.mean),
    )


def own_bump(own: FittedBump) -> Statement:
    """The divergences of a bump that a visitor chose, in bits."""
    return state(
        "own bump",
        "Yours: KL(P‖Q) = {forward} bits, KL(Q‖P) = {reverse} bits.",
        forward=bits_text(own.forward),
        reverse=bits_text(own.reverse),
    )


def in_hundredths(number: float) -> str:
    """The number with two digits after the point, and no sign where these are zero."""
    return minus(f" {round(number, 2) + 0.0:.2f}").strip()


def minus(sentence: str) -> str:
    """The sentence with minus signs, not hyphens, before negative numbers, as in formulas."""
    return sentence.replace(" -", " −")


def fit_table(result: KLFit, own: FittedBump) -> dict[str, list[str]]:
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
