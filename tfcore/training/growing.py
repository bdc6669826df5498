"""Induction heads grown while somebody watches: two layers of attention on random tokens that repeat."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from tfcore.checks import check_whole
from tfcore.config import ModelConfig
from tfcore.loading.checkpoint_history import CheckpointHistory, load_history
from tfcore.measures.heads.induction_moments import Moment, moment
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, FeedForwardConfig
from tfcore.training.data import periodic, shift
from tfcore.training.optim import adamw, warmup_cosine

FILM, FILM_SEQ, FILM_LENGTH = "induction", 120, 64  # what the frames of the shipped film are measured on
RATE, LOWEST, WARMUP, EVERY, MEASURED_ROWS = 3e-3, 3e-4, 20, 10, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowConfig:
    """A smaller version of the recipe of the shipped model, which takes less than a minute on two cores.

    Args:
        n_layers: 2, or 1, which cannot do it: one head must read what another wrote.
        steps: of training.
        seed: of weights and batches.
        vocab_size, seq, rows: tokens there are, tokens in a row, rows per step.

    Raises:
        ValueError: naming the value and what would do.
    """

    n_layers: int = 2
    steps: int = 700
    seed: int = 0
    vocab_size: int = 64
    seq: int = 64
    rows: int = 32

    def __post_init__(self) -> None:
        check_whole(self, n_layers=(1, 4), steps=(1, 2_000), seed=(0, 1_000))
        check_whole(self, vocab_size=(8, 512), seq=(16, 256), rows=(1, 128))

    @property
    def model(self) -> ModelConfig:
        """Attention alone, no feed-forward part."""
        return ModelConfig(
            vocab_size=self.vocab_size,
            d_model=64,
            n_layers=self.n_layers,
            attention=AttentionConfig(n_heads=4, d_head=16),
            feed_forward=FeedForwardConfig(d_ff=0),
            max_seq_len=max(self.seq, 2 * self.vocab_size),
            tie_embeddings=False,
        )


def repeating_rows(
    config_vocab: int, seq: int, rows: int, generator: torch.Generator, shortest: int
) -> Int[Tensor, "rows seq"]:
    """Random tokens that begin again after a period of their own, from `shortest` to three quarters of the row."""
    period = torch.randint(shortest, 3 * seq // 4, (rows, 1), generator=generator)
    return periodic(seq, period, torch.arange(config_vocab), generator)


def grow(config: GrowConfig) -> Iterator[Moment | None]:
    """Train a model and look at it every few steps.

    Yields:
        a Moment every 10 steps and at the end, None after each other step.
    """
    model = Transformer(config.model, config.seed)
    optimizer = adamw(model, RATE, (0.9, 0.98), 0.0)
    generator = torch.Generator().manual_seed(config.seed)

    def rows(count: int, seq: int) -> Tensor:
        return repeating_rows(config.vocab_size, seq, count, generator, config.seq // 8)

    held_out, length = rows(MEASURED_ROWS, config.seq), min(config.vocab_size, config.seq) // 2
    for step in range(config.steps + 1):
        if step % EVERY == 0 or step == config.steps:
            yield moment(model, step, held_out, length)
        else:
            yield None
        batch = shift(rows(config.rows, config.seq + 1))
        optimizer.param_groups[0]["lr"] = warmup_cosine(step, config.steps, WARMUP, RATE, LOWEST)
        loss = F.cross_entropy(model(batch.ids).logits.flatten(0, 1), batch.targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@cache
def _film() -> CheckpointHistory:
    return load_history(FILM)


def film_steps() -> tuple[int, ...]:
    """The training steps that the film has frames of."""
    return _film().steps


def film_moment(frame: int) -> Moment:
    """One frame of the film, measured as it is watched: on rows as in its training, and on 64 repeated tokens."""
    film = _film()
    generator = torch.Generator().manual_seed(0)
    rows = repeating_rows(film.config.vocab_size, FILM_SEQ, MEASURED_ROWS, generator, 16)
    return moment(film.model(frame), film.steps[frame], rows, FILM_LENGTH)
