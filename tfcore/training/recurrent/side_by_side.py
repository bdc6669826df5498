"""An RNN, an LSTM and a Transformer of equal size trained on the same batches, side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor

from tfcore.training.alike import Comparison
from tfcore.training.alike_loop import Material, TaskRows, Trainee, train_alike
from tfcore.training.data import IGNORE
from tfcore.training.lab.recipes import own_text
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.tasks import HELD_SEED, task
from tfcore.training.recurrent.comparison import ComparisonConfig, TaskName
from tfcore.training.recurrent.gradients import ROWS as GRADIENT_ROWS
from tfcore.training.recurrent.gradients import Arriving, arriving
from tfcore.training.recurrent.networks import KINDS, Network, NetworkConfig, network
from tfcore.training.recurrent.recall import TOKENS, recall_rows

HELD_ROWS = 256
MODULUS = 31  # of the sums
SHARE = 70  # of all sums that are trained on, percent


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


def compare(config: ComparisonConfig) -> Iterator[Comparison | None]:
    """Train all three, see `train_alike`; the last look has the gradients of the trained networks, too."""
    rows = material(config)
    sizes = NetworkConfig(vocab_size=len(rows.names), seed=config.seed)
    for so_far, trainees in train_alike(config, {kind: network(sizes, kind) for kind in KINDS}, rows):
        if so_far is not None and so_far.last.step == config.steps:
            so_far = replace(so_far, gradients=tuple(final_gradients(trainees, rows.held_out)))
        yield so_far


def compared(config: ComparisonConfig) -> Comparison:
    """A comparison to its end."""
    return [so_far for so_far in compare(config) if so_far is not None][-1]


def final_gradients(trainees: Sequence[Trainee], held: TaskRows) -> Iterator[Arriving]:
    """The gradient that arrives in each trained network, from the last token of held-out rows."""
    ids, answer = held.ids[:GRADIENT_ROWS], held.targets[:GRADIENT_ROWS, -1]
    for trainee, kind in zip(trainees, KINDS, strict=True):
        yield arriving(cast("Network", trainee.model), kind, ids, answer)
