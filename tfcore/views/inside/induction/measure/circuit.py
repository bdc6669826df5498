"""Circuits of two heads: composition scores from the weights alone, and path patching."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.inspection.edits import Edit
from tfcore.measures.heads.compositions import INPUTS, composition
from tfcore.measures.heads.induction_heads import (
    Place,
    evaluate_heads,
    random_rows,
    rows_for,
    tested_length,
    twice,
    zeroed_heads,
)
from tfcore.measures.heads.kinds import mean_weight, targets
from tfcore.measures.text_loss import next_losses
from tfcore.model import Transformer
from tfcore.views.kept import kept


@dataclass(frozen=True, slots=True)
class PatchedRun:
    """Attention and losses with one input of the receivers patched.

    Args:
        patched: "none", "query", "key", "value", or "all": the senders are ablated for every reader.
        induction: mean weight of the receivers on the token after the earlier occurrence of the query token.
        first_loss, second_loss: nats per token on the first copy and on the second.
    """

    patched: str
    induction: float
    first_loss: float
    second_loss: float


@torch.no_grad()
def patch_paths(
    model: Transformer, ids: Int[Tensor, "rows seq"], length: int, senders: Sequence[Place], receivers: Sequence[Place]
) -> list[PatchedRun]:
    """Path patching: for Q, K and V in turn, replace what `receivers` read with its value from a run without `senders`.

    All else of the run is unchanged (arXiv:2304.05969). The patched runs share the layers below the receivers, in
    which nothing changes.

    Args:
        ids: (rows, 2 * length), each row a sequence followed by itself.
    """
    ids = ids.to(model.device)
    layers = sorted({layer for layer, _ in receivers})
    first = layers[0] if layers else model.config.n_layers - 1
    stream, patterns = f"blocks.{first}.resid_pre", [f"blocks.{layer}.attn.pattern" for layer in layers]
    inputs = [f"blocks.{layer}.attn.{part}" for layer in layers for part in INPUTS.values()]
    plain = model(ids, capture=[stream, *patterns])
    without = model(ids, capture=[*inputs, *patterns], edits=zeroed_heads(senders))
    edits = edits_of_receivers(model, without.activations, receivers)
    runs = {"none": (plain.logits, plain.activations)}
    for patched, part in INPUTS.items():
        seen: dict[str, Tensor] = {}
        looks = [Edit(name, partial(_note, seen, name)) for name in patterns]
        own = [edit for edit in edits if edit.name.endswith(f".{part}")]
        hidden = model.resume(plain.activations[stream], first, edits=[*own, *looks])
        runs[patched] = cast("Tensor", model.to_logits(hidden)), seen
    runs["all"] = without.logits, without.activations
    return [_patched_run(patched, *run, ids, length, receivers) for patched, run in runs.items()]


def _note(seen: dict[str, Tensor], name: str, value: Tensor) -> Tensor:
    """Keep an activation of a pass and leave it as it is."""
    seen[name] = value
    return value


def _patched_run(
    patched: str,
    logits: Float[Tensor, "rows seq vocab"],
    activations: Mapping[str, Tensor],
    ids: Int[Tensor, "rows seq"],
    length: int,
    receivers: Sequence[Place],
) -> PatchedRun:
    losses = next_losses(logits, ids)
    looked = [activations[f"blocks.{layer}.attn.pattern"][:, head] for layer, head in receivers]
    induction = 0.0
    if looked:
        patterns = torch.stack(looked, dim=1).float().cpu().numpy()  # (rows, receiver, query, key)
        rows = zip(patterns, ids.cpu().numpy(), strict=True)
        induction = float(np.mean([mean_weight(own[None], targets(row)["induction"]) for own, row in rows]))
    return PatchedRun(patched, induction, float(losses[:, : length - 1].mean()), float(losses[:, length:].mean()))


def edits_of_receivers(model: Transformer, recorded: Mapping[str, Tensor], receivers: Sequence[Place]) -> list[Edit]:
    """Edits that give the receivers the queries, keys and values of another run, recorded before."""
    group = model.config.attention.n_heads // model.config.attention.kv_heads  # query heads that share a KV head
    edits = []
    for layer, head in receivers:
        for part in INPUTS.values():
            at, name = head if part == "q" else head // group, f"blocks.{layer}.attn.{part}"
            edits.append(Edit.replace(name, recorded[name][:, [at]], heads=[at]))
    return edits


MOST_PAIRS = 2_500  # of heads, up to which all are drawn: a figure of 80,000 dots takes 2.5 MB and half a minute
HIGHEST_PAIRS = 800  # of more, how many of the highest are drawn at least


def drawn_every(pairs: int) -> int:
    """One in how many of so many pairs is drawn, in the order of their scores, besides the highest; 1: all of them."""
    return 1 if pairs <= MOST_PAIRS else math.ceil((pairs - HIGHEST_PAIRS) / (MOST_PAIRS - HIGHEST_PAIRS))


def places_of_drawn(scores: Float[ndarray, "head earlier_layer earlier_head"]) -> list[int]:
    """The places in the flattened scores of the pairs that are drawn, the highest first."""
    order: list[int] = np.argsort(-scores.ravel(), kind="stable").tolist()
    return order[:HIGHEST_PAIRS] + order[HIGHEST_PAIRS :: drawn_every(scores.size)]


def _paths(model: Transformer, seed: int, senders: tuple[Place, ...], receivers: tuple[Place, ...]) -> list[PatchedRun]:
    length = tested_length(model.config)
    ids = twice(random_rows(model.config.vocab_size, length, rows_for(model.config), seed))
    return patch_paths(model, ids, length, senders, receivers)


composition_of = kept(composition, entries=32)
paths_of = kept(_paths, entries=32)
tests_of = kept(evaluate_heads, entries=24)
