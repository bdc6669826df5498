"""The recipe of the lenses of `smollm2`: a Jacobian lens, and a tuned lens that starts from a regression."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from tfcore.inspection.affine_lens import AffineLens
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.loading.lenses import KINDS, LensKind, folder_of, load_lens, save_lens
from tfcore.measures.lenses import (
    IDENTITY,
    LensReader,
    affine_reader,
    logit_reader,
    mean_divergences,
    patchscope_reader,
    stage_names,
)
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training import data
from tfcore.training.jacobian_lenses import mean_jacobians
from tfcore.training.loop import Processes, Progress, TrainingSettings
from tfcore.training.recipes.neurons import with_tokenizer
from tfcore.training.recipes.transcoders import PAIRS, WRITTEN, stream_of
from tfcore.training.tuned_lenses import least_squares, train_tuned_lens

MEASURED_TEXTS = "measured.npy"  # beside the weights: nobody has them otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class LensesRecipe:
    """How to make the lenses of a model.

    Args:
        model: its name.
        stages: names of the states that have a map.
        sources: name -> how often a row is drawn from it; WRITTEN by the model itself.
        written: rows that the model writes.
        seq: tokens of a row.
        held_out: the last part of each source, which is measured on and nothing else.
        jacobian_rows: that the mean Jacobians are of.
        regressed_rows: that the tuned lens starts from.
        measured_rows: that the numbers of the card are of.
        settings: rows of text a step of the tuned lens, and the schedule of Adam.
    """

    model: str = "smollm2"
    stages: tuple[str, ...] = ("blocks.0.resid_pre", *(f"blocks.{i}.resid_post" for i in range(2, 29, 3)))
    sources: Mapping[str, float] = field(
        default_factory=lambda: {PAIRS: 0.1, "tinystories": 0.1, "fairytales": 0.1, "classics": 0.2, WRITTEN: 0.5}
    )
    written: int = 192
    seq: int = 128
    seed: int = 1
    held_out: float = 0.1
    jacobian_rows: int = 6
    regressed_rows: int = 120
    measured_rows: int = 12
    settings: TrainingSettings = field(
        default_factory=lambda: TrainingSettings(
            steps=60, rows=2, lr=5e-4, lr_min=2e-5, warmup=10, betas=(0.9, 0.99), save_every=20
        )
    )


LENSES = LensesRecipe()


def lenses(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: LensesRecipe = LENSES
) -> dict[str, float]:
    """Make both lenses of a model, write each to a folder of its kind, and measure them as they ship; a stopped run
    goes on.

    Raises:
        CorpusError: when a text below `corpus` is missing or too short.
    """
    if Processes.join().rank > 0:  # one process does it
        return {}
    model, tokenizer = with_tokenizer(recipe.model)
    model.requires_grad_(False)
    read, apart = _texts(recipe, corpus, out, model, tokenizer)
    made: dict[LensKind, AffineLens] = {"jacobian": _jacobian(recipe, model, read, out, report)}
    made["tuned"] = _tuned(recipe, model, read, out, report)
    rows = _windows(recipe, apart, recipe.measured_rows, seed=2)
    for kind, lens in made.items():
        save_lens(out / folder_of(kind), lens, torch.int8)
        np.save(out / folder_of(kind) / MEASURED_TEXTS, rows.numpy().astype(np.uint16), allow_pickle=False)
    shipped = {kind: load_lens(out / folder_of(kind), kind, device="cpu") for kind in KINDS}
    return measured(model, tokenizer, shipped, rows)


def of_lenses(recipe: LensesRecipe = LENSES) -> dict[str, float]:
    """The shipped lenses, measured again."""
    model, tokenizer = with_tokenizer(recipe.model)
    path = PRETRAINED / recipe.model / folder_of("jacobian") / MEASURED_TEXTS
    rows = torch.from_numpy(np.load(path, allow_pickle=False).astype(np.int64))
    return measured(model, tokenizer, {kind: load_lens(recipe.model, kind, device="cpu") for kind in KINDS}, rows)


def measured(
    model: Transformer, tokenizer: Tokenizer, lenses: Mapping[LensKind, AffineLens], rows: Int[Tensor, "row seq"]
) -> dict[str, float]:
    """The numbers of the cards: mean KL(model || lens) in nats of each lens at the states that all of them read."""
    readers: dict[str, LensReader] = {kind: affine_reader(model, lens) for kind, lens in lenses.items()}
    common = readers["jacobian"].stages
    readers["logit"] = logit_reader(model).at(common)
    readers["patchscope"] = patchscope_reader(model, tokenizer.encode(IDENTITY)).at(common)
    tokens, found = mean_divergences(model, readers, rows.tolist())
    said: dict[str, float] = {"tokens": tokens}
    for i, stage in enumerate(stage_names(common)[:-1]):
        said |= {f"{stage} {kind}": round(float(values[i]), 4) for kind, values in sorted(found.items())}
    return said


def _texts(
    recipe: LensesRecipe, corpus: Path, out: Path, model: Transformer, tokenizer: Tokenizer
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The ids of each source: what is read, and what is held out."""
    streams = {name: stream_of(name, recipe, corpus, out, model, tokenizer) for name in recipe.sources}
    ends = {name: int(len(ids) * (1 - recipe.held_out)) for name, ids in streams.items()}
    return (
        {name: ids[: ends[name]] for name, ids in streams.items()},
        {name: ids[ends[name] :] for name, ids in streams.items()},
    )


def _windows(recipe: LensesRecipe, streams: Mapping[str, np.ndarray], rows: int, seed: int) -> Int[Tensor, "row seq"]:
    generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + seed)
    return data.windows(streams, recipe.sources, rows, recipe.seq, generator)


def _jacobian(
    recipe: LensesRecipe,
    model: Transformer,
    streams: Mapping[str, np.ndarray],
    out: Path,
    report: Callable[[Progress], None],
) -> AffineLens:
    each = [_windows(recipe, streams, 1, seed=100 + row) for row in range(recipe.jacobian_rows)]  # so more can follow
    rows = torch.cat(each)
    found = mean_jacobians(
        model, rows, recipe.stages, folder=out / "jacobians", report=partial(_read, report, len(rows))
    )
    lens = AffineLens(recipe.stages, model.config.d_model)
    with torch.no_grad():
        lens.weight.copy_(found.mean - torch.eye(model.config.d_model))
    return lens


def _read(report: Callable[[Progress], None], rows: int, done: int) -> None:
    """A text of the Jacobians, reported as a step of a training is."""
    report(Progress(10 * done, 10 * rows, 0.0, 0.0, 0.0, 0.0, 0.0))


def _tuned(
    recipe: LensesRecipe,
    model: Transformer,
    streams: Mapping[str, np.ndarray],
    out: Path,
    report: Callable[[Progress], None],
) -> AffineLens:
    start = least_squares(model, _windows(recipe, streams, recipe.regressed_rows, seed=1), recipe.stages)

    def batches(step: int) -> data.Batch:
        generator = torch.Generator().manual_seed((recipe.seed + 1) * 1_000_003 + step)
        return data.text_windows(streams, recipe.sources, recipe.settings.rows, recipe.seq, generator)

    return train_tuned_lens(model, batches, recipe.settings, out / "tuning", report, start=start)
