"""`python -m tfcore.training RECIPE --corpus PATH --out DIR`, also under torchrun; `list` lists them."""

import argparse
import json
import os
import sys
from math import isnan
from pathlib import Path

from tfcore.files import CheckpointError
from tfcore.training.data import CorpusError
from tfcore.training.loop import Processes, Progress
from tfcore.training.recipes import RECIPES


def report(p: Progress) -> None:
    """One line every ten steps, and the held-out measures when there are some."""
    if p.step % 10 and not p.measures:
        return
    hours, minutes = divmod(round(p.eta / 60), 60)
    line = f"step {p.step}/{p.steps}  loss {p.loss:.3f}  lr {p.lr:.1e}"
    line += "" if isnan(p.gradient_norm) else f"  |g| {p.gradient_norm:.2f}"
    line += f"  {p.rate:,.0f} tokens/s  {hours}:{minutes:02d} to go"
    print(line + "".join(f"  {name} {value:.4f}" for name, value in p.measures.items()), flush=True)


def listed() -> str:
    """Every recipe with what it makes, how long that takes and how good it gets."""
    lines = [
        f"{name:<12} {entry.makes}; {entry.takes} on two cores; {entry.reaches}" for name, entry in RECIPES.items()
    ]
    return "\n".join(lines)


def main() -> int:
    """Train a recipe; the exit status says whether it came to its end."""
    parser = argparse.ArgumentParser(prog="python -m tfcore.training", description=__doc__)
    parser.add_argument("recipe", choices=[*RECIPES, "list"])
    parser.add_argument("--corpus", type=Path, help="folder that holds the corpora")
    parser.add_argument("--out", type=Path, help="where the model goes; a stopped run there goes on")
    parser.add_argument("--steps", type=int, help="instead of the recipe's own number")
    parser.add_argument("--measure", action="store_true", help="measure the shipped model instead, for its card")
    options = parser.parse_args()
    if options.recipe == "list":
        print(listed())
        return 0
    entry = RECIPES[options.recipe]
    if (entry.measured_on_corpus if options.measure else entry.needs_corpus) and options.corpus is None:
        parser.error(f"{options.recipe} needs --corpus PATH")
    if options.steps is not None and not hasattr(entry.recipe, "settings"):
        parser.error(f"{options.recipe} has no steps; leave --steps out")
    if options.out is None and not options.measure:
        parser.error(f"{options.recipe} needs --out DIR")
    try:
        if options.measure:
            print(json.dumps(entry.measure(options.corpus), indent=2))
            return 0
        measures = entry.start(options.corpus, options.out, report, options.steps)
    except (CorpusError, CheckpointError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nstopped; the same command goes on from {options.out}", file=sys.stderr)
        return 130
    finally:
        Processes.leave()
    if os.environ.get("RANK", "0") == "0":
        print("\n".join(f"{name}: {value:.4f}" for name, value in measures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
