"""Path patching: through which input, Q, K or V, a head depends on what earlier heads write (arXiv:2304.05969)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from tfcore.analysis.inside.copying import Copying, Place, copying, switched_off
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer

DOORS = {"query": "q", "key": "k", "value": "v"}


@dataclass(frozen=True, slots=True)
class Closed:
    """What is left with one input patched.

    Args:
        door: "none", "query", "key", "value", or "all": the senders write nothing at all, for nobody.
        induction: mean weight of the receivers on the token after the earlier occurrence of the query token.
        first_loss, second_loss: nats per token on the first copy and on the second.
    """

    door: str
    induction: float
    first_loss: float
    second_loss: float


def close_doors(
    model: Transformer, ids: Int[Tensor, "rows seq"], length: int, senders: Sequence[Place], receivers: Sequence[Place]
) -> list[Closed]:
    """Path patching: for Q, K and V in turn, replace what `receivers` read with its value from a run without `senders`.

    All else of the run is unchanged (arXiv:2304.05969).

    Args:
        ids: (rows, 2 * length), each row a sequence followed by itself.
    """
    deaf = without(model, ids, senders, receivers)
    runs: dict[str, Copying] = {"none": copying(model, ids, length)}
    for door, name in DOORS.items():
        runs[door] = copying(model, ids, length, edits=[edit for edit in deaf if edit.name.endswith(f".{name}")])
    runs["all"] = copying(model, ids, length, off=senders)
    return [
        Closed(
            door,
            float(sum(run.scores["induction"][at] for at in receivers) / max(1, len(receivers))),
            run.first_loss,
            run.second_loss,
        )
        for door, run in runs.items()
    ]


@torch.no_grad()
def without(
    model: Transformer, ids: Int[Tensor, "rows seq"], senders: Sequence[Place], receivers: Sequence[Place]
) -> list[Edit]:
    """Edits that give the receivers the queries, keys and values they would have if the senders wrote nothing."""
    group = model.config.n_heads // model.config.kv_heads  # query heads that share a KV head
    names = [f"blocks.{layer}.attn.{part}" for layer in {at for at, _ in receivers} for part in DOORS.values()]
    found = model(ids, capture=names, edits=switched_off(senders)).activations
    edits = []
    for layer, head in receivers:
        for part in DOORS.values():
            at, name = head if part == "q" else head // group, f"blocks.{layer}.attn.{part}"
            edits.append(Edit.replace(name, found[name][:, [at]], heads=[at]))
    return edits
