"""The Jacobian lens: what a state of the stream adds to the final ones, on average over texts, as one matrix."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Int
from safetensors.torch import load_file, save_file
from torch import Tensor

from tfcore import files
from tfcore.inspection.edits import LEAF
from tfcore.measures.lenses import stages
from tfcore.model import Transformer

STATE = "sums.safetensors"  # of a fit that was stopped
HALVES = 2  # that are summed apart: how like they are says how far the mean can be trusted


@dataclass(frozen=True, slots=True)
class MeanJacobians:
    """Mean Jacobians of the final state, one a state of the stream and half of the texts.

    Args:
        stages: names of the states.
        halves: the mean over the even and over the odd rows.
        rows: how many were read.
    """

    stages: tuple[str, ...]
    halves: Float[Tensor, "half stage d_model d_model"]
    rows: int

    @property
    def mean(self) -> Float[Tensor, "stage d_model d_model"]:
        """Over all rows, of which either half has as many."""
        return self.halves.mean(0)

    @property
    def agreement(self) -> Float[Tensor, " stage"]:
        """The cosine between the halves' matrices, less the identity, which both have from the residual connection."""
        moved = (self.halves - torch.eye(self.halves.shape[-1])).flatten(2)
        return torch.cosine_similarity(moved[0], moved[1], dim=1)


def mean_jacobians(
    model: Transformer,
    rows: Int[Tensor, "row seq"],
    chosen: Sequence[str],
    *,
    first: int = 16,
    at_once: int = 8,
    folder: Path | None = None,
    report: Callable[[int], None] = lambda _: None,
) -> MeanJacobians:
    """J_s = E[sum over t' >= t of d x_final(t') / d x_s(t)], the mean over texts and positions t, as in the reference
    code of the Jacobian lens (arXiv:2607.15495; `jlens.fitting`): one backward pass gives a row of all J_s.

    Args:
        rows: texts of one length, an even number of them.
        chosen: names of the states, see tfcore.measures.lenses.stages.
        first: positions that count begin here: earlier ones are sinks of attention and unlike all others.
        at_once: rows of J that one backward pass gives.
        folder: where sums are kept after every text, so that a stopped fit goes on; None keeps nothing.
        report: called with the number of texts read.

    Raises:
        ValueError: an odd number of texts, or texts that end before `first`.
    """
    if len(rows) % HALVES or rows.shape[1] <= first:
        raise ValueError(f"needs an even number of texts longer than {first} tokens, not {tuple(rows.shape)}")
    width, names = model.config.d_model, tuple(chosen)
    sums, done = torch.zeros(HALVES, len(names), width, width), 0
    path = None if folder is None else folder / STATE
    if path is not None and path.is_file():
        kept = load_file(path)
        sums, done = kept["sums"], int(kept["rows"])
    for i in range(done, len(rows)):
        sums[i % HALVES] += _of_text(model, rows[i], names, first, at_once)
        if path is not None:
            with files.as_a_whole(path) as beside:
                save_file({"sums": sums, "rows": torch.tensor(i + 1)}, beside)
        report(i + 1)
    return MeanJacobians(names, sums / (len(rows) / HALVES), len(rows))


def _of_text(
    model: Transformer, ids: Int[Tensor, " seq"], names: tuple[str, ...], first: int, at_once: int
) -> Float[Tensor, "stage d_model d_model"]:
    """The Jacobians of one text, as said there."""
    width, final = model.config.d_model, stages(model.config)[-1]
    with torch.enable_grad():
        values = model.activations(ids.expand(at_once, -1).to(model.device), (*names, final), edits=[LEAF])
        found = torch.zeros(len(names), width, width)
        for begin in range(0, width, at_once):
            count = min(at_once, width - begin)
            wanted = torch.zeros_like(values[final])
            for j in range(count):
                wanted[j, first:, begin + j] = 1.0
            slopes = torch.autograd.grad(values[final], [values[name] for name in names], wanted, retain_graph=True)
            for s, slope in enumerate(slopes):
                found[s, begin : begin + count] = slope[:count, first:].mean(1).cpu()
    return found
