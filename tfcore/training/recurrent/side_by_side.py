"""An RNN, an LSTM and a Transformer of equal size trained on the same batches, side by side."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from tfcore.measures.timing import on_cpu
from tfcore.training.data import IGNORE
from tfcore.training.lab.recipes import own_text
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.tasks import HELD_SEED, task
from tfcore.training.optim import adamw, rate
from tfcore.training.recurrent.comparison import Comparison, ComparisonConfig, ComparisonEvaluation, TaskName
from tfcore.training.recurrent.gradients import ROWS as GRADIENT_ROWS
from tfcore.training.recurrent.gradients import Arriving, arriving
from tfcore.training.recurrent.networks import KINDS, Network, NetworkConfig, logits_of, network
from tfcore.training.recurrent.recall import TOKENS, recall_rows

BETAS = (0.9, 0.98)
WARMUP = 20  # steps
CLIP = 1.0  # largest norm of the gradient of all parameters
LOOKS = 30  # of a training
HELD_ROWS = 256
MODULUS = 31  # of the sums
SHARE = 70  # of all sums that are trained on, percent


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


def material(config: ComparisonConfig) -> Material:
    """The task of a comparison; all but recall are the lab's."""
    if config.task == "recall":
        return _recall(config)
    own: dict[TaskName, dict[str, object]] = {
        "copy": {"symbols": 26, "length": config.length},
        "addition": {"symbols": MODULUS, "share": SHARE},
        "characters": {"text": own_text(), "symbols": len(set(own_text())), "length": config.length},
    }
    spec = LabSpec(task=config.task, rows=config.rows, seed=config.seed, **own[config.task])  # type: ignore[arg-type]
    prepared = task(spec)

    def placed(ids: Tensor, targets: Tensor) -> TaskRows:
        before = config.length if config.task == "copy" else 0  # so that the first letter of the copy is 1
        return TaskRows(ids, targets, torch.arange(1, ids.shape[1] + 1).expand_as(ids) - before)

    def batch(step: int) -> TaskRows:
        drawn = prepared.batch(spec, step)
        return placed(drawn.ids, drawn.targets)

    held = prepared.checked(HELD_ROWS)
    return Material(prepared.names, batch, placed(held.ids, held.targets))


def _recall(config: ComparisonConfig) -> Material:
    def rows(count: int, seed: int) -> TaskRows:
        ids, answer, distance = recall_rows(count, config.length, torch.Generator().manual_seed(seed))
        targets, places = torch.full_like(ids, IGNORE), torch.zeros_like(ids)
        targets[:, -1], places[:, -1] = answer, distance
        return TaskRows(ids, targets, places)

    held = rows(2 * HELD_ROWS, HELD_SEED)  # one answer a row
    return Material(TOKENS, lambda step: rows(config.rows, config.seed * 1_000_000 + step), held)


class Trainee:
    """One network in training, with the seconds that its own steps took."""

    def __init__(self, model: Network, config: ComparisonConfig) -> None:
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


def cross_entropy(model: Network, rows: TaskRows) -> Tensor:
    """Nats per token that counts."""
    return F.cross_entropy(logits_of(model, rows.ids).flatten(0, 1), rows.targets.flatten(), ignore_index=IGNORE)


def compare(config: ComparisonConfig) -> Iterator[Comparison | None]:
    """Train all three, a step of each in turn: yields what there is after each look, and None in between.

    All see the same batches in the same order, with the same optimiser and learning rate.
    """
    rows = material(config)
    places = tuple(sorted(set(rows.held_out.places[rows.held_out.targets != IGNORE].tolist())))
    sizes = NetworkConfig(vocab_size=len(rows.names), seed=config.seed)
    trainees = [Trainee(network(sizes, kind), config) for kind in KINDS]
    looks: list[ComparisonEvaluation] = []
    every = max(1, config.steps // LOOKS)
    for step in range(config.steps):
        batch = rows.batch(step)
        for trainee in trainees:
            trainee.step(batch, step)
        done = step + 1
        if step and done % every and done < config.steps:
            yield None
            continue
        looks.append(look_at(trainees, rows.held_out, places, done))
        last = tuple(final_gradients(trainees, rows.held_out)) if done == config.steps else ()
        yield Comparison(config, tuple(looks), places, last, on_cpu())


def compared(config: ComparisonConfig) -> Comparison:
    """A comparison to its end."""
    return [so_far for so_far in compare(config) if so_far is not None][-1]


@torch.no_grad()
def look_at(trainees: list[Trainee], held: TaskRows, places: tuple[int, ...], step: int) -> ComparisonEvaluation:
    """All three on the held-out rows."""
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


def final_gradients(trainees: list[Trainee], held: TaskRows) -> Iterator[Arriving]:
    """The gradient that arrives in each trained network, from the last token of held-out rows."""
    ids, answer = held.ids[:GRADIENT_ROWS], held.targets[:GRADIENT_ROWS, -1]
    for trainee, kind in zip(trainees, KINDS, strict=True):
        yield arriving(trainee.model, kind, ids, answer)
