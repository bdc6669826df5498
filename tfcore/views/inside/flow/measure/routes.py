"""Information flow routes: from which tokens and through which heads a model's state at one token came about, traced
back from the last layer to the embeddings (after arXiv:2403.00824, with the differences named in follow)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.generation.sampling import Sampling, draw
from tfcore.model import Transformer
from tfcore.views.inside.flow.measure.passages import Passage, attention_layers, columns_of_heads, heads_there
from tfcore.views.inside.flow.measure.shares import (
    Factors,
    LayerShares,
    Recorded,
    first_changed,
    layer_shares,
    logit_shares,
    record,
)

LARGEST = 2.0  # factor of a head
LEAST = 1e-5  # share of the state at a token that is still followed
SMALLEST = 1e-3  # share of a route that is told apart


@dataclass(frozen=True, slots=True)
class Route:
    """One head from one token to another: the share of the explained state that it carries."""

    layer: int
    head: int
    query: int
    key: int
    share: float


@dataclass(frozen=True, slots=True)
class Flow:
    """The state at one token after the last layer, or a logit read from it, traced back: every share is of that, which
    is 1.

    A layer is an attention layer with what follows it up to the next; see `attention_layers`. In an encoder-decoder the
    encoder's tokens come first, and stay as they are through the decoder's layers, which take from them.

    Args:
        layers: names of the layers.
        target: the token that is explained.
        threshold: routes below that share of the state they flow into are not followed.
        stream: share in the residual stream before each layer, and after the last one.
        straight: share that passes attention in the stream of its own token.
        feedforward: share that each feed-forward layer wrote; it flows on into the layer's input, the same stream.
        faint: share that routes below the threshold brought together to each token; it is not followed.
        carried: share that each head brought from other tokens, all its routes together, the smallest too.
        moved: of the state at each token after a layer's attention, the share that came from each token before it.
        routes: of all heads, those of at least SMALLEST, the largest share first.
        toward: the next token whose logit is traced, and the one whose logit is taken off; none: the state is traced.
        mixers: place among the heads that is not one, but what a hybrid's layer has in the place of attention or beside
            it; None where there are heads alone.
    """

    layers: tuple[str, ...]
    target: int
    threshold: float
    stream: Float[ndarray, "stage seq"]
    straight: Float[ndarray, "layer seq"]
    feedforward: Float[ndarray, "layer seq"]
    faint: Float[ndarray, "layer seq"]
    carried: Float[ndarray, "layer head"]
    moved: Float[ndarray, "layer seq seq"]
    routes: tuple[Route, ...]
    toward: tuple[int, ...] = ()
    mixers: int | None = None

    @property
    def followed(self) -> float:
        """Share of the state that is traced back to embeddings."""
        return float(self.stream[0].sum())

    def head(self, layer: int, head: int) -> str:
        """The name of a head, as in "2.5" or "cross 0.3", or of a mixer, as in "mixer 2"."""
        return f"mixer {self.layers[layer]}" if head == self.mixers else f"{self.layers[layer]}.{head}"


def trace(
    model: Transformer,
    passage: Passage,
    threshold: float = 0.0,
    factors: Factors | None = None,
    toward: tuple[int, ...] = (),
) -> Flow:
    """Trace the state at a token, or a logit, back through the model; see layer_shares, logit_shares and follow."""
    run = record(model, passage, factors)
    by_layer = layer_shares(model, passage, factors, run)
    if toward:
        by_layer = logit_shares(model, passage, by_layer, toward, factors, run)
    return follow(model.config, passage, by_layer, threshold, toward)


def follow(
    config: ModelConfig,
    passage: Passage,
    by_layer: Sequence[LayerShares],
    threshold: float = 0.0,
    toward: tuple[int, ...] = (),
) -> Flow:
    """Trace the state at a token, or a logit, back.

    Otherwise than in arXiv:2403.00824, where a threshold decides which edges of a graph are kept, shares multiply along
    a route and are not renormalised once routes below the threshold are left out, and the residual stream is always
    followed.

    Args:
        passage: the text, and the token whose last state is explained.
        by_layer: from layer_shares, or from logit_shares.
        threshold: at each token, heads' contributions below this share are not followed.
        toward: the tokens of logit_shares.
    """
    layers = attention_layers(config)
    n_layers, n = len(layers), len(passage.tokens)
    stream = np.zeros((n_layers + 1, n))
    straight, feedforward, faint = (np.zeros((n_layers, n)) for _ in range(3))
    carried, moved = np.zeros((n_layers, columns_of_heads(config))), np.zeros((n_layers, n, n))
    routes: list[Route] = []
    stream[-1, passage.target] = 1.0
    for k, one in reversed(list(enumerate(by_layer))):
        arrived = stream[k + 1]
        reached = [i for i in one.rows if arrived[i] >= LEAST]
        local = [i - one.rows.start for i in reached]
        here_now = arrived[reached]
        heads, kept = one.heads[local], one.kept[local]
        brought, followed = np.zeros((2, len(reached), columns_of_heads(config), n))
        brought[:, :, one.keys.start : one.keys.stop] = heads * here_now[:, None, None]
        followed[:, :, one.keys.start : one.keys.stop] = heads * (heads >= threshold)
        moved[k, reached] = followed.sum(1)
        moved[k, reached, reached] += kept.sum(1)
        followed *= here_now[:, None, None]
        straight[k, reached] = here_now * kept.sum(1)
        if one.feedforward is not None:
            feedforward[k, reached] = here_now * one.feedforward[local]
        elif kept.shape[1] > 1:  # a parallel block: its feed-forward layer reads the same stream
            feedforward[k, reached] = here_now * kept[:, 1]
        faint[k, reached] = (brought - followed).sum((1, 2))
        apart = [i for i in range(n) if i not in one.rows]  # tokens of the other stack: nothing happens to them
        straight[k, apart] = arrived[apart]
        moved[k, apart, apart] = 1.0
        stream[k] = straight[k] + followed.sum((0, 1))
        carried[k] = brought.sum((0, 2)) - brought[range(len(reached)), :, reached].sum(0)
        for row, head, j in zip(*(followed >= SMALLEST).nonzero(), strict=True):
            routes.append(Route(k, int(head), reached[row], int(j), float(followed[row, head, j])))
    routes.sort(key=lambda route: -route.share)
    mixers = None if config.mixer is None else config.attention.n_heads
    return Flow(
        tuple(layer.name for layer in layers),
        passage.target,
        threshold,
        stream,
        straight,
        feedforward,
        faint,
        carried,
        moved,
        tuple(routes),
        toward,
        mixers,
    )


@dataclass(frozen=True, slots=True)
class LayerGuesses:
    """The top prediction at a token after each layer, and the model's own probabilities.

    Args:
        best: id of the most probable token, read from the stream after each layer; None in the middle of a block, in
            the encoder of an encoder-decoder, and where a model has no head.
        probability: of it, or 0.
        final: probability of every token, or of every class, after the last layer; of none without a head.
    """

    best: tuple[int | None, ...]
    probability: tuple[float, ...]
    final: Float[ndarray, " vocab"]

    def ranked(self, most: int) -> list[int]:
        """The most probable tokens, the first first."""
        best: list[int] = self.final.argsort()[::-1][:most].tolist()
        return best


@torch.no_grad()
def layer_guesses(
    model: Transformer,
    passage: Passage,
    factors: Factors | None = None,
    run: Recorded | None = None,
    plain: LayerGuesses | None = None,
) -> LayerGuesses:
    """The predictions of the stream at the target after each layer (the logit lens, see `lens_logits`), with some heads
    multiplied.

    Args:
        run: from record, with these factors.
        plain: the guesses without any factors, where they are there already.
    """
    layers = attention_layers(model.config)
    if model.config.head == "none":
        return LayerGuesses((None,) * len(layers), (0.0,) * len(layers), np.zeros(0, np.float32))
    recorded = run or record(model, passage, factors)
    first = first_changed(factors or {}) if plain else 0
    last = {k: layer for k, layer in enumerate(layers) if layer.is_last and not layer.is_encoder and k >= first}
    states = [recorded.here[f"{layer.prefix}resid_post"][passage.row] for layer in last.values()]
    states = [model.stack.ln_final(torch.stack(states))] if states else []
    logits = cast("Tensor", model.to_logits(torch.cat([*states, recorded.hidden[passage.row, None]]))).float()
    if passage.blank is not None:
        logits[:, passage.blank] = -torch.inf
    chances = logits.softmax(1)  # (layer, vocab), then those of the model itself
    *_, own = chances
    probability, best = chances[:-1].max(1)
    said = dict(zip(last, zip(best.tolist(), probability.tolist(), strict=True), strict=True))
    if plain:
        said |= {k: (plain.best[k], plain.probability[k]) for k in range(first)}
    each = [said.get(k, (None, 0.0)) for k in range(len(layers))]
    return LayerGuesses(tuple(token for token, _ in each), tuple(p for _, p in each), own.cpu().numpy())


def factors_of(model: Transformer, heads: str) -> Factors:
    """The heads of a model that a text changes, as in "2.5*0 1.3*-1"."""
    factors, _ = read_factors(heads, heads_there(model.config))
    return factors


def sampled(guesses: LayerGuesses, sampling: Sampling) -> Float[ndarray, " vocab"]:
    """The probability with which each token is drawn next."""
    if sampling == Sampling():
        return guesses.final
    logits = torch.tensor(guesses.final).clamp_min(torch.finfo(torch.float32).tiny).log()
    return sampling.distribution(logits).numpy()


def draw_token(guesses: LayerGuesses, sampling: Sampling, seed: int) -> int:
    """The next token.

    Args:
        seed: the same one draws the same token from the same probabilities.
    """
    return draw(torch.tensor(sampled(guesses, sampling)).double(), torch.Generator().manual_seed(seed))


def read_factors(text: str, there: Sequence[Sequence[bool]]) -> tuple[dict[tuple[int, int], float], bool]:
    """Heads and what they are multiplied by, of a text such as "2.5*0 1.3*-1.5", and whether all of it made sense.

    Args:
        there: which heads each layer has, see heads_there.
    """
    factors: dict[tuple[int, int], float] = {}
    exact = True
    for word in text.split():
        head, _, by = word.partition("*")
        layer, _, number = head.partition(".")
        try:
            place, factor = (int(layer), int(number)), float(by)
        except ValueError:
            exact = False
            continue
        known = 0 <= place[0] < len(there) and 0 <= place[1] < len(there[place[0]]) and there[place[0]][place[1]]
        if known and abs(factor) <= LARGEST:
            factors[place] = factor
        else:
            exact = False
    return {place: by for place, by in sorted(factors.items()) if by != 1}, exact


def written_factors(factors: Factors) -> str:
    """Heads and factors as `read_factors` reads them."""
    return " ".join(f"{layer}.{head}*{by:g}" for (layer, head), by in sorted(factors.items()) if by != 1)
