"""Neurons of the feed-forward layers as keys and values (arXiv:2012.14913): what excites each, what each promotes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from tfcore.analysis.block.neuron_scan import NeuronScan, activations
from tfcore.analysis.inside.logit_attribution import unembedding
from tfcore.analysis.one_text import one_text
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer


def value_vector(model: Transformer, layer: int, neuron: int) -> Float[Tensor, " d_model"]:
    """What a neuron adds to the residual stream for each unit of its activation: its column of W_down."""
    down: nn.Linear = model.decoder.blocks[layer].mlp.down  # type: ignore[union-attr,assignment]
    return down.weight[:, neuron]


def promoted(model: Transformer, layer: int, neuron: int) -> Float[Tensor, " vocab"]:
    """How much one unit of a neuron's activation lifts each token's logit, seen directly: E (gamma * v).

    The value vector v goes through the final norm's scale gamma and the unembedding E; what later layers make of it is
    left out, and so is the division by the size of the stream, which shifts no order (arXiv:2012.14913, section 4.1).
    """
    return unembedding(model) @ (model.decoder.ln_final.weight * value_vector(model, layer, neuron))


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text that excites a neuron.

    Args:
        ids: its tokens.
        peak: where the neuron is most active.
        values: the neuron's activation at every token, computed now.
        stored: the activation at the peak as the scan found it.
    """

    ids: tuple[int, ...]
    peak: int
    values: Float[ndarray, " seq"]
    stored: float


def snippets(model: Transformer, scan: NeuronScan, layer: int, neuron: int, side: int) -> list[Snippet]:
    """The texts the scan kept for a neuron, the strongest first, each read again by the model."""
    rows = [scan.ids(int(window)) for window in scan.window[layer, neuron, side]]
    longest = max(len(ids) for ids in rows)
    # What is appended to shorter ones comes after all that counts, and a decoder does not look ahead.
    batch = torch.cat([one_text(model, [*ids, *[0] * (longest - len(ids))]) for ids in rows])
    values = activations(model, batch)[layer, :, :, neuron].float().cpu().numpy()  # (row, seq)
    place = scan.position[layer, neuron, side], scan.value[layer, neuron, side]
    return [
        Snippet(tuple(ids), int(peak), own[: len(ids)], float(stored))
        for ids, own, peak, stored in zip(rows, values, *place, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Effect:
    """What a neuron does where a text excites it most.

    Args:
        activation: of the neuron, there.
        lift: by how much it lifts the logit of each token directly.
        followed: the token that comes next in the text; None where the text ends.
        with_it, without_it: probability of that token as the model is, and with the neuron set to 0 at this place.
    """

    activation: float
    lift: Float[ndarray, " vocab"]
    followed: int | None
    with_it: float
    without_it: float


@torch.no_grad()
def effect(model: Transformer, layer: int, neuron: int, snippet: Snippet) -> Effect:
    """Follow a neuron's value vector to the logits, and switch the neuron off to see what it is good for.

    The lift is activation * E (gamma * v) / scale, with the final norm's scale at this place: the part of the logits
    that is this neuron's own. Later layers may answer to it, which only the second measure sees.
    """
    ids, name = one_text(model, snippet.ids), f"blocks.{layer}.mlp.post"

    def off(post: Tensor) -> Tensor:
        post[..., neuron] = 0
        return post

    as_is = model(ids, capture=("ln_final.scale", name))
    without = model(ids, edits=(Edit(name, off, positions=[snippet.peak]),))
    value = float(as_is.activations[name][0, snippet.peak, neuron])
    scale = as_is.activations["ln_final.scale"][0, snippet.peak]
    lift = value * promoted(model, layer, neuron) / scale
    followed = snippet.ids[snippet.peak + 1] if snippet.peak + 1 < len(snippet.ids) else None
    chances = [o.logits[0, snippet.peak].softmax(-1)[followed or 0] for o in (as_is, without)]
    return Effect(value, lift.cpu().numpy(), followed, float(chances[0]), float(chances[1]))


@dataclass(frozen=True, slots=True)
class Excited:
    """Neurons that a token of a text excites most, measured by their own records.

    Args:
        layer, neuron, side: which.
        share: the activation over the record of that side.
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
    return activations(model, one_text(model, ids))[:, 0].float().cpu().numpy()


def most_excited(
    values: Float[ndarray, "layer neuron"], records: Float[ndarray, "layer neuron side"], kept: int = 12
) -> list[Excited]:
    """The neurons of one token, those nearest to (or beyond) the largest activation ever seen of them first.

    Args:
        values: of this token.
        records: the strongest activation of each side in the scan.
    """
    shares = values[..., None] / np.where(records == 0, np.inf, records)  # a value of the other sign is below 0
    best = np.argsort(-shares, axis=None, kind="stable")[:kept]
    places = zip(*np.unravel_index(best, shares.shape), strict=True)
    return [
        Excited(int(layer), int(neuron), int(side), float(shares[layer, neuron, side]), float(values[layer, neuron]))
        for layer, neuron, side in places
    ]
