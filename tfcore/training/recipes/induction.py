"""The recipe of `induction`: two attention-only layers learn to copy, and a film of how they do (arXiv:2209.11895)."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tfcore.analysis.heads import repeated_tokens
from tfcore.checkpoints import save
from tfcore.config import ModelConfig
from tfcore.film import save_film
from tfcore.model import Transformer
from tfcore.tokenizers import ByteTokenizer
from tfcore.training import data
from tfcore.training.loop import Processes, Progress, Settings, train


@dataclass(frozen=True, slots=True, kw_only=True)
class InductionRecipe:
    """Rows of random bytes that begin again after a period of their own. Every token counts, also those that cannot be
    predicted, so that the model learns not to try.

    Args:
        seq: tokens a row; periods are between an eighth and three quarters of it.
        frames: steps at which the weights go into the film, many around the jump; multiples of evaluate_every.
    """

    model: ModelConfig
    settings: Settings
    frames: tuple[int, ...]
    seq: int = 128
    seed: int = 0


INDUCTION = InductionRecipe(
    model=ModelConfig(
        vocab_size=256, d_model=64, n_layers=2, n_heads=4, d_head=32, d_ff=0, max_seq_len=256, tie_embeddings=False
    ),
    settings=Settings(
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
            frames.mkdir(parents=True, exist_ok=True)
            save_file(_halved(model), frames / f"{step:06}.safetensors")
        return _brief(measure(model))

    model = Transformer(recipe.model, recipe.seed)
    if processes.rank == 0 and not frames.is_dir():
        evaluate(model, 0)
    train(model, batches, recipe.settings, out / "run", evaluate, report)
    if processes.rank > 0:
        return {}
    save(model, out, ByteTokenizer())
    return _brief(make_film(frames, out, recipe.model)[-1])


def make_film(frames: Path, out: Path, config: ModelConfig) -> list[dict[str, Any]]:
    """Put the frames of a run into one file; returns what was measured at each, from the weights as they are kept."""
    kept = {int(path.stem): load_file(path) for path in sorted(frames.glob("*.safetensors"))}
    measures = []
    for state in kept.values():
        model = Transformer(config).eval().requires_grad_(False)
        model.load_state_dict(state)
        measures.append(measure(model))
    save_film(out, kept, measures)
    return measures


def measure(model: Transformer) -> dict[str, Any]:
    """Losses and heads on different random tokens, said twice: of the best heads, and of each (layer, head)."""
    found = repeated_tokens(model, seed=1, distinct=True)
    heads = {"previous": found.previous, "induction": found.induction}
    return {
        "first_loss": round(found.first_loss, 4),
        "second_loss": round(found.second_loss, 4),
        "previous_token_head": round(float(found.previous.max()), 4),
        "induction_head": round(float(found.induction.max()), 4),
        **{name: [[round(float(head), 4) for head in layer] for layer in values] for name, values in heads.items()},
    }


def _brief(measures: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in measures.items() if isinstance(value, float)}


def _halved(model: Transformer) -> dict[str, Tensor]:
    return {name: tensor.detach().to("cpu", torch.float16).contiguous() for name, tensor in model.state_dict().items()}
