"""Which way one head's words reach another: through its queries, its keys or its values."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from tfcore.analysis.copying import Copying, Place, copying, switched_off
from tfcore.edits import Edit
from tfcore.model import Transformer

DOORS = {"query": "q", "key": "k", "value": "v"}


@dataclass(frozen=True, slots=True)
class Closed:
    """What is left when one way is closed.

    Args:
        door: "none", "query", "key", "value", or "all": the senders write nothing at all, for nobody.
        induction: mean weight of the receivers on the token that came next the last time.
        first_loss, second_loss: nats a token on the first copy and on the second.
    """

    door: str
    induction: float
    first_loss: float
    second_loss: float


def close_doors(
    model: Transformer, ids: Int[Tensor, "rows seq"], length: int, senders: Sequence[Place], receivers: Sequence[Place]
) -> list[Closed]:
    """Let receivers hear nothing of senders through one door at a time; all other ways stay open.

    The model runs once without the senders, and the queries (keys, values) that the receivers then have are put in
    place of theirs in an untouched run (path patching, arXiv:2304.05969).

    Args:
        ids, length: rows that are said twice, and the length of one copy.
    """
    deaf = without(model, ids, senders, receivers)
    runs: dict[str, Copying] = {"none": copying(model, ids, length)}
    for door, name in DOORS.items():
        runs[door] = copying(model, ids, length, edits=[edit for edit in deaf if edit.name.endswith(f".{name}")])
    runs["all"] = copying(model, ids, length, off=senders)
    return [
        Closed(
            door, float(sum(run.scores["induction"][at] for at in receivers) / max(1, len(receivers))),
            run.first_loss, run.second_loss,
        )
        for door, run in runs.items()
    ]  # fmt: skip


@torch.no_grad()
def without(
    model: Transformer, ids: Int[Tensor, "rows seq"], senders: Sequence[Place], receivers: Sequence[Place]
) -> list[Edit]:
    """Edits that give the receivers the queries, keys and values they would have if the senders wrote nothing."""
    group = model.config.n_heads // model.config.kv_heads  # query heads that share a key/value head
    names = [f"blocks.{layer}.attn.{part}" for layer in {at for at, _ in receivers} for part in DOORS.values()]
    found = model(ids, capture=names, edits=switched_off(senders)).activations
    edits = []
    for layer, head in receivers:
        for part in DOORS.values():
            at, name = head if part == "q" else head // group, f"blocks.{layer}.attn.{part}"
            edits.append(Edit.replace(name, found[name][:, [at]], heads=[at]))
    return edits
