"""The training loop: one model, one source of batches, resumable, on one process or several.

Under torchrun every process computes its share of the rows of the same batch and DistributedDataParallel averages
the gradients, so the losses are those of a single process (up to rounding, and to dropout's draws).
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isinf
from pathlib import Path
from typing import Literal

import torch
import torch.distributed as dist
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from tfcore import files
from tfcore.device import device as pick_device
from tfcore.experts import Experts
from tfcore.loading import disk
from tfcore.model import Transformer
from tfcore.training.data import IGNORE, Batch
from tfcore.training.optim import adamw, muon, warmup_cosine
from tfcore.training.resumed_state import put_back, tensors_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """How to train.

    Args:
        steps, rows: optimiser steps, and rows per step over all processes together.
        lr, lr_min, warmup: the schedule; see tfcore.training.optim.warmup_cosine.
        optimiser, betas, weight_decay: see tfcore.training.optim.optimiser.
        clip: largest norm of the gradient.
        smoothing: share of each target that is spread over all tokens (label smoothing, arXiv:1512.00567, section 7).
        seed: of dropout; batches have their own.
        bfloat16: products in half precision on a CPU too, as on every GPU; nearly twice as fast where it has AMX.
        evaluate_every, save_every: in steps.
    """

    steps: int
    rows: int
    lr: float
    lr_min: float = 0.0
    warmup: int = 100
    optimiser: Literal["adamw", "muon"] = "adamw"
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.1
    clip: float = 1.0
    smoothing: float = 0.0
    seed: int = 0
    bfloat16: bool = False
    evaluate_every: int = 250
    save_every: int = 250


@dataclass(frozen=True, slots=True)
class Progress:
    """One step's numbers: loss in nats per token, norm of the gradient (NaN where nothing has it), tokens per second,
    seconds to go, and the held-out measures (empty between evaluations)."""

    step: int
    steps: int
    loss: float
    lr: float
    gradient_norm: float
    rate: float
    eta: float
    measures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among those that train together."""

    rank: int = 0
    world: int = 1

    @classmethod
    def join(cls) -> "Processes":
        """Join the group torchrun made; alone without one. Uses nccl on GPUs, gloo otherwise."""
        if "RANK" not in os.environ:
            return cls()
        if not dist.is_initialized():
            dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        return cls(dist.get_rank(), dist.get_world_size())

    @contextmanager
    def first_alone(self) -> Iterator[None]:
        """The first process goes through the body before the others, which then find what it left."""
        if self.rank > 0:
            dist.barrier()
        yield
        if self.rank == 0 and self.world > 1:
            dist.barrier()

    @staticmethod
    def leave() -> None:
        """Leave the group, if there is one; called last."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def share(self, batch: Batch) -> Batch:
        """The rows of a batch that are this process's."""
        return batch.each(lambda tensor: tensor[self.rank :: self.world])

    def total(self, value: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.world > 1:
            dist.all_reduce(value)
        return value


class _Loss(nn.Module):
    """The summed loss of a batch, and the sum of the auxiliary losses; a module, so that DistributedDataParallel can
    wrap it."""

    def __init__(self, model: Transformer, smoothing: float) -> None:
        super().__init__()
        self.model, self.smoothing = model, smoothing

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        output = self.model(batch.ids, decoder_ids=batch.decoder_ids, padding_mask=batch.padding_mask)
        logits = output.logits.float().flatten(0, 1)
        summed = F.cross_entropy(
            logits, batch.targets.flatten(), ignore_index=IGNORE, reduction="sum", label_smoothing=self.smoothing
        )
        return summed, sum(output.losses.values(), summed.new_zeros(()))


def train(
    model: Transformer,
    batches: Callable[[int], Batch],
    settings: TrainingSettings,
    folder: Path,
    evaluate: Callable[[Transformer, int], dict[str, float]] = lambda _, __: {},
    report: Callable[[Progress], None] = lambda _: None,
) -> Transformer:
    """Train until settings.steps; goes on where an earlier run in the same folder was stopped.

    Args:
        batches: step -> Batch, the same on every process.
        folder: where state.safetensors and state.json are kept between steps.
        evaluate: held-out measures of the model at a step, called on the first process.
        report: called after every step on the first process.

    Returns:
        The trained model, in eval mode.
    """
    processes = Processes.join()
    # mps is left out: its autocast and fused AdamW differ too much to promise the same run
    device = pick_device() if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        device = torch.device("cuda", torch.cuda.current_device())
    model.to(device).train()
    optimizer = {"adamw": adamw, "muon": muon}[settings.optimiser](
        model, settings.lr, settings.betas, settings.weight_decay
    )
    state = TrainingState(folder, model, optimizer)
    step = state.restore()
    loss_of: nn.Module = _Loss(model, settings.smoothing)
    if processes.world > 1:  # an expert that got no token of a batch has no gradient
        routed = model.config.experts is not None
        loss_of = nn.parallel.DistributedDataParallel(loss_of, find_unused_parameters=routed)
    half = device.type == "cuda" or settings.bfloat16
    autocast = torch.autocast(device.type, torch.bfloat16, enabled=half)
    clock = Clock(settings.steps)
    while step < settings.steps:
        lr = warmup_cosine(step, settings.steps, settings.warmup, settings.lr, settings.lr_min)
        batch = batches(step)
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(
                hash((settings.seed, step, processes.rank)) % 2**63
            )  # dropout goes on as if never stopped
            loss, norm = _step(loss_of, optimizer, batch, processes, lr, settings.clip, device, autocast)
        step += 1
        if processes.rank == 0:
            due = step % settings.evaluate_every == 0 or step == settings.steps
            measures = _evaluate(model, step, evaluate) if due else {}
            rate, eta = clock.tick(step, batch.tokens)
            report(Progress(step, settings.steps, loss, lr, norm, rate, eta, measures))
            if step % settings.save_every == 0 or step == settings.steps:
                state.save(step)
    return model.eval()


def _step(
    loss_of: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    processes: Processes,
    lr: float,
    clip: float,
    device: torch.device,
    autocast: torch.autocast,
) -> tuple[float, float]:
    """One optimiser step on the mean loss over the whole batch: (loss, gradient norm)."""
    for group in optimizer.param_groups:
        group["lr"] = lr
    count = int((batch.targets != IGNORE).sum())
    share = processes.share(batch)
    with autocast:
        summed, auxiliary = loss_of(share.each(lambda tensor: tensor.to(device)))
    optimizer.zero_grad(set_to_none=True)
    # DistributedDataParallel averages over processes; the factor world makes that the sum, count the mean
    (summed * (processes.world / count) + auxiliary).backward()
    norm = nn.utils.clip_grad_norm_(loss_of.parameters(), clip)
    optimizer.step()
    for layer in loss_of.modules():
        if isinstance(layer, Experts):
            layer.even_out_(processes.total)
    return float(processes.total(summed.detach())) / count, float(norm)


def train_beside(
    parts: nn.Module,
    gradients: Callable[[int, Batch], float],
    batches: Callable[[int], Batch],
    settings: TrainingSettings,
    folder: Path | None,
    report: Callable[[Progress], None],
    after: Callable[[], None] = lambda: None,
    clip: float = float("inf"),
) -> None:
    """Train parts that stand beside a model, which itself stays as it is, with Adam on one process; goes on where an
    earlier run in the same folder was stopped.

    Args:
        gradients: (step, batch) -> loss, after adding its gradients to those of the parts.
        batches: step -> the ids that the model reads.
        folder: where state.safetensors is kept; None keeps nothing.
        report: called after every step.
        after: called after every step of the optimiser, before that.
        clip: largest norm of the gradient.
    """
    optimizer = torch.optim.Adam(parts.parameters(), lr=settings.lr, betas=settings.betas, fused=True)
    state = TrainingState(folder, parts, optimizer) if folder is not None else None
    step = state.restore() if state is not None else 0
    clock = Clock(settings.steps)
    while step < settings.steps:
        lr = warmup_cosine(step, settings.steps, settings.warmup, settings.lr, settings.lr_min)
        optimizer.param_groups[0]["lr"] = lr
        batch = batches(step)
        loss = gradients(step, batch)
        if isinf(clip):
            norm = nn.utils.get_total_norm([one.grad for one in parts.parameters() if one.grad is not None])
        else:
            norm = nn.utils.clip_grad_norm_(parts.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        after()
        step += 1
        rate, eta = clock.tick(step, batch.tokens)
        report(Progress(step, settings.steps, loss, lr, float(norm), rate, eta))
        if state is not None and (step % settings.save_every == 0 or step == settings.steps):
            state.save(step)


class Clock:
    """Rate in tokens a second, smoothed, and seconds to go."""

    def __init__(self, steps: int) -> None:
        self.steps, self.last, self.seconds = steps, time.perf_counter(), 0.0

    def tick(self, step: int, tokens: int) -> tuple[float, float]:
        now = time.perf_counter()
        took, self.last = now - self.last, now
        self.seconds = took if self.seconds == 0 else 0.95 * self.seconds + 0.05 * took
        return tokens / max(self.seconds, 1e-9), self.seconds * (self.steps - step)


class TrainingState:
    """Everything a run needs to go on: weights, the optimiser's moments, the step. By safetensors, in one file."""

    def __init__(self, folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.path, self.model, self.optimizer = folder / "state.safetensors", model, optimizer

    def save(self, step: int) -> None:
        """Write atomically: a kill in the middle leaves the previous state whole."""
        tensors = tensors_of(self.model, self.optimizer)
        needed = sum(one.nbytes for one in tensors.values())
        with disk.writing("the state of this training", needed, self.path), files.as_a_whole(self.path) as beside:
            save_file(tensors, beside, metadata={"step": str(step)})

    def restore(self) -> int:
        """Load what an earlier run left; returns its step, 0 when there is none."""
        if not self.path.is_file():
            return 0
        with safe_open(self.path, framework="pt") as file:
            step = int(file.metadata()["step"])
            names = list(file.keys())
            put_back(self.model, self.optimizer, ((name, file.get_tensor(name)) for name in names))
        return step


def _evaluate(
    model: Transformer, step: int, evaluate: Callable[[Transformer, int], dict[str, float]]
) -> dict[str, float]:
    model.eval()
    with torch.no_grad():
        measures = evaluate(model, step)
    model.train()
    return measures
