"""Scores of attribution graphs over many prompts, stored beside the transcoders of a model.

`python -m tools.graph_scores NAME COUNT` measures and writes them; with --measure it prints what it finds alone.
"""

import argparse
import json
import sys

import tfcore
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.loading.transcoders import FOLDER, with_transcoders
from tfcore.views.inside.circuits.measure.scores import SCORES, held_out_prompts, save_graph_scores, score_prompts


def tell(done: int) -> None:
    """Say how many prompts are done."""
    sys.stderr.write(f"{done}\r")


def main() -> None:
    """Measure the graphs of one model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=with_transcoders())
    parser.add_argument("count", type=int, help="prompts")
    parser.add_argument("--measure", action="store_true", help="write nothing")
    options = parser.parse_args()
    scores = score_prompts(
        tfcore.load(options.model)[0], options.model, held_out_prompts(options.model, options.count), tell
    )
    if not options.measure:
        save_graph_scores(PRETRAINED / options.model / FOLDER, scores)
    names = ("tenth", "median", "nine tenths")
    said = {key: dict(zip(names, scores.quantiles(key).round(3).tolist(), strict=True)) for key in SCORES}
    sys.stdout.write(json.dumps({"prompts": len(scores.replacement), "tokens": scores.tokens, **said}, indent=2) + "\n")


if __name__ == "__main__":
    main()
