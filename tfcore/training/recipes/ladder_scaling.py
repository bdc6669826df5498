"""The ladder of `scaling`: six sizes with three budgets of tokens, a law fitted, its largest rungs predicted."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tfcore.config import ModelConfig
from tfcore.measures.parameter_count import EMBEDDINGS, parameters
from tfcore.measures.scaling_laws import Law, fit_law
from tfcore.training import story_texts
from tfcore.training.ladder import Halves, Rung, climb, rows_of
from tfcore.training.loop import Processes, Progress, TrainingSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingRecipe:
    """Decoders of one design, from small to large.

    Args:
        model: the design; width, layers and heads are set by the sizes.
        sizes: (d_model, n_layers) of each, from small to large; the last is predicted from the others.
        budgets: how many times settings.steps each size is trained for, every time from the start.
        settings: of one budget; the learning rate is that of d_model 64, others get it times sqrt(64 / d_model).
        windows: held-out windows the loss is measured on, at most.
    """

    model: ModelConfig
    settings: TrainingSettings
    sizes: tuple[tuple[int, int], ...]
    budgets: tuple[int, ...] = (1, 2, 4)
    seq: int = 128
    windows: int = 400
    seed: int = 0


SCALING = ScalingRecipe(
    model=ModelConfig(vocab_size=story_texts.VOCAB_SIZE, max_seq_len=128, tie_embeddings=True),
    settings=TrainingSettings(
        steps=500, rows=16, lr=4e-3, lr_min=1e-4, warmup=100, betas=(0.9, 0.98), evaluate_every=10_000
    ),
    sizes=((16, 2), (24, 2), (32, 3), (48, 3), (64, 4), (96, 4)),
)


def rungs(recipe: ScalingRecipe) -> list[Rung]:
    """Every size with every budget, the small ones first."""
    ladder = []
    for d_model, n_layers in recipe.sizes:
        lr = recipe.settings.lr * (64 / d_model) ** 0.5
        heads = max(1, d_model // 16)
        model = recipe.model.changed(d_model=d_model, n_layers=n_layers, n_heads=heads)
        count = parameters(model)
        body = count.total - sum(count.by_component.get(name, 0) for name in EMBEDDINGS)
        for budget in recipe.budgets:
            settings = replace(recipe.settings, steps=budget * recipe.settings.steps, lr=round(lr, 6))
            labels = {"parameters": body, "budget": budget}
            ladder.append(Rung(labels=labels, model=model, settings=settings, seed=recipe.seed))
    return ladder


def scaling(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: ScalingRecipe = SCALING
) -> dict[str, float]:
    """Climb the ladder: scaling.csv and scaling.json below `out`, the latter written before the last size is trained.

    Raises:
        CorpusError: when a text below `corpus` is missing or too short.
    """
    halves, table = Halves.read(corpus, out, recipe.seq, recipe.model.vocab_size), out / "scaling.csv"
    measure, ladder = halves.mean_loss(recipe.seq, recipe.windows), rungs(recipe)
    last, is_first = len(ladder) - len(recipe.budgets), Processes.join().rank == 0
    rows = climb(ladder[:last], halves, recipe.seq, table, measure, report)
    if is_first and not (out / "scaling.json").is_file():
        foretell(rows, ladder[last:], recipe.seq, out / "scaling.json")
    climb(ladder[last:], halves, recipe.seq, table, measure, report)
    return measured(out) if is_first else {}


def foretell(rows: Sequence[dict[str, Any]], last: Sequence[Rung], seq: int, path: Path) -> None:
    """Fit the law to the rows, and write it down with what it says of rungs that are not trained yet."""
    law = fit_law(*([float(row[name]) for row in rows] for name in ("parameters", "tokens", "loss")))
    said = {
        rung.name: round(law.loss(int(rung.labels["parameters"]), rung.settings.steps * rung.settings.rows * seq), 5)
        for rung in last
    }
    path.write_text(json.dumps({"law": asdict(law), "fitted_to": len(rows), "predicted": said}, indent=2), "utf-8")


def measured(folder: Path) -> dict[str, float]:
    """The law in `folder`, and how far from it the largest model came out: predicted over measured loss."""
    rows, content = rows_of(folder / "scaling.csv"), json.loads((folder / "scaling.json").read_text("utf-8"))
    losses = {row["name"]: row["loss"] for row in rows}
    law, predicted = Law(**content["law"]), content["predicted"]
    name = list(predicted)[-1]
    return {
        **{part: round(value, 4) for part, value in asdict(law).items()},
        "predicted": predicted[name],
        "measured": losses[name],
        "worst_error": round(max(abs(predicted[n] / losses[n] - 1) for n in predicted), 4),
    }
