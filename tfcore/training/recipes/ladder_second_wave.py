"""The ladder of `second-wave`: switches of blocks after 2023, each alone against one base, three seeds each."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tfcore.config import ModelConfig
from tfcore.measures.attention_sizes import attention_sizes
from tfcore.measures.parameter_count import parameters
from tfcore.measures.text_loss import position_losses
from tfcore.model import Transformer
from tfcore.training.alike import seed_difference
from tfcore.training.data import prefixed
from tfcore.training.hyper_connections import connections_of
from tfcore.training.ladder import Halves, Rung, add_row, climb, rows_of
from tfcore.training.loop import Processes, Progress, TrainingSettings
from tfcore.training.multi_token import MultiTokenTransformer, second_guesses
from tfcore.training.recipes.ladder_modernisation import MODERNISATION
from tfcore.training.second_wave import BASE, OPTIMISED, WIDENED, base_of, switched

TABLE = "second_wave.csv"
GUESSES = "multi_token.csv"  # of the second prediction: a row a seed
CONNECTIONS = "hyper_connections.csv"  # a row for each row of the matrix around a layer


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondWaveRecipe:
    """One decoder and its switches, trained alike.

    Args:
        model: the base.
        seeds: how often each is trained.
        windows: held-out windows the loss is measured on, at most.
        sized: of these, windows on which scores, weights and the stream are measured, at most.
    """

    model: ModelConfig
    settings: TrainingSettings
    seeds: int = 3
    seq: int = 128
    windows: int = 400
    sized: int = 40


SECOND_WAVE = SecondWaveRecipe(
    model=base_of(MODERNISATION.model),
    settings=TrainingSettings(
        steps=400, rows=8, lr=4e-3, lr_min=1e-4, warmup=100, betas=(0.9, 0.98), evaluate_every=10_000
    ),
)


def rungs(recipe: SecondWaveRecipe) -> list[Rung]:
    """Every switch with every seed."""
    ladder = []
    for name, model in switched(recipe.model).items():
        labels: dict[str, str | int] = {"switch": name, "parameters": parameters(model).total}
        settings = replace(recipe.settings, optimiser=OPTIMISED.get(name, "adamw"))
        before = tuple(range(recipe.model.vocab_size, model.vocab_size))  # registers
        ladder += [
            Rung(
                labels=labels,
                model=model,
                settings=settings,
                seed=seed,
                before=before,
                build=WIDENED.get(name, Transformer),
            )
            for seed in range(recipe.seeds)
        ]
    return ladder


def second_wave_ladder(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: SecondWaveRecipe = SECOND_WAVE
) -> dict[str, float]:
    """Climb the ladder: second_wave.csv below `out`, and beside it what else is kept of two of the switches.

    Raises:
        CorpusError: when a text below `corpus` is missing or too short.
    """
    halves = Halves.read(corpus, out, recipe.seq, recipe.model.vocab_size)
    texts, some = halves.windows(recipe.seq + 1, recipe.windows), halves.windows(recipe.seq, recipe.sized)

    def measure(model: Transformer) -> dict[str, float]:
        before = range(recipe.model.vocab_size, model.config.vocab_size)
        loss = position_losses(model, prefixed(texts, before))[len(before) :].mean()
        return {"loss": float(loss), **asdict(attention_sizes(model, prefixed(some, before), len(before)))}

    def keep(rung: Rung, model: Transformer) -> None:
        if isinstance(model, MultiTokenTransformer):
            guesses = asdict(second_guesses(model, some))
            add_row(out / GUESSES, {"seed": rung.seed} | {name: round(value, 5) for name, value in guesses.items()})
        for place, matrix in enumerate(connections_of(model)):
            for source, row in enumerate(matrix.tolist()):
                weights = {str(target): round(weight, 4) for target, weight in enumerate(row)}
                add_row(out / CONNECTIONS, {"seed": rung.seed, "place": place, "source": source, **weights})

    climb(rungs(recipe), halves, recipe.seq, out / TABLE, measure, report, keep)
    return measured(out) if Processes.join().rank == 0 else {}


def measured(folder: Path) -> dict[str, float]:
    """Difference of the held-out loss of each switch to the base, seed by seed, and Student's 95 % interval of it."""
    rows = sorted(rows_of(folder / TABLE), key=lambda row: row["seed"])
    losses = {name: [row["loss"] for row in rows if row["switch"] == name] for name in switched(SECOND_WAVE.model)}
    found: dict[str, float] = {}
    for name in [name for name in losses if name != BASE and len(losses[name]) == len(losses[BASE]) > 1]:
        difference = seed_difference(losses[name], losses[BASE])
        found |= {
            name: round(difference.mean, 4),
            f"{name}, from": round(difference.low, 4),
            f"{name}, to": round(difference.high, 4),
        }
    return found
