"""The recipe of `colours`: a small Vision Transformer that names the colour of the largest shape of a drawn picture
(arXiv:2010.11929), with two registers (arXiv:2309.16588)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.loading.checkpoints import load, save
from tfcore.model import Transformer
from tfcore.part_configs import (
    AttentionConfig,
    ClassesConfig,
    FeedForwardConfig,
    NormConfig,
    PatchesConfig,
    PositionsConfig,
)
from tfcore.pictures import prepared
from tfcore.training.data import IGNORE, Batch
from tfcore.training.loop import Processes, Progress, TrainingSettings, train
from tfcore.training.shape_pictures import COLOURS, shape_picture

PATCHES = PatchesConfig(side=64, size=8, tokens=("CLS", "R1", "R2"))
HELD_OUT = 10**9  # the first seed of pictures that no training draws


@dataclass(frozen=True, slots=True, kw_only=True)
class ColoursRecipe:
    """A Vision Transformer trained on pictures that are drawn as they are needed; none is seen twice.

    Args:
        held_out: pictures of each colour that are measured.
    """

    model: ModelConfig
    settings: TrainingSettings
    seed: int = 0
    held_out: int = 64


COLOURED = ColoursRecipe(
    model=ModelConfig(
        architecture="encoder",
        vocab_size=len(PATCHES.tokens),
        d_model=64,
        n_layers=4,
        max_seq_len=len(PATCHES.tokens) + PATCHES.rows**2,
        attention=AttentionConfig(n_heads=4),
        positions=PositionsConfig(kind="learned"),
        norm=NormConfig(kind="layernorm"),
        feed_forward=FeedForwardConfig(activation="gelu"),
        patches=PATCHES,
        bias=True,
        head="classes",
        classes=ClassesConfig(labels=tuple(COLOURS)),
    ),
    settings=TrainingSettings(
        steps=300, rows=48, lr=1.5e-3, lr_min=1e-5, warmup=40, betas=(0.9, 0.98), weight_decay=0.05
    ),
)


def drawn(named: list[int], first_seed: int, patches: PatchesConfig) -> Tensor:
    """(picture, channel, side, side): one picture of each of these colours, by number, as a model reads it."""
    pictures = (shape_picture(colour, patches.side, first_seed + i) for i, colour in enumerate(named))
    return torch.cat([prepared(one, patches) for one in pictures])


def colours(
    _: Path | None, out: Path, report: Callable[[Progress], None], recipe: ColoursRecipe = COLOURED
) -> dict[str, float]:
    """Train the `colours` model and write its folder to `out`; returns its held-out measures, on the first process."""
    patches = recipe.model.patches
    assert patches is not None

    def batches(step: int) -> Batch:
        generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + step)
        named = torch.randint(len(COLOURS), (recipe.settings.rows,), generator=generator)
        targets = torch.full((len(named), recipe.model.max_seq_len), IGNORE)
        targets[:, 0] = named
        return Batch(drawn(named.tolist(), step * recipe.settings.rows, patches), targets)

    def evaluate(model: Transformer, _: int) -> dict[str, float]:
        return {"right": named_right(model, 8)}

    model = train(Transformer(recipe.model, recipe.seed), batches, recipe.settings, out / "run", evaluate, report)
    if Processes.join().rank > 0:
        return {}
    save(model, out, dtype=torch.float16)
    return {"right": named_right(model, recipe.held_out)}


def of_colours() -> dict[str, float]:
    """How often the shipped model names a picture right."""
    return {
        "right": round(named_right(load("colours")[0], COLOURED.held_out), 4),
        "pictures": len(COLOURS) * COLOURED.held_out,
    }


@torch.inference_mode()
def named_right(model: Transformer, of_each: int) -> float:
    """The share of pictures that are named right, of so many of each colour that no training draws."""
    return sum(float(right.float().mean()) for right in _right(model, of_each)) / of_each


def _right(model: Transformer, of_each: int) -> Iterator[Tensor]:
    """Whether a picture of each colour is named right, time after time."""
    patches, named = model.config.patches, list(range(len(COLOURS)))
    assert patches is not None
    for time in range(of_each):
        pictures = drawn(named, HELD_OUT + time * len(COLOURS), patches).to(model.device)
        scores = model(pictures).logits[:, model.config.read_at]
        yield scores.argmax(-1).cpu() == torch.tensor(named)
