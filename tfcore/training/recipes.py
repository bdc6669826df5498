"""Recipes: everything that makes a shipped model, in one place, by name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from tfcore.analysis.heads import repeated_tokens_measure
from tfcore.analysis.information import bits_per_byte
from tfcore.checkpoints import save
from tfcore.config import ModelConfig
from tfcore.model import Transformer
from tfcore.tokenizers import BPETokenizer, load_tokenizer
from tfcore.training import data
from tfcore.training.loop import Progress, Settings, train


@dataclass(frozen=True, slots=True, kw_only=True)
class StoriesRecipe:
    """A story model: text windows, with a synthetic start that grows an induction head and a few rows that keep it.

    Args:
        weights: how often each source is drawn.
        induction_steps: steps at the start on nothing but repeated random tokens. Their alphabet starts at 64 ids,
            where the copying circuit is found within a few hundred steps, and doubles until it is the vocabulary;
            with the whole vocabulary from the start it is not found at all in this time.
        repeated_rows: rows of each later step that are repeated random tokens, so that the circuit is kept.
        seq: tokens a row.
        held_out_stories: how many are measured during training; all of them at the end.
    """

    model: ModelConfig
    settings: Settings
    weights: dict[str, float]
    seq: int = 256
    seed: int = 0
    induction_steps: int = 600
    repeated_rows: int = 1
    held_out_stories: int = 64


STORIES = StoriesRecipe(
    model=ModelConfig(
        vocab_size=2048, d_model=192, n_layers=6, n_heads=6, d_ff=512, max_seq_len=256, rope_base=10_000.0, dropout=0.05
    ),
    settings=Settings(steps=7_600, rows=16, lr=2e-3, lr_min=2e-5, warmup=200, evaluate_every=250, save_every=250),
    weights={"tinystories": 0.42, "storyweaver": 0.10, "african": 0.06, "fairytales": 0.20, "classics": 0.22},
)


def stories(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: StoriesRecipe = STORIES
) -> dict[str, float]:
    """Train the `stories` model and write its folder to `out`; returns its held-out measures.

    Raises:
        CorpusError: when a text is missing below `corpus`.
    """
    sources = {name: data.read_source(corpus, data.STORY_SOURCES[name]) for name in recipe.weights}
    held_out = data.held_out(corpus)
    tokenizer = _tokenizer(out, sources, recipe.model.vocab_size)
    streams = {name: data.encode_documents(tokenizer, documents) for name, documents in sources.items()}

    def batches(step: int) -> data.Batch:
        generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + step)
        if step < recipe.induction_steps:
            return _induction_batch(step, recipe, generator)
        text = data.text_windows(
            streams, recipe.weights, recipe.settings.rows - recipe.repeated_rows, recipe.seq, generator
        )
        if not recipe.repeated_rows:
            return text
        return data.join(
            text, data.repeated_tokens(recipe.repeated_rows, recipe.seq, recipe.model.vocab_size, generator)
        )

    def evaluate(model: Transformer, stories: int = recipe.held_out_stories) -> dict[str, float]:
        return {
            "bits_per_byte": bits_per_byte(model, tokenizer, held_out[:stories]),
            **repeated_tokens_measure(model, seed=1),
        }

    model = train(Transformer(recipe.model, recipe.seed), batches, recipe.settings, out / "run", evaluate, report)
    with torch.no_grad():
        measures = evaluate(model, len(held_out))
    save(model, out, tokenizer)
    return measures


def _induction_batch(step: int, recipe: StoriesRecipe, generator: torch.Generator) -> data.Batch:
    """Repeated random tokens: half the steps at an alphabet of 64, then doubling to the whole vocabulary."""
    vocabulary, half = recipe.model.vocab_size, recipe.induction_steps // 2
    doublings = max(1, (vocabulary // 64).bit_length() - 1)
    grown = max(0, step - half) * (doublings + 1) // max(1, half)
    alphabet = min(vocabulary, 64 << min(grown, doublings))
    rows, seq = 2 * recipe.settings.rows, min(80, recipe.seq)
    return data.repeated_tokens(rows, seq, alphabet, generator)


def _tokenizer(out: Path, sources: dict[str, list[str]], vocab_size: int) -> BPETokenizer:
    """The tokenizer of an interrupted run, or a new one trained on all sources."""
    if (path := out / "tokenizer.json").is_file():
        found = load_tokenizer(path)
        if isinstance(found, BPETokenizer) and found.vocab_size == vocab_size:
            return found
    tokenizer = BPETokenizer.train((d for documents in sources.values() for d in documents), vocab_size)
    out.mkdir(parents=True, exist_ok=True)
    tokenizer.save(out)
    return tokenizer


def with_steps(recipe: StoriesRecipe, steps: int) -> StoriesRecipe:
    """The same recipe over another number of steps."""
    return replace(recipe, settings=replace(recipe.settings, steps=steps))
