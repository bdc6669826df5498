"""A training cut into slices: each takes the state that the one before left, so that any machine can do the next."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from safetensors.torch import load, save
from torch import nn

from tfcore.model import Transformer
from tfcore.training.data import IGNORE, Batch
from tfcore.training.lab.curves import Curves, Evaluation, look
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.tasks import LabTask, task
from tfcore.training.optim import optimiser, rate
from tfcore.training.resumed_state import put_back, tensors_of

BETAS = (0.9, 0.98)
CHECKED_ROWS = 64  # for loss and accuracy
PROBED_ROWS = 16  # that are answered free-running, which is slower
ALONE = threading.RLock()  # dropout draws from torch's global generator, which all threads of a process share


@dataclass(frozen=True, slots=True)
class Slice:
    """The result of a slice.

    Args:
        step: optimiser steps done since the beginning.
        state: weights and the optimiser's memory, as the bytes of a safetensors file; empty where they are of no use.
        curves: of these steps alone.
        look: the model after them.
        seconds: of computing.
        problem: one sentence, where the run cannot go on.
    """

    step: int
    state: bytes
    curves: Curves
    look: Evaluation
    seconds: float
    problem: str = ""


def train_slice(spec: LabSpec, step: int, state: bytes | None, *, most: int, seconds: float) -> Slice:
    """Go on with a training: at most `most` steps, and no new one after so many seconds.

    The same steps give the same weights however they are cut, because batches and dropout depend on seed and step
    alone, and the state holds all the rest. One slice at a time is trained in a process.

    Args:
        step: optimiser steps done before.
        state: what the slice before left; None at the beginning.
        most: 0 only looks at the model.
    """
    with ALONE:
        began = time.perf_counter()
        material, (model, optimizer) = _task(spec), started(spec, state)
        steps: list[tuple[int, float, float, float]] = []
        checks = [] if step else [(0, *check(model, material, spec, 0))]
        problem, last = "", min(step + most, spec.steps)
        while step < last:
            loss, norm, lr = one_step(model, optimizer, material.batch(spec, step), spec, step)
            step += 1
            steps.append((step, loss, norm, lr))
            if not (loss < 1e6 and norm < float("inf")):  # also not-a-number
                problem = f"The loss left all bounds at step {step}: the learning rate {spec.lr:g} is too high for this"
                break
            if step % spec.check_every == 0 or step == spec.steps:
                checks.append((step, *check(model, material, spec, step)))
            if time.perf_counter() - began > seconds:
                break
        probe = material.probed(PROBED_ROWS)
        model.eval()
        seen = look(model, step, probe.ids, probe.start)
        kept = b"" if problem else save(tensors_of(model, optimizer))
        return Slice(step, kept, Curves.of(steps, checks), seen, time.perf_counter() - began, problem)


def trained(spec: LabSpec) -> Slice:
    """The whole training in one slice."""
    return train_slice(spec, 0, None, most=spec.steps, seconds=math.inf)


@lru_cache(maxsize=8)
def _task(spec: LabSpec) -> LabTask:
    return task(spec)


def started(spec: LabSpec, state: bytes | None) -> tuple[Transformer, torch.optim.Optimizer]:
    """The model and the optimiser of a spec, as the state left them."""
    model = Transformer(spec.model_config(len(_task(spec).names)), spec.seed)
    optimizer = optimiser(spec.optimiser, model, spec.lr, BETAS, spec.weight_decay, spec.momentum)
    if state is not None:
        put_back(model, optimizer, load(state).items())
    return model, optimizer


def one_step(
    model: Transformer, optimizer: torch.optim.Optimizer, batch: Batch, spec: LabSpec, step: int
) -> tuple[float, float, float]:
    """One optimiser step: (loss, norm of the gradient before clipping, learning rate)."""
    lr = rate(spec.schedule, step, spec.steps, spec.warmup, spec.lr)
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.zero_grad(set_to_none=True)
    with _seeded(spec.seed * 1_000_000 + step):  # dropout goes on as if never stopped
        loss = accumulated(model.train(), batch, spec)
    norm = nn.utils.clip_grad_norm_(model.parameters(), spec.clip or float("inf"))
    optimizer.step()
    return loss, float(norm), lr


def accumulated(model: Transformer, batch: Batch, spec: LabSpec) -> float:
    """The mean loss over the tokens of a batch that count, and its gradient, in micro-batches: each adds its loss times
    its share of these tokens, so that the sum is the mean over all, whatever the parts."""
    total, count = 0.0, int((batch.targets != IGNORE).sum())
    for ids, targets in zip(batch.ids.chunk(spec.micro_batches), batch.targets.chunk(spec.micro_batches), strict=True):
        here = int((targets != IGNORE).sum())
        if here:
            logits = model(ids).logits.flatten(0, 1)
            mean = F.cross_entropy(
                logits, targets.flatten(), ignore_index=IGNORE, label_smoothing=spec.smoothing
            )  # over the tokens of this part that count
            part = mean * (here / count)
            part.backward()
            total += float(part.detach())
    return total


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


@torch.no_grad()
def check(model: Transformer, material: LabTask, spec: LabSpec, step: int) -> tuple[float, float, float, float]:
    """Loss and accuracy on rows just trained on, and on held-out rows: plain cross-entropy, dropout off."""
    trained = material.batch(spec, max(0, step - 1)).each(lambda tensor: tensor[:CHECKED_ROWS])
    model.eval()
    return (*_measured(model, trained), *_measured(model, material.checked(CHECKED_ROWS)))


def _measured(model: Transformer, batch: Batch) -> tuple[float, float]:
    counts = batch.targets != IGNORE
    logits, targets = model(batch.ids).logits[counts], batch.targets[counts]
    return float(F.cross_entropy(logits, targets)), float((logits.argmax(-1) == targets).float().mean())


def model_of(spec: LabSpec, state: bytes) -> Transformer:
    """The trained model alone, ready to answer."""
    return started(spec, state)[0].eval().requires_grad_(False)
