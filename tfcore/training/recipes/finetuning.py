"""The kept runs of the page on fine-tuning: `stories` tuned on a play by each method, and an adapter."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tfcore.training.finetuning import MODEL, fine_tune_to_the_end, kept_runs, save_runs, tuned_model
from tfcore.training.finetuning_runs import FineTuneConfig, FineTuned
from tfcore.training.loop import Progress
from tfcore.training.lora import save_adapter

ADAPTER = "stories-play"  # the folder of the first run's adapter, which ships beside its base
SEEDS = (0, 1, 2)  # of batches and of LoRA's A
METHODS = (
    FineTuneConfig(method="lora"),
    FineTuneConfig(method="lora", rank=1),
    FineTuneConfig(method="last"),
    FineTuneConfig(method="full"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FineTuningRecipe:
    """Which runs are kept: every method with every seed."""

    configs: tuple[FineTuneConfig, ...] = tuple(replace(config, seed=seed) for seed in SEEDS for config in METHODS)


FINETUNING = FineTuningRecipe()


def finetuning(
    corpus: Path | None,  # noqa: ARG001 - its text ships
    out: Path,
    report: Callable[[Progress], None],  # noqa: ARG001 - a minute, without steps to report
    recipe: FineTuningRecipe = FINETUNING,
) -> dict[str, float]:
    """Train every run, write `out`/runs.json and the adapter of the first run, and return the last losses of each."""
    runs = [fine_tune_to_the_end(config) for config in recipe.configs]
    out.mkdir(parents=True, exist_ok=True)
    save_runs(runs, out / "runs.json")
    first, *_ = recipe.configs
    if first.method == "lora":
        save_adapter(tuned_model(first), out / ADAPTER, MODEL)
    return last_losses(runs)


def last_losses(runs: list[FineTuned]) -> dict[str, float]:
    """Name of a run, text and seed -> loss at its end, nats per token."""
    losses: dict[str, float] = {}
    for run in runs:
        name = run.config.name.replace(" ", "_")
        seed = run.config.seed
        losses |= {f"{name}_new_{seed}": run.losses[-1].new, f"{name}_old_{seed}": run.losses[-1].old}
    return losses


def of_finetuning() -> dict[str, float]:
    """The last losses of the runs that ship."""
    return last_losses(kept_runs())
