"""The recipe of `translate`: the encoder-decoder of 2017 in small, English to French (arXiv:1706.03762)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from tfcore.config import ModelConfig
from tfcore.loading.checkpoints import save
from tfcore.measures.translation import chrf, exact, translate
from tfcore.model import Transformer
from tfcore.presets import transformer_base
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.training import data, pairs
from tfcore.training.loop import Processes, Progress, TrainingSettings, train
from tfcore.training.story_texts import trained_tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslateRecipe:
    """An encoder-decoder trained on pairs of sentences.

    Args:
        held_out: English sentences kept for the card, and as many again for measures during training.
        looked_at: of the latter, how many are translated each time.
    """

    model: ModelConfig
    settings: TrainingSettings
    held_out: int = pairs.HELD_OUT
    looked_at: int = 100
    seed: int = 0


TRANSLATE = TranslateRecipe(
    model=transformer_base().changed(
        vocab_size=4096, d_model=192, n_layers=3, n_heads=6, d_ff=768, max_seq_len=128, dropout=0.1, init_std=192**-0.5
    ),
    settings=TrainingSettings(
        steps=12_000,
        rows=128,
        lr=1e-3,
        lr_min=1e-5,
        warmup=1_000,
        betas=(0.9, 0.98),
        weight_decay=0.01,
        smoothing=0.1,
        evaluate_every=500,
    ),
)


def translate_(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: TranslateRecipe = TRANSLATE
) -> dict[str, float]:
    """Train the `translate` model and write its folder to `out`; returns its held-out measures, on the first process.

    Raises:
        CorpusError: when the pairs below `corpus` are missing or too few.
    """
    processes = Processes.join()
    split = pairs.split(pairs.read_pairs(corpus), recipe.held_out)
    with processes.first_alone():
        both = (side for pair in split.train for side in (pair.english, pair.french))
        tokenizer = trained_tokenizer(out, both, recipe.model.vocab_size)
    encoded = pairs.EncodedPairs.of(tokenizer, split.train)

    def batches(step: int) -> data.Batch:
        generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + step)
        return encoded.batch(recipe.settings.rows, generator)

    def evaluate(model: Transformer, _: int) -> dict[str, float]:
        return measure(model, tokenizer, split.valid[:: max(1, len(split.valid) // recipe.looked_at)])

    model = train(Transformer(recipe.model, recipe.seed), batches, recipe.settings, out / "run", evaluate, report)
    if processes.rank > 0:
        return {}
    measures = measure(model, tokenizer, split.test)
    save(model, out, tokenizer, dtype=torch.float16)
    return measures


def measure(model: Transformer, tokenizer: BPETokenizer, some: Sequence[pairs.TranslationPair]) -> dict[str, float]:
    """chrF and the share of exact matches of greedy translations."""
    ours = [translate(model, tokenizer, pair.english) for pair in some]
    wanted = [pair.french for pair in some]
    return {"chrf": chrf(ours, wanted), "exact": exact(ours, wanted)}
