"""The ladder of `positions`: five schemes trained alike on short rows, and how each reads four times as far."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tfcore.config import ModelConfig
from tfcore.measures.text_loss import position_losses
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, Positions
from tfcore.training import story_texts
from tfcore.training.ladder import Halves, Rung, climb, rows_of
from tfcore.training.loop import Processes, Progress, TrainingSettings

SCHEMES: tuple[Positions, ...] = ("sinusoidal", "learned", "rope", "alibi", "none")
FAR = 4  # times the trained length


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionsRecipe:
    """One decoder with each scheme.

    Args:
        seq: tokens a row in training; measured are rows FAR times as long.
        seeds: how often each is trained.
        windows: held-out windows the losses are measured on, at most.
        bucket: positions whose losses are averaged.
    """

    model: ModelConfig
    settings: TrainingSettings
    seeds: int = 2
    seq: int = 128
    windows: int = 100
    bucket: int = 32


POSITIONS = PositionsRecipe(
    model=ModelConfig(
        vocab_size=story_texts.VOCAB_SIZE,
        d_model=96,
        n_layers=4,
        attention=AttentionConfig(n_heads=4),
        max_seq_len=FAR * 128,
        embed_scale=96**0.5,
        init_std=96**-0.5,
    ),
    settings=TrainingSettings(
        steps=700, rows=16, lr=3e-3, lr_min=1e-4, warmup=100, betas=(0.9, 0.98), evaluate_every=10_000
    ),
)


def rungs(recipe: PositionsRecipe) -> list[Rung]:
    """Every scheme with every seed."""
    return [
        Rung(labels={"scheme": scheme}, model=recipe.model.changed(positions=scheme), settings=recipe.settings, seed=s)
        for scheme in SCHEMES
        for s in range(recipe.seeds)
    ]


def positions(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: PositionsRecipe = POSITIONS
) -> dict[str, float]:
    """Climb the ladder: positions.csv below `out`, with one column of losses per bucket.

    Raises:
        CorpusError: when a text below `corpus` is missing or too short.
    """
    halves, far = Halves.read(corpus, out, recipe.seq, recipe.model.vocab_size), FAR * recipe.seq
    held_out = halves.windows(far + 1, recipe.windows)

    def measure(model: Transformer) -> dict[str, float]:
        losses = position_losses(model, held_out)
        ends = range(recipe.bucket, far + 1, recipe.bucket)
        return {f"loss_{end}": float(losses[end - recipe.bucket : end].mean()) for end in ends}

    climb(rungs(recipe), halves, recipe.seq, out / "positions.csv", measure, report)
    return measured(out) if Processes.join().rank == 0 else {}


def measured(folder: Path) -> dict[str, float]:
    """Per scheme the mean loss over the last positions within the trained length, and over the last measured."""
    rows, numbers = rows_of(folder / "positions.csv"), {}
    for scheme in dict.fromkeys(row["scheme"] for row in rows):
        of_scheme = [row for row in rows if row["scheme"] == scheme]
        trained = of_scheme[0]["seq"]
        for end in (trained, FAR * trained):
            numbers[f"{scheme}_{end}"] = round(float(np.mean([row[f"loss_{end}"] for row in of_scheme])), 4)
    return numbers
