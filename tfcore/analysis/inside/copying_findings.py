"""Sentences about copying, each built from what was measured."""

from collections.abc import Sequence

from tfcore.analysis.inside.composition import Composition
from tfcore.analysis.inside.copying import STRONG, Copying, Place
from tfcore.analysis.inside.path_patching import Closed

GONE, LEFT = 0.8, 0.1  # share of the copying that is lost: nearly all of it from here on; hardly any below


def listed(heads: Sequence[Place]) -> str:
    """Heads as words: "3.0, 3.2"."""
    return ", ".join(f"{layer}.{head}" for layer, head in sorted(heads)) or "none"


def induction_heads(found: Sequence[Place], best: Place, best_score: float) -> str:
    """Which heads count as induction heads, or how near the best one comes."""
    if not found:
        return (
            f"No head of this model reaches a mean weight of {STRONG:.2f} there: the nearest is {listed([best])} with "
            f"{best_score:.2f}."
        )
    heads = f"{len(found)} heads reach" if len(found) > 1 else "One head reaches"
    return f"{heads} a mean weight of {STRONG:.2f} there and count as induction heads: {listed(found)}."


def lost_share(whole: Copying, cut: Copying) -> float:
    """How much of what copying saves is lost: 0 where the loss on repeated tokens stays, 1 where it rises to that of
    new tokens without the heads."""
    saved = cut.first_loss - whole.second_loss
    return (cut.second_loss - whole.second_loss) / saved if saved > 0 else 0.0


def ablated(whole: Copying, cut: Copying, off: Sequence[Place]) -> str:
    """What zero ablation of heads does to the loss on repeated tokens, in a sentence."""
    if not whole.repeated.any():
        return "No two tokens come again in the same order, so there is nothing to copy."
    share = lost_share(whole, cut)
    verdict = (
        "nearly all of the copying is gone"
        if share >= GONE
        else "the rest of the model copies nearly as well without them"
        if share < LEFT
        else "a part of the copying is left"
    )
    return (
        f"Zero ablation of {listed(off)} takes the loss on repeated tokens from {whole.second_loss:.2f} to "
        f"{cut.second_loss:.2f} nats, where new ones cost {cut.first_loss:.2f}: {verdict}."
    )


def patched(closed: Sequence[Closed]) -> str:
    """Through which input the induction heads depend on the previous-token heads, in a sentence."""
    by = {one.door: one for one in closed}
    rise = {door: by[door].second_loss - by["none"].second_loss for door in ("query", "key", "value")}
    most = max(rise, key=lambda door: rise[door])
    others = [door for door in rise if door != most]
    return (
        f"Path patching: without the previous-token heads in their {most} input alone, the loss on the second copy "
        f"rises by {rise[most]:.2f} nats, in their {others[0]} input by {rise[others[0]]:.2f}, in their {others[1]} "
        f"input by {rise[others[1]]:.2f}."
    )


def composed(result: Composition, layer: int, senders: Sequence[Place], receivers: Sequence[Place]) -> str:
    """Which composition score stands out between previous-token heads and the induction heads of a layer.

    Scores are counted in standard deviations above random matrices of the same shapes.
    """
    own = [head for at, head in receivers if at == layer]
    pairs = [(head, below, other) for head in own for below, other in senders if below < layer]
    if not pairs:
        return f"No induction head of layer {layer} has a previous-token head below it."
    best = {kind: max(float(scores[pair]) for pair in pairs) for kind, scores in result.scores.items()}
    above = {kind: (score - result.random) / result.spread for kind, score in best.items()}
    most = max(above, key=lambda kind: above[kind])
    numbers = ", ".join(f"{kind[0].upper()} {best[kind]:.3f} ({above[kind]:+.0f} σ)" for kind in best)
    return (
        f"From a previous-token head to an induction head of layer {layer}, {most[0].upper()}-composition stands out "
        f"most from random matrices: {numbers}."
    )
