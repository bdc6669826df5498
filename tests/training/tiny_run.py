"""The `stories` recipe, small enough for tests: python -m tests.training.tiny_run CORPUS OUT DROPOUT [HOLD_AT]

Prints one line of JSON a step. At step HOLD_AT it waits for ever, for the test to kill it there.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from tfcore.training.data import STORY_SOURCES, VALID
from tfcore.training.loop import Processes, Progress
from tfcore.training.recipes.stories import STORIES, stories

STORY = "The little dog saw a {0}. The {0} was red. The dog and the {0} went home, and the dog was happy."


def write_corpus(folder: Path) -> Path:
    """A few sentences in the place of every corpus."""
    things = ("ball", "boat", "bird", "book", "bear", "kite", "cake", "duck")
    for i, (name, _) in enumerate([*STORY_SOURCES.values(), VALID]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        documents = [f"{i}: " + STORY.format(thing) for thing in things]
        (folder / name).write_text("\n<|endoftext|>\n".join(documents), "utf-8")
    return folder


def run(corpus: Path, out: Path, dropout: float, report: Callable[[Progress], None]) -> dict[str, float]:
    """Two and eight steps of the recipe in small; the eight are reported, and kept after the third and sixth."""
    model = replace(
        STORIES.model, vocab_size=400, d_model=16, n_layers=2, n_heads=2, d_ff=24, max_seq_len=24, dropout=dropout
    )
    settings = replace(STORIES.settings, steps=8, warmup=2, evaluate_every=4, save_every=3)
    start = replace(STORIES.start, steps=2, rows=4)
    recipe = replace(
        STORIES, model=model, start=start, settings=settings, start_seq=20, seq=24, grown=6, held_out_stories=2
    )
    return stories(corpus, out, lambda p: report(p) if p.steps == settings.steps else None, recipe)


def main() -> None:
    torch.set_num_threads(1)
    corpus, out, dropout, *hold_at = sys.argv[1:]

    def report(progress: Progress) -> None:
        print(json.dumps({"step": progress.step, "loss": progress.loss, **progress.measures}), flush=True)  # noqa: T201
        if hold_at and progress.step == int(hold_at[0]):
            sys.stdin.read()

    run(Path(corpus), Path(out), float(dropout), report)
    Processes.leave()


if __name__ == "__main__":
    main()
