"""The recipe of `fill`: a small encoder that fills the blanks of stories (arXiv:1810.04805)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from tfcore.config import ModelConfig
from tfcore.loading.checkpoints import load, save
from tfcore.measures.masked_tokens import filled, mask_id
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.training import data, story_texts
from tfcore.training.loop import Processes, Progress, TrainingSettings, train
from tfcore.training.recipes.stories import STORIES


@dataclass(frozen=True, slots=True, kw_only=True)
class FillRecipe:
    """An encoder trained on stories with some tokens hidden.

    It is given rotary positions and the token embeddings of a finished story model: a masked model that must find out
    about words and their places by itself stays at the frequencies of the words for a long time. The card has the
    measurement.

    Args:
        embeddings_of: a shipped model with the same tokenizer, None to start from random embeddings.
        hidden: share of the tokens that are hidden; more than BERT's 0.15 teaches more a step (arXiv:2202.08005).
        held_out_stories: how many are measured during training; all of them at the end.
    """

    model: ModelConfig
    settings: TrainingSettings
    embeddings_of: str | None = "stories"
    hidden: float = 0.2
    seed: int = 0
    held_out_stories: int = 64


FILL = FillRecipe(
    model=replace(
        STORIES.model, architecture="encoder", vocab_size=story_texts.VOCAB_SIZE + 1, head="mlm", dropout=0.0
    ),
    settings=TrainingSettings(steps=2_600, rows=16, lr=1.5e-3, lr_min=2e-5, warmup=100, betas=(0.9, 0.98)),
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
        counts = filled(model, texts.tokenizer, stories)
        return {"top1": counts.top1, "top5": counts.top5}

    def evaluate(model: Transformer, _: int) -> dict[str, float]:
        return measure(model, texts.some(recipe.held_out_stories))

    model = Transformer(recipe.model, recipe.seed)
    if recipe.embeddings_of:
        take_embeddings(model, texts.tokenizer, recipe.embeddings_of)
    model = train(model, batches, recipe.settings, out / "run", evaluate, report)
    if processes.rank > 0:
        return {}
    measures = measure(model, texts.held_out)
    save(model, out, texts.tokenizer, dtype=torch.float16)
    return measures


@torch.no_grad()
def take_embeddings(model: Transformer, tokenizer: BPETokenizer, name: str) -> None:
    """Give a model the token embeddings of a shipped one; the blank's stays as it is.

    Raises:
        ValueError: when the two have other tokens.
    """
    source, other = load(name, device="cpu")
    if not isinstance(other, BPETokenizer) or other.merges != tokenizer.merges:
        raise ValueError(f"{name} has another tokenizer than this run: train with the corpora that made it")
    model.embed.weight[: other.vocab_size] = source.embed.weight
