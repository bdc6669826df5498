"""The recipe of the tuned lenses of `stories` and `stories-learned`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from tfcore.inspection.affine_lens import AffineLens
from tfcore.loading.checkpoints import load
from tfcore.loading.lenses import load_lens, save_lens
from tfcore.measures.lenses import affine_reader, logit_reader, mean_divergences, stage_names, stages
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.training import data, story_texts
from tfcore.training.loop import Processes, Progress, TrainingSettings
from tfcore.training.tuned_lenses import train_tuned_lens

MEASURED = 4  # every so many-th held-out story is measured


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedLensRecipe:
    """How to train the tuned lenses of shipped models.

    Args:
        models: their names.
        seq: tokens of a row, or as many as a model's context has.
        settings: rows of text a step, and the schedule of Adam.
    """

    models: tuple[str, ...] = ("stories", "stories-learned")
    seq: int = 128
    seed: int = 0
    settings: TrainingSettings = field(
        default_factory=lambda: TrainingSettings(
            steps=900, rows=12, lr=4e-3, lr_min=4e-5, warmup=20, betas=(0.9, 0.999), save_every=100
        )
    )


TUNED_LENS = TunedLensRecipe()


def tuned_lens(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: TunedLensRecipe = TUNED_LENS
) -> dict[str, float]:
    """Train a lens for each model on the texts that the model was trained on, and write it to a folder of its name.

    Raises:
        CorpusError: when a text below `corpus` is missing or too short.
    """
    if Processes.join().rank > 0:  # one process does it
        return {}
    said: dict[str, float] = {}
    for name in recipe.models:
        model, tokenizer = _shipped(name)
        streams = {
            source: data.encode_documents(tokenizer, data.read_source(corpus, data.STORY_SOURCES[source]))
            for source in story_texts.WEIGHTS
        }
        seq = min(recipe.seq, model.config.max_seq_len)

        def batches(step: int, streams: dict[str, np.ndarray] = streams, seq: int = seq) -> data.Batch:
            generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + step)
            return data.text_windows(streams, story_texts.WEIGHTS, recipe.settings.rows, seq, generator)

        trained = train_tuned_lens(model, batches, recipe.settings, out / name / "run", report)
        save_lens(out / name, trained)
        said |= _measured(name, load_lens(out / name, "tuned", device="cpu"), corpus)  # as it ships, in half precision
    return said


def of_tuned_lens(recipe: TunedLensRecipe, corpus: Path) -> dict[str, float]:
    """The shipped lenses, measured again.

    Raises:
        CorpusError: when a text below `corpus` is missing.
    """
    return {
        k: v
        for name in recipe.models
        for k, v in _measured(name, load_lens(name, "tuned", device="cpu"), corpus).items()
    }


def _measured(name: str, lens: AffineLens, corpus: Path) -> dict[str, float]:
    model, tokenizer = _shipped(name)
    stories = [tokenizer.encode(story) for story in data.held_out(corpus)]
    return {f"{name} {key}": value for key, value in measured(model, lens, stories).items()}


def measured(model: Transformer, lens: AffineLens, stories: Sequence[Sequence[int]]) -> dict[str, float]:
    """The numbers of the card: the mean KL(model || lens) in nats of either lens at each stage but the last, over every
    MEASURED-th story, at most a context of each."""
    texts = [ids[: model.config.max_seq_len] for ids in stories[::MEASURED] if len(ids) > 1]
    tokens, found = mean_divergences(model, {"logit": logit_reader(model), "tuned": affine_reader(model, lens)}, texts)
    said: dict[str, float] = {"tokens": tokens}
    for i, stage in enumerate(stage_names(stages(model.config))[:-1]):
        said |= {f"{stage} {kind}_lens": round(float(values[i]), 4) for kind, values in found.items()}
    return said


def _shipped(name: str) -> tuple[Transformer, BPETokenizer]:
    model, tokenizer = load(name, device="cpu")
    if not isinstance(tokenizer, BPETokenizer):
        raise ValueError(f"{name} has no tokenizer of byte pairs")
    return model, tokenizer
