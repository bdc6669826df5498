"""The recipe of `tones`: a small encoder-decoder built like Whisper (arXiv:2212.04356) that writes down the notes of a
melody that is made from a seed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.loading.checkpoints import load, save
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, FeedForwardConfig, NormConfig, PositionsConfig, SoundConfig
from tfcore.sounds import HOP, RATE, log_mel
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.training.data import IGNORE, Batch
from tfcore.training.loop import Processes, Progress, TrainingSettings, train
from tfcore.training.tone_sounds import MOST, NOTES, melody_of, played

END, START = "<|endoftext|>", "<|startoftranscript|>"
NAMES = (END, START, *NOTES)
SOUND = SoundConfig(frames=200)
SECONDS = SOUND.frames * HOP / RATE
HELD_OUT = 10**9  # the first seed of melodies that no training makes


@dataclass(frozen=True, slots=True, kw_only=True)
class TonesRecipe:
    """A model that writes down notes, trained on melodies that are made as they are needed; none is heard twice.

    Args:
        held_out: melodies that are measured.
    """

    model: ModelConfig
    settings: TrainingSettings
    seed: int = 0
    held_out: int = 256


TONES = TonesRecipe(
    model=ModelConfig(
        architecture="encoder-decoder",
        vocab_size=len(NAMES),
        d_model=64,
        n_layers=2,
        max_seq_len=MOST + 2,  # what it starts with, and the end
        attention=AttentionConfig(n_heads=4),
        positions=PositionsConfig(kind="learned"),
        norm=NormConfig(kind="layernorm"),
        feed_forward=FeedForwardConfig(activation="gelu"),
        sound=SOUND,
        bias=True,
        start_id=NAMES.index(START),
    ),
    settings=TrainingSettings(
        steps=900, rows=24, lr=2e-3, lr_min=1e-5, warmup=60, betas=(0.9, 0.98), weight_decay=0.05
    ),
)


def heard(first_seed: int, n: int) -> tuple[Float[Tensor, "melody mel frame"], list[list[int]]]:
    """Melodies from this seed on as the model reads them, and their notes by number."""
    made = [(seed, *melody_of(seed, SECONDS)) for seed in range(first_seed, first_seed + n)]
    samples = np.stack([played(notes, begins, SECONDS, seed) for seed, notes, begins in made])
    return log_mel(torch.from_numpy(samples), SOUND), [notes for _, notes, _ in made]


def rows(melodies: list[list[int]]) -> tuple[Int[Tensor, "melody seq"], Int[Tensor, "melody seq"]]:
    """What the decoder reads of each melody, and what it is to write."""
    ids = torch.full((len(melodies), MOST + 1), NAMES.index(END))
    targets = torch.full_like(ids, IGNORE)
    for row, notes in enumerate(melodies):
        written = torch.tensor([note + 2 for note in notes])
        ids[row, 0], ids[row, 1 : len(notes) + 1] = NAMES.index(START), written
        targets[row, : len(notes)], targets[row, len(notes)] = written, NAMES.index(END)
    return ids, targets


def tones(
    _: Path | None, out: Path, report: Callable[[Progress], None], recipe: TonesRecipe = TONES
) -> dict[str, float]:
    """Train the `tones` model and write its folder to `out`; returns its held-out measures, on the first process."""

    def batches(step: int) -> Batch:
        n = recipe.settings.rows
        spectrograms, melodies = heard((recipe.seed * 1_000 + 1) * 100_000 + step * n, n)
        ids, targets = rows(melodies)
        return Batch(spectrograms, targets, ids)

    def evaluate(model: Transformer, _: int) -> dict[str, float]:
        return {"right": written_right(model, 32)}

    model = train(Transformer(recipe.model, recipe.seed), batches, recipe.settings, out / "run", evaluate, report)
    if Processes.join().rank > 0:
        return {}
    save(model, out, NamedTokenizer(NAMES), dtype=torch.float16)
    return {"right": written_right(model, recipe.held_out)}


def of_tones() -> dict[str, float]:
    """How often the shipped model writes down all notes of a melody right."""
    return {"right": round(written_right(load("tones")[0], TONES.held_out), 4), "melodies": TONES.held_out}


def written_right(model: Transformer, n: int) -> float:
    """The share of melodies that no training makes of which every note is written down, and no other."""
    spectrograms, melodies = heard(HELD_OUT, n)
    end = NAMES.index(END)
    right = 0
    for spectrogram, notes in zip(spectrograms.split(1), melodies, strict=True):
        found = generate(model, spectrogram, Sampling(temperature=0), max_new_tokens=MOST + 1, stop_ids=[end])
        right += found == [*(note + 2 for note in notes), end]
    return right / n
