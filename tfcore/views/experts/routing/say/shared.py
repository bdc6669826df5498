"""Findings about shared experts."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.measures.token_text import visible
from tfcore.views.experts.routing.measure.shared import SharedWork
from tfcore.views.finding import Finding


@dataclass(frozen=True, slots=True)
class SharedShares(Finding):
    """The part of the shared expert in what a layer adds to the stream.

    Args:
        layer: its number.
        mean: over the tokens.
        least, most: token and share.
        active: experts that compute a token, the shared one included.
        by_layer: layer and mean share, for all.
    """

    layer: int
    mean: float
    least: tuple[str, float]
    most: tuple[str, float]
    active: int
    by_layer: tuple[tuple[int, float], ...]

    @property
    def sentence(self) -> str:
        (least, low), (most, high) = self.least, self.most
        by_layer = ", ".join(f"{mean:.0%} in layer {layer}" for layer, mean in self.by_layer)
        return (
            f"The shared expert writes {self.mean:.0%} of what layer {self.layer} adds, from {low:.0%} for "
            f"'{visible(least)}' to {high:.0%} for '{visible(most)}'; one of the {self.active} active experts would "
            f"write {1 / self.active:.0%}. On average it is {by_layer}."
        )


def shared_shares(work: SharedWork, tokens: Sequence[str], at: int, top_k: int) -> SharedShares:
    """The share of the shared expert in the layer at a place among those with experts, and its mean in all.

    Args:
        tokens: of the text.
        top_k: routed experts that compute a token.
    """
    share = work.share[at]
    least, most = int(share.argmin()), int(share.argmax())
    return SharedShares(
        work.layers[at],
        float(share.mean()),
        (tokens[least], float(share[least])),
        (tokens[most], float(share[most])),
        1 + top_k,
        tuple(zip(work.layers, work.share.mean(1).tolist(), strict=True)),
    )


def share_titles(work: SharedWork, at: int) -> list[str]:
    """For each token the share of the shared expert in what a layer adds, in words."""
    return [f"{part:.0%} of what layer {work.layers[at]} adds is the shared expert's" for part in work.share[at]]


@dataclass(frozen=True, slots=True)
class Ablations(Finding):
    """By how much the loss of a text grows without the shared expert, and without the routed ones.

    Args:
        loss: mean of the whole model, in nats per token.
        without_shared, without_routed: mean without one of the two.
        worst: token whose loss grows most without the shared expert, and by how much.
        more: tokens that lose more without the shared expert than without the routed ones.
        tokens: that are predicted.
    """

    loss: float
    without_shared: float
    without_routed: float
    worst: tuple[str, float]
    more: int
    tokens: int

    @property
    def trained_words(self) -> str:
        """The loss of the whole model, in digits."""
        return f"{self.loss:.3f}"

    @property
    def shared_words(self) -> tuple[str, str]:
        """The loss without the shared expert and its change, in digits."""
        return f"{self.without_shared:.3f}", f"{self.without_shared - self.loss:+.3f}"

    @property
    def routed_words(self) -> tuple[str, str]:
        """The loss without the routed experts and its change, in digits."""
        return f"{self.without_routed:.3f}", f"{self.without_routed - self.loss:+.3f}"

    @property
    def sentence(self) -> str:
        token, most = self.worst
        shared, routed = self.without_shared - self.loss, self.without_routed - self.loss
        return (
            f"Without the shared expert {shared:+.2f} nats per token, without the routed ones {routed:+.2f}. "
            f"Ablating the shared one costs more for {self.more} of {self.tokens} tokens, most for "
            f"'{visible(token)}' ({most:+.2f})."
        )


def ablations(work: SharedWork, tokens: Sequence[str]) -> Ablations:
    """The means of the three losses, and the token that needs the shared expert most; of at least two tokens."""
    shared, routed = work.missing_shared, work.missing_routed
    worst = int(shared.argmax())
    return Ablations(
        float(work.losses.mean()),
        float(work.without_shared.mean()),
        float(work.without_routed.mean()),
        (tokens[worst + 1], float(shared[worst])),
        int((shared > routed).sum()),
        len(shared),
    )
