"""Routings drawn at random, for findings to be compared with loops over them."""

import numpy as np

from tfcore.measures.one_text import UsedTokens
from tfcore.views.experts.routing.measure.text_routing import RoutedText, TextRouting

IDS = [5, 9, 5, 3, 9, 5, 7, 1, 9, 2, 3]
TOKENS = [f" t{token}" for token in IDS]
LAYERS = (1, 2, 3)
N_EXPERTS = 4
TOP_K = 2


def routed(seed: int = 0, room: int | None = None, drop: float = 0.0) -> RoutedText:
    """A text whose tokens go to two of four experts each, in the layers 1 to 3; a share of the choices is dropped."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(len(LAYERS), len(IDS), N_EXPERTS))
    probs = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    chosen = probs >= np.sort(probs)[..., -TOP_K, None]
    dropped = chosen & (rng.random(chosen.shape) < drop)
    weights = np.where(chosen & ~dropped, probs, 0)
    losses = rng.random(len(IDS) - 1) * 3
    routing = TextRouting(LAYERS, logits, probs, chosen, dropped, weights, losses, room)
    return RoutedText(UsedTokens(IDS, TOKENS, len(IDS)), routing)
