"""Networks trained alike: a step of each in turn on the same batch, and what they have right of rows held out."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tfcore.measures.timing import on_cpu
from tfcore.training.alike import AlikeConfig, Comparison, ComparisonEvaluation
from tfcore.training.data import IGNORE
from tfcore.training.optim import adamw, rate

BETAS = (0.9, 0.98)
WARMUP = 20  # steps
CLIP = 1.0  # largest norm of the gradient of all parameters
LOOKS = 30  # of a training


class TaskRows(NamedTuple):
    """Rows of a task.

    Args:
        ids: what is read.
        targets: what comes next; IGNORE where it does not count.
        places: the distance or place that each target is counted under.
    """

    ids: Int[Tensor, "row seq"]
    targets: Int[Tensor, "row seq"]
    places: Int[Tensor, "row seq"]


@dataclass(frozen=True, slots=True)
class Material:
    """A task: names of its tokens, rows to train on by step, and rows held out."""

    names: tuple[str, ...]
    batch: Callable[[int], TaskRows]
    held_out: TaskRows


class Trainee:
    """One network in training, with the seconds that its own steps took."""

    def __init__(self, model: nn.Module, config: AlikeConfig) -> None:
        self.model, self.config = model, config
        self.optimizer = adamw(model, config.lr, BETAS, weight_decay=0.0)
        self.seconds, self.losses = 0.0, list[float]()

    def step(self, rows: TaskRows, step: int) -> None:
        """One optimiser step."""
        began = time.perf_counter()
        for group in self.optimizer.param_groups:
            group["lr"] = rate("cosine", step, self.config.steps, WARMUP, self.config.lr)
        loss = cross_entropy(self.model, rows)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.losses.append(float(loss.detach()))
        self.seconds += time.perf_counter() - began

    def mean_loss(self) -> float:
        """The mean loss of the batches since it was last asked for."""
        losses, self.losses = self.losses, []
        return sum(losses) / len(losses)


def cross_entropy(model: nn.Module, rows: TaskRows) -> Tensor:
    """Nats per token that counts."""
    return F.cross_entropy(logits_of(model, rows.ids).flatten(0, 1), rows.targets.flatten(), ignore_index=IGNORE)


def logits_of(model: nn.Module, ids: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
    """Logits of the next token at every position, whatever the network."""
    output = model(ids)
    return output if isinstance(output, Tensor) else output.logits


def train_alike(
    config: AlikeConfig, networks: Mapping[str, nn.Module], rows: Material
) -> Iterator[tuple[Comparison | None, Sequence[Trainee]]]:
    """Train all, a step of each in turn: yields what there is after each look, and None in between; and the networks.

    All see the same batches in the same order, with the same optimiser and learning rate.

    Args:
        networks: one for each kind of the config, in their order.
    """
    places = tuple(sorted(set(rows.held_out.places[rows.held_out.targets != IGNORE].tolist())))
    trainees = [Trainee(network, config) for network in networks.values()]
    so_far = Comparison(config, (), places, (), on_cpu())
    every = max(1, config.steps // LOOKS)
    for step in range(config.steps):
        batch = rows.batch(step)
        for trainee in trainees:
            trainee.step(batch, step)
        done = step + 1
        if step and done % every and done < config.steps:
            yield None, trainees
            continue
        so_far = replace(so_far, looks=(*so_far.looks, look_at(trainees, rows.held_out, places, done)))
        yield so_far, trainees


@torch.no_grad()
def look_at(trainees: list[Trainee], held: TaskRows, places: tuple[int, ...], step: int) -> ComparisonEvaluation:
    """All networks on the held-out rows."""
    counts = held.targets != IGNORE
    targets, where = held.targets[counts], held.places[counts]
    losses, accuracies, by_place = [], [], []
    for trainee in trainees:
        logits = logits_of(trainee.model.eval(), held.ids)[counts]
        trainee.model.train()
        right = (logits.argmax(-1) == targets).float()
        losses.append(float(F.cross_entropy(logits, targets)))
        accuracies.append(float(right.mean()))
        by_place.append(tuple(float(right[where == place].mean()) for place in places))
    return ComparisonEvaluation(
        step=step,
        seconds=tuple(trainee.seconds for trainee in trainees),
        loss=tuple(trainee.mean_loss() for trainee in trainees),
        held_out=tuple(losses),
        accuracy=tuple(accuracies),
        by_place=tuple(by_place),
    )
