"""Neurons of any decoder on one text: the share of each in the logit of the token that is expected next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.measures.logit_attribution import stream_direction
from tfcore.measures.one_text import last_tokens, one_text
from tfcore.measures.shared_layers import PlainRun, run_above
from tfcore.measures.text_loss import has_ended
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.block.feedforward.measure.neurons import (
    NeuronEffect,
    Promotion,
    describe_effect,
    logits_of,
    neuron_off,
    promoted,
    value_vectors,
)

SHOWN = 12  # neurons of a picture
WORDS = 2  # tokens that are named for a neuron
SUREST = 5  # predictions among which the one shown at first is


@dataclass(frozen=True, slots=True)
class NeuronReading:
    """A text as the neurons of a decoder read it.

    Args:
        run: the run itself, from which edited ones begin.
        tokens: of the text.
        values: the activation of every neuron at every token.
        scale: what the final norm divides by at each token.
        expected, probability: the id that is most probable after each token, and its probability.
        names: the expected tokens.
    """

    run: PlainRun
    tokens: list[str]
    values: Float[ndarray, "layer seq neuron"]
    scale: Float[ndarray, " seq"]
    expected: Int[ndarray, " seq"]
    probability: Float[ndarray, " seq"]
    names: list[str]


def without_shares(config: ModelConfig) -> str | None:
    """Why the neurons of a model have no shares in a logit, or None."""
    if config.ff_size == 0:
        return "it has no feed-forward layers."
    if config.experts is not None:
        return "its feed-forward layers are experts, each with neurons of its own."
    if config.norm.placement != "pre" or config.head != "lm" or config.architecture != "decoder":
        return "what a neuron writes is not a plain term of its logits: that takes a pre-norm language model."
    return None


@torch.no_grad()
def read_neurons(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> NeuronReading:
    """Run a model on the last tokens of a text, of which there must be one, and keep what its neurons do.

    Raises:
        ValueError: a model without such neurons; the message says why.
    """
    if reason := without_shares(model.config):
        raise ValueError(f"this model cannot be split into neurons: {reason}")
    read, layers = last_tokens(model, tokenizer, text, limit), range(model.config.n_layers)
    posts, streams = ([f"blocks.{i}.{name}" for i in layers] for name in ("mlp.post", "resid_pre"))
    output = model(one_text(model, read.ids), capture=[*posts, *streams, "ln_final.scale"])
    activations = output.activations
    (logits,) = output.logits.float()
    probability, expected = logits.softmax(1).max(1)
    return NeuronReading(
        run=PlainRun(tuple(read.ids), tuple(activations[name] for name in streams), output.hidden),
        tokens=list(read.tokens),
        values=torch.cat([activations[name] for name in posts]).float().cpu().numpy(),
        scale=activations["ln_final.scale"].flatten().float().cpu().numpy(),
        expected=expected.cpu().numpy(),
        probability=probability.cpu().numpy(),
        names=tokenizer.tokens(expected.tolist()),
    )


@torch.no_grad()
def neuron_shares(
    model: Transformer, reading: NeuronReading, positions: Sequence[int]
) -> Float[ndarray, "position layer neuron"]:
    """The share of every neuron in the logit of the token expected after each position, above the mean of all logits.

    share = activation * (v . u) / s, with the neuron's value vector v, the token's direction u behind the final norm,
    and the number s that this norm divides by: direct logit attribution (arXiv:2211.00593, section 3.1) for each column
    of W_down. All shares of a layer add up to that of the layer without its bias.
    """
    u = stream_direction(model, reading.expected[positions].tolist()).to(model.dtype)
    along = torch.stack([u @ value_vectors(model, layer) for layer in range(model.config.n_layers)], 1)
    values = reading.values[:, positions].swapaxes(0, 1)  # (position, layer, neuron)
    return values * along.float().cpu().numpy() / reading.scale[positions, None, None]


def first_token(model: Transformer, reading: NeuronReading) -> int:
    """The token to look at first: the last one; where a sentence ends there, of those after which a word is expected
    surest the one where a single neuron has the largest share in it."""
    words = [i for i in np.argsort(-reading.probability).tolist() if reading.names[i].strip().isalpha()]
    if not words or not has_ended("".join(reading.tokens)):
        return len(reading.tokens) - 1
    surest = words[:SUREST]
    return surest[int(neuron_shares(model, reading, surest).max((1, 2)).argmax())]


@dataclass(frozen=True, slots=True)
class WritingNeuron:
    """A neuron with its share in a logit, and the tokens that it raises most with the sign of its activation."""

    layer: int
    neuron: int
    share: float
    raised: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WritingNeurons:
    """The neurons that write for and against the token that is expected next.

    Args:
        token, position: after which it is expected.
        expected, probability: that token.
        total: neurons of the model.
        largest: those with the largest shares by size, from the largest to the smallest share.
        all: the sum of all shares.
        half: how many neurons, the largest first, come to half of all that raises the logit.
    """

    token: str
    position: int
    expected: str
    probability: float
    total: int
    largest: tuple[WritingNeuron, ...]
    all: float
    half: int


@torch.no_grad()
def writing_neurons(
    model: Transformer, tokenizer: Tokenizer, reading: NeuronReading, position: int, count: int = SHOWN
) -> WritingNeurons:
    """Find the neurons with the largest shares at one token."""
    (shares,) = neuron_shares(model, reading, [position])
    places = largest_shares(shares, count)
    vectors = [value_vectors(model, i)[:, j] * float(reading.values[i, position, j]) for i, j in places]
    lifts = logits_of(model, torch.stack(vectors))  # one product: the unembedding is read once for all
    raised = [tuple(tokenizer.tokens(ids)) for ids in lifts.topk(min(WORDS, lifts.shape[-1])).indices.tolist()]
    raising = np.sort(shares[shares > 0], axis=None)[::-1].cumsum(dtype=float)
    return WritingNeurons(
        token=reading.tokens[position],
        position=position,
        expected=reading.names[position],
        probability=float(reading.probability[position]),
        total=shares.size,
        largest=tuple(
            WritingNeuron(*place, float(shares[place]), own) for place, own in zip(places, raised, strict=True)
        ),
        all=float(shares.sum(dtype=float)),
        half=int(np.searchsorted(raising, raising[-1] / 2)) + 1 if len(raising) else 0,
    )


def largest_shares(shares: Float[ndarray, "layer neuron"], count: int) -> list[tuple[int, int]]:
    """Layer and number of the neurons with the largest shares by size, from the largest to the smallest share."""
    best = np.argsort(-np.abs(shares), axis=None, kind="stable")[:count]
    ordered = best[np.argsort(-shares.ravel()[best], kind="stable")]
    return [(int(i // shares.shape[1]), int(i % shares.shape[1])) for i in ordered]


@torch.no_grad()
def promotion_here(
    model: Transformer, tokenizer: Tokenizer, reading: NeuronReading, position: int, layer: int, neuron: int
) -> Promotion:
    """The effect of a neuron at one token: the tokens it raises and lowers there, and the probability of the expected
    token with the neuron set to 0 at this place, by a run from its layer on."""
    activation = float(reading.values[layer, position, neuron])
    token = int(reading.expected[position])
    ((hidden,),) = run_above(model, reading.run, layer, [[neuron_off(layer, neuron, position)]])
    logits = cast("Tensor", model.to_logits(hidden[position]))
    effect = NeuronEffect(
        activation=activation,
        lift=(activation * promoted(model, layer, neuron) / float(reading.scale[position])).float().cpu().numpy(),
        followed=token,
        with_it=float(reading.probability[position]),
        without_it=float(logits.float().softmax(-1)[token]),
    )
    return describe_effect(model, tokenizer, layer, neuron, effect)
