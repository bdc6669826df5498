"""Neurons of feed-forward layers as keys and values (arXiv:2012.14913): where each is active, what each promotes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from tfcore.inspection.edits import Edit
from tfcore.measures.lenses import unembedding
from tfcore.measures.logit_attribution import frozen_norm
from tfcore.measures.neuron_scan import Snippet, load_neuron_scan, neuron_activations, snippets
from tfcore.measures.one_text import one_text, piece_of
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def value_vectors(model: Transformer, layer: int) -> Float[Tensor, "d_model neuron"]:
    """Vectors that neurons of a layer add to the stream for each unit of their activation: the columns of W_down."""
    down: nn.Linear = model.decoder.blocks[layer].mlp.down  # type: ignore[union-attr,assignment]
    return down.weight


def promoted(model: Transformer, layer: int, neuron: int) -> Float[Tensor, " vocab"]:
    """The direct effect of one unit of a neuron's activation on each token's logit: E (gamma * v).

    The value vector v goes through the final norm's weights gamma (a LayerNorm centres it first) and the unembedding E;
    what later layers make of it is left out, and so is the division by the size of the stream, which shifts no order
    (arXiv:2012.14913, section 4.1).
    """
    return logits_of(model, value_vectors(model, layer)[:, neuron])


def logits_of(model: Transformer, written: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
    """Each token's logit from vectors in the stream, but for the number that the final norm divides by."""
    own = frozen_norm(model.decoder.ln_final, written, torch.ones(1).to(model.device))
    return own.to(model.dtype) @ unembedding(model).mT * model.config.logit_scale


def strongest_texts(model: Transformer, scan_of: str, layer: int, neuron: int, side: int) -> list[Snippet]:
    """The texts with the largest activations of a neuron, from the scan that ships with the model of a name."""
    return snippets(model, load_neuron_scan(scan_of), layer, neuron, side)


@dataclass(frozen=True, slots=True)
class NeuronEffect:
    """The effect of a neuron at the token where its activation is largest.

    Args:
        activation: of the neuron, there.
        lift: its direct effect on the logit of each token.
        followed: id of the token that comes next in the text; None where the text ends.
        with_it, without_it: probability of that token as the model is, and with the neuron set to 0 at this place.
    """

    activation: float
    lift: Float[ndarray, " vocab"]
    followed: int | None
    with_it: float
    without_it: float


@torch.no_grad()
def neuron_effect(model: Transformer, layer: int, neuron: int, snippet: Snippet) -> NeuronEffect:
    """The direct effect of a neuron on the logits, and the probability of the next token with the neuron set to 0.

    The lift is activation * E (gamma * v) / scale, with the final norm's scale at this place: the neuron's own part of
    the logits. What later layers compute from it is in the probabilities alone.
    """
    ids, name = one_text(model, snippet.ids), f"blocks.{layer}.mlp.post"
    as_is = model(ids, capture=("ln_final.scale", name))
    without = model(ids, edits=[neuron_off(layer, neuron, snippet.peak)])
    (post,), (scale,) = as_is.activations[name], as_is.activations["ln_final.scale"]
    value = float(post[snippet.peak, neuron])
    lift = value * promoted(model, layer, neuron) / scale[snippet.peak]
    followed = next(iter(snippet.ids[snippet.peak + 1 :]), None)
    here = (logits.softmax(1)[snippet.peak] for (logits,) in (as_is.logits, without.logits))
    with_it, without_it = (math.nan if followed is None else float(probabilities[followed]) for probabilities in here)
    return NeuronEffect(value, lift.cpu().numpy(), followed, with_it, without_it)


def neuron_off(layer: int, neuron: int, position: int) -> Edit:
    """The edit that sets a neuron to 0 at one token."""

    def off(post: Tensor) -> Tensor:
        post[..., neuron] = 0
        return post

    return Edit(f"blocks.{layer}.mlp.post", off, positions=[position])


@dataclass(frozen=True, slots=True)
class ActiveNeuron:
    """A neuron at one token of a text.

    Args:
        layer, neuron: which.
        side: 0 where it is compared with its largest activation in the scan (its record), 1 with its smallest.
        share: the activation over that record.
        value: the activation.
    """

    layer: int
    neuron: int
    side: int
    share: float
    value: float


@torch.no_grad()
def text_activations(model: Transformer, ids: Sequence[int]) -> Float[ndarray, "layer seq neuron"]:
    """Every neuron at every token of a text."""
    return neuron_activations(model, one_text(model, ids)).squeeze(1).float().cpu().numpy()


def most_active(
    values: Float[ndarray, "layer neuron"], records: Float[ndarray, "layer neuron side"], kept: int
) -> list[ActiveNeuron]:
    """The neurons of one token with the largest shares of their records, the largest first.

    Args:
        values: of this token.
        records: the largest activation of each side in the scan.
    """
    shares = values[..., None] / np.where(records == 0, np.inf, records)  # a value of the other sign is below 0
    best = np.argsort(-shares, axis=None, kind="stable")[:kept]
    places = zip(*np.unravel_index(best, shares.shape), strict=True)
    return [
        ActiveNeuron(int(i), int(j), int(side), float(shares[i, j, side]), float(values[i, j])) for i, j, side in places
    ]


@dataclass(frozen=True, slots=True)
class Promotion:
    """The tokens that a neuron promotes where its activation is largest.

    Args:
        layer, neuron: which.
        d_model, vocab: of the model.
        activation: of the neuron, there.
        tokens, lifts: those whose logits it raises most, then those it lowers most, and its direct effect on them.
        followed: the token that comes next in that text; None where the text ends.
        with_it, without_it: probability of that token as the model is, and with the neuron set to 0.
    """

    layer: int
    neuron: int
    d_model: int
    vocab: int
    activation: float
    tokens: tuple[str, ...]
    lifts: tuple[float, ...]
    followed: str | None
    with_it: float
    without_it: float


def promotion(
    model: Transformer,
    tokenizer: Tokenizer,
    scan_of: str,
    layer: int,
    neuron: int,
    side: int,
    raised: int = 8,
    lowered: int = 4,
) -> Promotion:
    """The tokens that a neuron promotes in the text where its activation is largest.

    Args:
        scan_of: name of the model, whose scan has that text.
        side: 0 for the largest positive activation, 1 for the largest negative one.
        raised, lowered: how many tokens.
    """
    effect = neuron_effect(model, layer, neuron, strongest_texts(model, scan_of, layer, neuron, side)[0])
    return describe_effect(model, tokenizer, layer, neuron, effect, raised, lowered)


def describe_effect(
    model: Transformer,
    tokenizer: Tokenizer,
    layer: int,
    neuron: int,
    effect: NeuronEffect,
    raised: int = 8,
    lowered: int = 4,
) -> Promotion:
    """The tokens that a neuron promotes at one place of a text; arguments as of `promotion`."""
    order = np.argsort(-effect.lift, kind="stable")
    ids = [*order[:raised].tolist(), *order[-lowered:].tolist()]
    return Promotion(
        layer=layer,
        neuron=neuron,
        d_model=model.config.d_model,
        vocab=model.config.vocab_size,
        activation=effect.activation,
        tokens=tuple(tokenizer.tokens(ids)),
        lifts=tuple(effect.lift[ids].tolist()),
        followed=None if effect.followed is None else piece_of(tokenizer, effect.followed),
        with_it=effect.with_it,
        without_it=effect.without_it,
    )


def promoted_tokens(
    model: Transformer, tokenizer: Tokenizer, layer: int, neuron: int, side: int, count: int = 5
) -> list[str]:
    """The tokens whose logits a neuron raises most where its activation is positive (side 0) or negative (side 1)."""
    lift = promoted(model, layer, neuron).cpu().numpy()
    return tokenizer.tokens(np.argsort(lift if side else -lift)[:count].tolist())
