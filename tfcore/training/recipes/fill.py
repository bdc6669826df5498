"""The recipe of `fill`: a small encoder that fills the blanks of stories (arXiv:1810.04805)."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from tfcore.analysis.masked_tokens import filled, mask_id
from tfcore.checkpoints import save
from tfcore.config import ModelConfig
from tfcore.model import Transformer
from tfcore.training import data, story_texts
from tfcore.training.loop import Processes, Progress, Settings, train


@dataclass(frozen=True, slots=True, kw_only=True)
class FillRecipe:
    """An encoder trained on stories with some tokens hidden.

    Args:
        hidden: share of the tokens that are hidden; more than BERT's 0.15 teaches more a step (arXiv:2202.08005).
        held_out_stories: how many are measured during training; all of them at the end.
    """

    model: ModelConfig
    settings: Settings
    hidden: float = 0.3
    seed: int = 0
    held_out_stories: int = 64


FILL = FillRecipe(
    model=ModelConfig(
        architecture="encoder",
        vocab_size=story_texts.VOCAB_SIZE + 1,
        d_model=192,
        n_layers=4,
        n_heads=6,
        max_seq_len=256,
        positions="learned",
        norm="layernorm",
        activation="gelu",
        bias=True,
        head="mlm",
        dropout=0.1,
    ),
    settings=Settings(steps=7_500, rows=16, lr=2e-3, lr_min=2e-5, warmup=400, betas=(0.9, 0.98)),
)


def fill(corpus: Path, out: Path, report: Callable[[Progress], None], recipe: FillRecipe = FILL) -> dict[str, float]:
    """Train the `fill` model and write its folder to `out`; returns its held-out measures, on the first process.

    Raises:
        CorpusError: when a text below `corpus` is missing or too short.
    """
    processes, seq = Processes.join(), recipe.model.max_seq_len
    texts = story_texts.read(corpus, out, processes, seq, recipe.model.vocab_size - 1)

    def batches(step: int) -> data.Batch:
        generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + step)
        rows = data.windows(texts.streams, story_texts.WEIGHTS, recipe.settings.rows, seq, generator)
        return data.hide(rows, recipe.hidden, mask_id(texts.tokenizer), generator)

    def measure(model: Transformer, stories: list[str]) -> dict[str, float]:
        found = filled(model, texts.tokenizer, stories)
        return {"top1": found.top1, "top5": found.top5}

    def evaluate(model: Transformer, _: int) -> dict[str, float]:
        return measure(model, texts.some(recipe.held_out_stories))

    model = train(Transformer(recipe.model, recipe.seed), batches, recipe.settings, out / "run", evaluate, report)
    if processes.rank > 0:
        return {}
    measures = measure(model, texts.held_out)
    save(model, out, texts.tokenizer)
    return measures
