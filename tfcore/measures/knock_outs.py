"""Knock-outs: what ablating each part of a model alone does, measured exactly, in runs that share the layers below."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.measures.effect_metric import Quantity, measured
from tfcore.measures.interventions import Action, Part, edits_for, flat_parts, parts_of
from tfcore.measures.shared_layers import plain_run, run_above, weights_of_blocks
from tfcore.model import Transformer

ROUNDING = 1e-5  # effects below are rounding errors


SMALL = 0.1  # nats or logits: a part whose ablation changes the quantity by less hardly matters here


def operations(model: Transformer, runs: int, tokens: int) -> float:
    """About how many floating-point operations so many runs of a text take that each begin somewhere in the model: two
    for each weight of half its blocks, at every token."""
    return float(runs * tokens) * weights_of_blocks(model)


class LayerEffects(NamedTuple):
    """By how much a quantity falls when each part of one layer alone is ablated; NaN for parts that it lacks. Layers
    are the rows of parts_of."""

    layer: int
    effects: Float[ndarray, " part"]


@torch.no_grad()
def knock_out_each(
    model: Transformer, ids: Sequence[int], quantity: Quantity, action: Action
) -> Iterator[LayerEffects]:
    """The fall of the quantity when each part alone is ablated, layer by layer, the last layer first.

    Equal to a full run for each part: what stands below the ablated part is the same in all of them and is run once.
    """
    every = parts_of(model.config)
    run = plain_run(model, ids)
    whole = measured(model, run.hidden, ids, quantity)
    flat = flat_parts(every)
    edits = dict(zip(flat, edits_for(model, ids, flat, action), strict=True))
    for layer in reversed(range(len(every))):
        there = [part is not None for part in every[layer]]
        sets = [[edits[part]] for part in every[layer] if part is not None]
        effects = np.full(len(there), np.nan, np.float32)
        block = next((part.block(model.config) for part in every[layer] if part is not None), 0)
        values = [measured(model, hidden, ids, quantity) for hidden in run_above(model, run, block, sets)]
        if values:
            effects[there] = (whole - torch.cat(values)).float().cpu().numpy()
        yield LayerEffects(layer, effects)


def all_effects(by_layer: Sequence[LayerEffects], layers: int) -> Float[ndarray, "layer part"]:
    """The effects of all parts; NaN in layers that are not among those given, and for parts that a layer lacks."""
    first, *_ = by_layer
    effects = np.full((layers, len(first.effects)), np.nan, dtype=np.float32)
    for one in by_layer:
        effects[one.layer] = one.effects
    return effects


def merged(
    estimate: Float[ndarray, "layer part"], exact: Float[ndarray, "layer part"]
) -> tuple[Float[ndarray, "layer part"], Bool[ndarray, "layer part"]]:
    """The exact effects where they are known, estimates elsewhere (where exact alone is NaN), and which are
    estimates."""
    missing = np.isnan(exact) & ~np.isnan(estimate)
    return np.where(missing, estimate, exact), missing


def without_rounding(effects: Float[ndarray, "*effects"]) -> Float[ndarray, "*effects"]:
    """Effects with 0 in the place of rounding errors."""
    return np.where(np.abs(effects) < ROUNDING, 0.0, effects)


def strongest_head(effects: Float[ndarray, "layer part"], parts: Sequence[Sequence[Part | None]]) -> Part:
    """The head with the largest effect; of a model without heads the part."""
    every = {
        part: float(effect)
        for row, own in zip(effects, parts, strict=True)
        for effect, part in zip(row, own, strict=True)
        if part is not None
    }
    heads = [part for part in every if part.is_head] or list(every)
    return max(heads, key=lambda part: every[part])
