"""A text under other routing rules: which tokens are predicted worse, and the loss with one rule changed at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.model import Transformer
from tfcore.views.experts.routing.measure.text_routing import RouterChange, TextRouting, route


def loss_changes(
    before: TextRouting, after: TextRouting, at: int
) -> tuple[Float[ndarray, " seq"], Bool[ndarray, " seq"]]:
    """The change of each token's loss by a change of the routing.

    Returns:
        by how much its loss grows, in nats, 0 for the first; and whether the token before it, from which it is
        predicted, is left without an expert in the layer at that place.
    """
    change = np.concatenate(([0.0], after.losses - before.losses))
    return change, np.concatenate(([False], ~after.taken[at, :-1].any(1)))


@dataclass(frozen=True, slots=True)
class RoutingSweep:
    """The loss of a text under changed routing, one thing changed at a time.

    Args:
        top_k: the numbers of experts that were tried.
        tokens, experts: nats a token for each of them, where tokens and where experts choose.
        capacity, cut: capacity factors, and nats a token; as many experts a token as trained.
        noise, noisy: standard deviations, and nats a token.
    """

    top_k: tuple[int, ...]
    tokens: tuple[float, ...]
    experts: tuple[float, ...]
    capacity: tuple[float, ...]
    cut: tuple[float, ...]
    noise: tuple[float, ...]
    noisy: tuple[float, ...]


def sweep(
    model: Transformer, ids: Sequence[int], capacity: Sequence[float], noise: Sequence[float], seed: int = 0
) -> RoutingSweep:
    """Run a text once for each number of experts, capacity factor and noise.

    Args:
        capacity: capacity factors to try.
        noise: standard deviations to try.
        seed: of the noise.
    """
    experts = model.config.experts
    if experts is None:
        raise ValueError("this model has no experts to choose from; take one with config.experts")
    k, numbers = experts.top_k, tuple(range(1, min(4, experts.n_experts) + 1))

    def loss(change: RouterChange) -> float:
        return route(model, ids, change).loss

    return RoutingSweep(
        numbers,
        tuple(loss(RouterChange(top_k=n)) for n in numbers),
        tuple(loss(RouterChange(top_k=n, routing="experts")) for n in numbers),
        tuple(capacity),
        tuple(loss(RouterChange(top_k=k, capacity=factor)) for factor in capacity),
        tuple(noise),
        tuple(loss(RouterChange(top_k=k, noise=sigma, seed=seed)) for sigma in noise),
    )
