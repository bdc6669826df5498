"""Training of a tuned lens: every map of a model at once, on fresh text each step (arXiv:2303.08112)."""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from tfcore.inspection.affine_lens import AffineLens
from tfcore.measures.lenses import affine_reader, divergence, stages
from tfcore.model import Transformer
from tfcore.training.data import Batch
from tfcore.training.loop import Progress, TrainingSettings, train_beside

ROWS_AT_ONCE = 8  # that are read for a regression
DAMPING = 1e-3  # of the regression, as a share of the mean variance of a state


def train_tuned_lens(
    model: Transformer,
    batches: Callable[[int], Batch],
    settings: TrainingSettings,
    folder: Path | None = None,
    report: Callable[[Progress], None] = lambda _: None,
    start: AffineLens | None = None,
) -> AffineLens:
    """Train the maps of a model with Adam on the loss of arXiv:2303.08112, section 3; goes on where an earlier run in
    the same folder was stopped. The model itself stays as it is.

    Args:
        batches: step -> the ids that the model reads.
        folder: where state.safetensors is kept; None keeps nothing.
        report: called after every step; its loss is KL(model || lens), mean over the maps.
        start: what it starts from, of the states that are to have a map; None: the logit lens, of all states.
    """
    lens = AffineLens(stages(model.config)[:-1], model.config.d_model) if start is None else copy.deepcopy(start)
    lens = lens.to(model.device).requires_grad_()
    reader = affine_reader(model, lens)

    def gradients(_: int, batch: Batch) -> float:
        with torch.no_grad():
            read = model(batch.ids.to(model.device), capture=lens.stages)
        total = 0.0
        for stage in lens.stages:  # one by one: logits are the largest tensors here
            loss = divergence(read.logits, reader.read(stage, read.activations[stage])).mean()
            loss.backward()
            total += float(loss.detach())
        return total / len(lens.stages)

    train_beside(lens, gradients, batches, settings, folder, report, clip=settings.clip)
    return lens.eval().requires_grad_(False)


@torch.no_grad()
def least_squares(model: Transformer, rows: Int[Tensor, "row seq"], chosen: Sequence[str]) -> AffineLens:
    """The affine maps that come nearest to the final states in the mean square, from which a tuned lens needs fewer
    steps (arXiv:2303.09435, section 2, without a bias there). The first token of each row does not count: its state is
    unlike all others.

    Args:
        rows: texts of one length.
        chosen: names of the states.
    """
    last, width = stages(model.config)[-1], model.config.d_model
    products = torch.zeros(len(chosen), width + 1, width + 1, dtype=torch.double)
    targets = torch.zeros(len(chosen), width + 1, width, dtype=torch.double)
    for some in rows.split(ROWS_AT_ONCE):
        states = model.activations(some.to(model.device), (*chosen, last))
        final = states[last][:, 1:].flatten(0, 1).double().cpu()
        for i, name in enumerate(chosen):
            x = states[name][:, 1:].flatten(0, 1).double().cpu()
            x = torch.cat((x, torch.ones(len(x), 1, dtype=x.dtype)), 1)
            products[i] += x.T @ x
            targets[i] += x.T @ (final - x[:, :-1])
    damping = DAMPING * products.diagonal(dim1=1, dim2=2)[:, :-1].mean(1)
    products.diagonal(dim1=1, dim2=2)[:, :-1] += damping[:, None]
    solved = torch.linalg.solve(products, targets)  # (stage, from and 1, to)
    lens = AffineLens(chosen, width)
    lens.weight.copy_(solved[:, :-1].mT)
    lens.bias.copy_(solved[:, -1])
    return lens
