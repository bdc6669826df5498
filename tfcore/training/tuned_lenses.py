"""Training of a tuned lens: every translator of a model at once, on fresh text each step (arXiv:2303.08112)."""

from collections.abc import Callable
from pathlib import Path

import torch

from tfcore.inspection.tuned_lens import TunedLens
from tfcore.measures.lenses import divergence, stages, tuned_lens_logits
from tfcore.model import Transformer
from tfcore.training.data import Batch
from tfcore.training.loop import Progress, TrainingSettings, train_beside


def train_tuned_lens(
    model: Transformer,
    batches: Callable[[int], Batch],
    settings: TrainingSettings,
    folder: Path | None = None,
    report: Callable[[Progress], None] = lambda _: None,
) -> TunedLens:
    """Train the translators of a model with Adam on the loss of arXiv:2303.08112, section 3, starting as the logit
    lens; goes on where an earlier run in the same folder was stopped. The model itself stays as it is.

    Args:
        batches: step -> the ids that the model reads.
        folder: where state.safetensors is kept; None keeps nothing.
        report: called after every step; its loss is KL(model || lens), mean over the translators.
    """
    lens = TunedLens(stages(model.config)[:-1], model.config.d_model).to(model.device)

    def gradients(_: int, batch: Batch) -> float:
        with torch.no_grad():
            read = model(batch.ids.to(model.device), capture=lens.stages)
        total = 0.0
        for stage in lens.stages:  # one by one: logits are the largest tensors here
            tuned = tuned_lens_logits(model, lens, stage, read.activations[stage])
            loss = divergence(read.logits, tuned).mean()
            loss.backward()
            total += float(loss.detach())
        return total / len(lens.stages)

    train_beside(lens, gradients, batches, settings, folder, report, clip=settings.clip)
    return lens.eval().requires_grad_(False)
