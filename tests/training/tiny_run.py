"""Recipes, small enough for tests: python -m tests.training.tiny_run RECIPE[,RECIPE...] CORPUS OUT DROPOUT [HOLD_AT]

Prints one line of JSON a step. At step HOLD_AT it waits for ever, for the test to kill it there. Several recipes run
one after another, each in a folder of its name below OUT.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from tfcore.config import ModelConfig
from tfcore.part_configs import ExpertsConfig
from tfcore.training.data import STORY_SOURCES, VALID
from tfcore.training.loop import Processes, Progress
from tfcore.training.pairs import SOURCE as PAIRS
from tfcore.training.recipes import RECIPES

STORY = "The little dog saw a {0}. The {0} was red. The dog and the {0} went home, and the dog was happy."


def write_corpus(folder: Path) -> Path:
    """A few sentences in the place of every corpus."""
    things = ("ball", "boat", "bird", "book", "bear", "kite", "cake", "duck")
    for i, (name, _) in enumerate([*STORY_SOURCES.values(), VALID]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        documents = [f"{i}: " + STORY.format(thing) for thing in things]
        (folder / name).write_text("\n<|endoftext|>\n".join(documents), "utf-8")
    (folder / PAIRS[0]).parent.mkdir(parents=True, exist_ok=True)
    lines = (
        f"{en} {i}.\t{fr} {i} !" for i in range(8) for en, fr in (("Go", "Va"), ("A dog", "Un chien"), ("No", "Non"))
    )
    (folder / PAIRS[0]).write_text("\n".join(lines), "utf-8")
    return folder


def tiny(model: ModelConfig, **parts: Any) -> ModelConfig:
    return model.changed(d_model=16, n_layers=2, n_heads=2, d_ff=24, max_seq_len=24, **parts)


def in_small(name: str, dropout: float) -> Any:
    """The recipe of that name: eight steps, measured every fourth, kept after the third and sixth."""
    recipe = RECIPES[name].recipe
    settings = replace(recipe.settings, steps=8, warmup=2, evaluate_every=4, save_every=3)
    recipe = replace(recipe, settings=settings)
    if name == "transcoders":
        small = replace(settings, rows=4)
        return replace(recipe, n_features=40, top_k=4, seq=24, settings=small, tuning=replace(small, bfloat16=True))
    if name == "tuned-lens":
        return replace(recipe, models=("stories-learned",), seq=24, settings=replace(settings, rows=4))
    if name == "smollm2-lenses":
        few = {"sources": {"tinystories": 0.5, "classics": 0.5}, "jacobian_rows": 2, "regressed_rows": 4}
        stages, small = ("blocks.0.resid_pre", "blocks.1.resid_post"), replace(settings, rows=2)
        few |= {"measured_rows": 2, "held_out": 0.5, "seq": 24, "settings": small}
        return replace(recipe, model="stories-learned", stages=stages, **few)
    if name == "colours":
        patches = replace(recipe.model.patches, side=16)
        model = recipe.model.changed(d_model=16, n_layers=2, n_heads=2, d_ff=24, patches=patches, max_seq_len=7)
        return replace(recipe, model=model, held_out=1, settings=replace(settings, rows=4))
    if name == "tones":
        model = recipe.model.changed(d_model=16, n_heads=2, d_ff=24)
        return replace(recipe, model=model, held_out=1, settings=replace(settings, rows=4))
    if name == "induction":
        return replace(recipe, frames=(0, 4, 8), seq=24)
    if name == "translate":
        model = tiny(recipe.model, vocab_size=300, dropout=dropout)
        return replace(recipe, model=model, held_out=2, looked_at=2, settings=replace(settings, rows=4))
    if name == "fill":
        model = tiny(recipe.model, vocab_size=401, dropout=dropout)
        return replace(recipe, model=model, embeddings_of=None, held_out_stories=2)
    if name.startswith("ladder"):
        return in_small_ladder(replace(recipe, settings=replace(settings, rows=4)))
    experts = recipe.model.experts
    if experts is not None:
        experts = ExpertsConfig(n_experts=4, top_k=2, d_expert=12, n_shared=experts.n_shared)
    model = tiny(recipe.model, vocab_size=400, dropout=dropout, experts=experts)
    start = replace(recipe.start, steps=2, rows=4)
    short = {"start_seq": 20, "seq": 24, "grown": 6, "held_out_stories": 2, "even_steps": 2}
    return replace(recipe, model=model, start=start, **short)


def in_small_ladder(recipe: Any) -> Any:
    recipe = replace(recipe, model=tiny(recipe.model, vocab_size=400), seq=6, windows=4)
    if hasattr(recipe, "sizes"):
        return replace(recipe, sizes=((8, 1), (16, 1), (24, 1)), budgets=(1, 2))
    return replace(recipe, seeds=1, **({"bucket": 6} if hasattr(recipe, "bucket") else {}))


def run(name: str, corpus: Path, out: Path, dropout: float, report: Callable[[Progress], None]) -> dict[str, float]:
    """Run a recipe in small; its eight steps are reported."""
    recipe = in_small(name, dropout)
    return RECIPES[name].run(corpus, out, lambda p: report(p) if p.steps == 8 else None, recipe)


def main() -> None:
    torch.set_num_threads(1)
    names, corpus, out, dropout, *hold_at = sys.argv[1:]

    def report(name: str, progress: Progress) -> None:
        of = {"recipe": name} if "," in names else {}
        print(json.dumps({**of, "step": progress.step, "loss": progress.loss, **progress.measures}), flush=True)  # noqa: T201
        if hold_at and progress.step == int(hold_at[0]):
            sys.stdin.read()

    for name in names.split(","):
        run(name, Path(corpus), Path(out, name if "," in names else ""), float(dropout), partial(report, name))
    Processes.leave()


if __name__ == "__main__":
    main()
