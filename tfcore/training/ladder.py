"""Ladders: many small models trained alike, their held-out numbers in one table, their weights thrown away."""

import csv
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tfcore.config import ModelConfig
from tfcore.files import CheckpointError
from tfcore.measures.text_loss import position_losses
from tfcore.model import Transformer
from tfcore.training import data, story_texts
from tfcore.training.loop import Processes, Progress, TrainingSettings, train

HELD_OUT = 0.02  # of every source, its end
SHIPPED = Path(__file__).parents[1] / "ladders"  # the tables of this repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One model of a ladder.

    Args:
        labels: what tells it from the others; the first columns of its row.
        seed: of its weights; the data depend on it too.
        before: ids that stand before each text and are not predicted.
        build: (model, seed) -> the model with its first weights.
    """

    labels: Mapping[str, str | int]
    model: ModelConfig
    settings: TrainingSettings
    seed: int = 0
    before: tuple[int, ...] = ()
    build: Callable[[ModelConfig, int], Transformer] = Transformer

    @property
    def name(self) -> str:
        """Labels and seed in one word."""
        return "-".join(str(value) for value in (*self.labels.values(), self.seed)).replace(" ", "_")


@dataclass(frozen=True, slots=True)
class Halves:
    """Every source cut in two.

    Args:
        train, held_out: name of a source -> ids.
    """

    train: dict[str, np.ndarray]
    held_out: dict[str, np.ndarray]

    @classmethod
    def of(cls, streams: Mapping[str, np.ndarray]) -> "Halves":
        cuts = {name: round(len(stream) * (1 - HELD_OUT)) for name, stream in streams.items()}
        return cls(
            {name: stream[: cuts[name]] for name, stream in streams.items()},
            {name: stream[cuts[name] :] for name, stream in streams.items()},
        )

    @classmethod
    def read(cls, corpus: Path, out: Path, seq: int, vocab_size: int) -> "Halves":
        """The story texts; what is missing raises CorpusError."""
        return cls.of(story_texts.read(corpus, out, Processes.join(), seq, vocab_size).streams)

    def mean_loss(self, seq: int, windows: int) -> Callable[[Transformer], dict[str, float]]:
        """A measure: mean loss in nats a token on at most that many held-out windows of seq tokens."""
        held_out = self.windows(seq + 1, windows)
        return lambda model: {"loss": float(position_losses(model, held_out).mean())}

    def windows(self, seq: int, most: int) -> torch.Tensor:
        """At most that many windows (rows, seq) of held-out ids, which share nothing, evenly over all sources."""
        stream = np.concatenate(list(self.held_out.values()))
        starts = np.arange(0, len(stream) - seq + 1, seq)
        starts = starts[:: max(1, -(-len(starts) // most))]
        return torch.from_numpy(np.stack([stream[start : start + seq] for start in starts]).astype(np.int64))


def climb(
    rungs: Sequence[Rung],
    halves: Halves,
    seq: int,
    table: Path,
    measure: Callable[[Transformer], dict[str, float]],
    report: Callable[[Progress], None],
    keep: Callable[[Rung, Transformer], None] = lambda _, __: None,
) -> list[dict[str, Any]]:
    """Train every rung that the table has no row of yet, and add its row: labels, seed, settings, what was measured.

    Each source is drawn as often as it is long, so that no text counts more than another.

    Args:
        keep: called with each trained model before its row is added, to keep more of it.
    """
    processes, runs = Processes.join(), table.parent / "run"
    weights = {name: float(len(stream)) for name, stream in halves.train.items()}
    done = {row["name"] for row in read_table(table)}
    for rung in rungs:
        if rung.name in done:
            continue

        def batches(step: int, rung: Rung = rung) -> data.Batch:
            generator = torch.Generator().manual_seed(rung.seed * 1_000_003 + step)
            texts = data.windows(halves.train, weights, rung.settings.rows, seq + 1, generator)
            batch = data.shift(data.prefixed(texts, rung.before))
            batch.targets[:, : len(rung.before)] = data.IGNORE
            return batch

        model = train(rung.build(rung.model, rung.seed), batches, rung.settings, runs / rung.name, report=report)
        if processes.rank == 0:
            with torch.no_grad():
                keep(rung, model)
                add_row(table, row(rung, seq) | {name: round(value, 5) for name, value in measure(model).items()})
            shutil.rmtree(runs / rung.name)
    return read_table(table)


def row(rung: Rung, seq: int) -> dict[str, Any]:
    """The columns of a rung that are known before it is trained."""
    settings = rung.settings
    return {
        "name": rung.name,
        **rung.labels,
        "seed": rung.seed,
        **{part: rung.model.setting(part) for part in ("d_model", "n_layers", "n_heads")},
        "steps": settings.steps,
        "rows": settings.rows,
        "seq": seq,
        "tokens": settings.steps * settings.rows * seq,
        **{part: getattr(settings, part) for part in ("lr", "lr_min", "warmup", "weight_decay")},
    }


def add_row(table: Path, values: Mapping[str, Any]) -> None:
    """Write a row at the end of the table, the names of the columns before the first."""
    table.parent.mkdir(parents=True, exist_ok=True)
    is_new = not table.is_file()
    with table.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(values), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(values)


def read_table(table: Path) -> list[dict[str, Any]]:
    """The rows so far; numbers are numbers."""
    if not table.is_file():
        return []
    with table.open(newline="", encoding="utf-8") as file:
        return [{name: _number(value) for name, value in row.items()} for row in csv.DictReader(file)]


def rows_of(table: Path) -> list[dict[str, Any]]:
    """The rows of a table that must be there.

    Raises:
        CheckpointError: when it is not.
    """
    if not (rows := read_table(table)):
        raise CheckpointError(
            f"there is no table {table.name} yet: its recipe makes it, and it belongs in {table.parent}"
        )
    return rows


def _number(value: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
