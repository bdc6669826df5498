"""What edits do to a model's predictions: one set of edits looked at closely, or many sets side by side.

Edits belong to one forward pass. The model is never changed, so whoever else uses it at the same time sees nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.one_text import one_text
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer

ROWS = 32  # sets of edits that share a pass


@dataclass(frozen=True, slots=True)
class Effect:
    """A model's prediction after one position, without and with edits, and its loss on the whole text.

    Args:
        before, after: probability of every token.
        losses_before, losses_after: nats, of every next token of the text.
    """

    before: Float[ndarray, " vocab"]
    after: Float[ndarray, " vocab"]
    losses_before: Float[ndarray, " next"]
    losses_after: Float[ndarray, " next"]

    @property
    def bits(self) -> float:
        """KL(before || after) in bits: how far the prediction has moved."""
        return float(divergence(torch.from_numpy(self.before).log(), torch.from_numpy(self.after).log()))


def divergence(before: Float[Tensor, "*#batch vocab"], after: Float[Tensor, "*batch vocab"]) -> Float[Tensor, "*batch"]:
    """KL(p || q) = sum of p log2(p / q), in bits, of log-probabilities (natural logarithms)."""
    terms = before.exp() * (before - after)
    return terms.nan_to_num(0.0).sum(-1).clamp(min=0) / torch.log(torch.tensor(2.0))  # 0 log 0 is 0


def next_losses(logits: Float[Tensor, "row seq vocab"], ids: Sequence[int]) -> Float[Tensor, "row next"]:
    """Cross-entropy of each next token of a text, in nats."""
    targets = torch.tensor(list(ids[1:]), dtype=torch.int64, device=logits.device)
    return F.cross_entropy(logits[:, :-1].mT, targets.expand(len(logits), -1), reduction="none")


@torch.no_grad()
def effect(model: Transformer, ids: Sequence[int], edits: Sequence[Edit], position: int) -> Effect:
    """Run a text without and with edits."""
    both = torch.cat(list(run_each(model, ids, [(), edits])))  # (2, seq, vocab)
    before, after = both[:, position].softmax(-1).cpu().numpy()
    losses_before, losses_after = next_losses(both, ids).cpu().numpy()
    return Effect(before, after, losses_before, losses_after)


def run_each(
    model: Transformer, ids: Sequence[int], sets: Sequence[Sequence[Edit]]
) -> Iterator[Float[Tensor, "row seq vocab"]]:
    """The logits of a text under each set of edits, some sets at a time: the rows of one batch, each with its own.

    Where experts have a limited capacity, rows of a batch would compete for it, so they run one by one.
    """
    experts = model.config.experts
    alone = experts is not None and (experts.capacity_factor is not None or experts.routing == "experts")
    step = 1 if alone else ROWS
    with torch.no_grad():
        for start in range(0, len(sets), step):
            part = sets[start : start + step]
            edits = [replace(edit, rows=[row]) for row, chosen in enumerate(part) for edit in chosen]
            yield model(one_text(model, ids).expand(len(part), -1), edits=edits).logits.float()
