"""Steering: a direction added to the stream with a factor, what the model then predicts and writes, and the factor at
which its text collapses (activation addition, arXiv:2308.10248)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.config import ModelConfig
from tfcore.inspection.edits import Edit
from tfcore.kv_cache import KVCache
from tfcore.loading.transcoders import chosen_dictionary
from tfcore.measures.dictionaries.feature_scan import load_feature_scan
from tfcore.measures.effect_metric import logits_of
from tfcore.measures.one_text import one_text
from tfcore.measures.parameter_count import built_parameters
from tfcore.measures.text_loss import token_losses
from tfcore.model import Transformer
from tfcore.views.inside.features.measure.of_text import dictionary_layer, feature_title
from tfcore.views.inside.probing.measure.by_layer import stream_names
from tfcore.views.inside.probing.measure.two_classes import Direction

FACTORS = (-8.0, -6.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
NEW_TOKENS = 20
MOST_REPEATED = 0.6  # share of the continuation's runs of three tokens that stood in it before
MOST_NATS = 4.0  # per token of the continuation, by the model as it is: perplexity 55
RUN = 3  # tokens
START = "blocks.0.resid_pre"
AUTOENCODER = 4  # index of the sparse autoencoder among the dictionaries of a model


@dataclass(frozen=True, slots=True)
class OfFeature:
    """The direction of a feature of a model's sparse autoencoder.

    Args:
        model: its name.
        feature: its number.
    """

    model: str
    feature: int


def feature_direction(name: str, feature: int, dictionary: int = AUTOENCODER) -> Direction:
    """The direction that a feature of a model's sparse autoencoder writes, as long as where its activation is the
    largest of held-out texts."""
    of, scan = chosen_dictionary(name, dictionary), load_feature_scan(name)
    vector = float(scan.value[dictionary, feature, 0]) * of.W_dec[feature].detach().float().cpu().numpy()
    return Direction(feature_title(of, feature), dictionary_layer(of) + 1, vector)


@dataclass(frozen=True, slots=True)
class Steered:
    """A text continued with a direction added at every token, for each of FACTORS.

    Args:
        title: of the direction.
        probabilities: of the next token.
        tokens: the greedy continuation, as far as it is written.
        nats: mean cross-entropy of the continuation by the model as it is; None while it is being written.
    """

    title: str
    probabilities: Float[ndarray, "factor vocab"]
    tokens: Int[ndarray, "factor new"]
    nats: Float[ndarray, " factor"] | None = None

    def repeated(self) -> Float[ndarray, " factor"]:
        """Share of the continuation's runs of three tokens that stood in it before."""
        return np.array([repeated_share(row) for row in self.tokens.tolist()])


def repeated_share(tokens: Sequence[int]) -> float:
    """1 - different runs of RUN tokens / runs of RUN tokens; 0 where there is none."""
    runs = [tuple(tokens[i : i + RUN]) for i in range(len(tokens) - RUN + 1)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def operations(config: ModelConfig, tokens: int) -> float:
    """Floating-point operations of `steer`, about: two for each parameter and token, read once steered, once not."""
    return 4.0 * built_parameters(config) * len(FACTORS) * (tokens + NEW_TOKENS)


@torch.no_grad()
def steer(model: Transformer, ids: Sequence[int], along: Direction, new_tokens: int = NEW_TOKENS) -> Iterator[Steered]:
    """The text so far after each new token, a row of one batch for each factor; at the end with its cross-entropy.

    The model is untouched: the direction is an edit of these passes. x <- x + factor * vector, at every token.
    """
    device, rows = model.device, len(FACTORS)
    change = torch.tensor(FACTORS, device=device)[:, None, None] * torch.tensor(along.vector).to(device)
    room = min(new_tokens, model.config.max_seq_len - len(ids))
    cache = KVCache(model.config, capacity=len(ids) + room, device=device, dtype=model.dtype)
    begun = model.activations(one_text(model, ids), START)[START]
    stream = model.resume(begun, 0, cache=cache, until=along.layer)  # below, all factors are the same
    cache.select(torch.zeros(rows, dtype=torch.int64, device=device))
    hidden = model.resume(stream + change.to(stream), along.layer, cache=cache)
    cache.advance(len(ids))
    logits = logits_of(model, hidden[:, -1])
    prompt = one_text(model, ids).expand(rows, -1)
    written = prompt[:, :0]
    edits = [Edit(stream_names(model.config)[along.layer], lambda x: x + change.to(x))]
    steered = Steered(along.title, logits.softmax(1).cpu().numpy(), written.cpu().numpy())
    for _ in range(room):
        written = torch.cat([written, logits.argmax(1, keepdim=True)], 1)
        steered = replace(steered, tokens=written.cpu().numpy())
        yield steered
        if written.shape[1] < room:
            logits = model(written[:, -1:], cache=cache, edits=edits).logits.squeeze(1).float()
    yield replace(steered, nats=continuation_nats(model, prompt, written))


def continuation_nats(
    model: Transformer, prompt: Int[torch.Tensor, "row seq"], written: Int[torch.Tensor, "row new"]
) -> Float[ndarray, " row"]:
    """Mean cross-entropy of each continuation, by the model without edits; 0 where there is none."""
    if not written.shape[1]:
        return np.zeros(len(written))
    rows, new = torch.cat([prompt, written], 1), written.shape[1]
    losses = []
    for row in rows.split(4):  # all logits at once would be row * new * vocab numbers
        logits = model(row[:, :-1], logits_to_keep=new).logits.float()
        losses.append(token_losses(logits, row[:, -new:]).mean(1))
    return torch.cat(losses).cpu().numpy()


def followed_tokens(steered: Steered, count: int = 6) -> list[int]:
    """The tokens with the highest probability at any factor, the highest first."""
    highest = steered.probabilities.max(0)
    return np.argsort(-highest, kind="stable")[:count].tolist()


def collapsed(steered: Steered) -> list[bool]:
    """Whether, at each factor, a finished continuation repeats itself, or the model as it is finds it improbable.

    Raises:
        ValueError: it is still being written.
    """
    if steered.nats is None:
        raise ValueError("the continuations are still being written; take the last of the results of steer")
    return [bool(r > MOST_REPEATED or n > MOST_NATS) for r, n in zip(steered.repeated(), steered.nats, strict=True)]
