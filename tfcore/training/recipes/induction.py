"""The recipe of `induction`: two attention-only layers learn to copy, and a film of how they do (arXiv:2209.11895)."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tfcore.config import ModelConfig
from tfcore.loading.checkpoint_history import save_history
from tfcore.loading.checkpoints import load, save
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, FeedForwardConfig
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.training import data
from tfcore.training.loop import Processes, Progress, TrainingSettings, train
from tfcore.training.measures import best, copying


@dataclass(frozen=True, slots=True, kw_only=True)
class InductionRecipe:
    """Rows of random bytes that begin again after a period of their own. Every token counts, also those that cannot be
    predicted, so that the model learns not to try.

    Args:
        seq: tokens a row; periods are between an eighth and three quarters of it.
        frames: steps at which the weights go into the film, many around the jump; multiples of evaluate_every.
    """

    model: ModelConfig
    settings: TrainingSettings
    frames: tuple[int, ...]
    seq: int = 128
    seed: int = 0


INDUCTION = InductionRecipe(
    model=ModelConfig(
        vocab_size=256,
        d_model=64,
        n_layers=2,
        attention=AttentionConfig(n_heads=4, d_head=32),
        feed_forward=FeedForwardConfig(d_ff=0),
        max_seq_len=256,
        tie_embeddings=False,
    ),
    settings=TrainingSettings(
        steps=2_000, rows=32, lr=3e-3, lr_min=1e-5, warmup=50, betas=(0.9, 0.98), weight_decay=0.0, evaluate_every=20
    ),
    frames=(0, 100, 200, *range(240, 600, 20), 660, 720, 800, 1_000, 1_400, 2_000),
)


def induction(
    corpus: Path | None,  # noqa: ARG001 - it needs none
    out: Path,
    report: Callable[[Progress], None],
    recipe: InductionRecipe = INDUCTION,
) -> dict[str, float]:
    """Train the `induction` model, write its folder and its film to `out`; returns its measures at the end."""
    processes = Processes.join()
    frames, alphabet = out / "run" / "frames", torch.arange(recipe.model.vocab_size)

    def batches(step: int) -> data.Batch:
        generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + step)
        shape = (recipe.settings.rows, 1)
        period = torch.randint(recipe.seq // 8, 3 * recipe.seq // 4, shape, generator=generator)
        return data.shift(data.periodic(recipe.seq + 1, period, alphabet, generator))

    def evaluate(model: Transformer, step: int) -> dict[str, float]:
        if step in recipe.frames or step == recipe.settings.steps:
            save(model, _frame(frames, step), dtype=torch.float16)
        return best(copying(model))

    model = Transformer(recipe.model, recipe.seed)
    if processes.rank == 0 and not _frame(frames, 0).is_dir():
        save(model, _frame(frames, 0), dtype=torch.float16)
    train(model, batches, recipe.settings, out / "run", evaluate, report)
    if processes.rank > 0:
        return {}
    save(model, out, ByteTokenizer(), dtype=torch.float16)
    return best(make_film(frames, out)[-1])


def _frame(frames: Path, step: int) -> Path:
    return frames / f"{step:06}"


def make_film(frames: Path, out: Path) -> list[dict[str, Any]]:
    """Put the frames of a run into one file; returns what was measured at each, from the weights as they are kept."""
    kept = {int(folder.name): load(folder, device="cpu")[0] for folder in sorted(frames.iterdir())}
    measures = [copying(model) for model in kept.values()]
    save_history(out, {step: model.state_dict() for step, model in kept.items()}, measures)
    return measures
