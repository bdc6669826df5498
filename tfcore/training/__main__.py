"""`python -m tfcore.training stories --corpus PATH --out DIR`; under torchrun on several processes."""

import argparse
import os
import sys
from pathlib import Path

from tfcore.training.data import CorpusError
from tfcore.training.loop import Processes, Progress
from tfcore.training.recipes import STORIES, stories, with_steps


def show(p: Progress) -> None:
    """One line every ten steps, and the held-out measures when there are some."""
    if p.step % 10 and not p.measures:
        return
    hours, minutes = divmod(round(p.eta / 60), 60)
    line = f"step {p.step}/{p.steps}  loss {p.loss:.3f}  lr {p.lr:.1e}  |g| {p.gradient_norm:.2f}"
    line += f"  {p.rate:,.0f} tokens/s  {hours}:{minutes:02d} to go"
    print(line + "".join(f"  {name} {value:.4f}" for name, value in p.measures.items()), flush=True)


def main() -> int:
    """Train a recipe; the exit status says whether it came to its end."""
    parser = argparse.ArgumentParser(prog="python -m tfcore.training", description=__doc__)
    parser.add_argument("recipe", choices=["stories"])
    parser.add_argument("--corpus", type=Path, required=True, help="folder that holds the corpora")
    parser.add_argument("--out", type=Path, required=True, help="where the model goes; a stopped run there goes on")
    parser.add_argument("--steps", type=int, help="instead of the recipe's own number")
    options = parser.parse_args()
    recipe = STORIES if options.steps is None else with_steps(STORIES, options.steps)
    try:
        measures = stories(options.corpus, options.out, show, recipe)
    except CorpusError as error:
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
