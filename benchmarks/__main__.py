"""`python -m benchmarks`: measures, prints the tables, keeps the numbers in benchmarks/results/ and docs/."""

import argparse
from dataclasses import asdict

import torch

from benchmarks import (
    beside_training,
    effects,
    experts,
    first_figure,
    forward,
    generation,
    in_place,
    onednn,
    real_model,
    real_page,
    results,
    torch_layers,
)

BENCHMARKS = {
    "real": real_model,
    "effects": effects,
    "page": real_page,
    "forward": forward,
    "onednn": onednn,
    "layers": torch_layers,
    "softmax": in_place,
    "generation": generation,
    "experts": experts,
    "training": beside_training,
    "first": first_figure,
}


def main() -> None:
    """Run the benchmarks named on the command line, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)}; all if none is given"
    )
    there = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", default=there, help="cpu or cuda; a GPU if there is one")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and nothing is kept")
    given = parser.parse_args()
    if unknown := set(given.names) - set(BENCHMARKS):
        parser.error(f"there is no benchmark {min(unknown)}; there are {', '.join(BENCHMARKS)}")
    for name in given.names or BENCHMARKS:
        run(name, given.quick, given.device)


def run(name: str, quick: bool, where: str) -> None:
    """Measure, print, and keep unless it was quick. The page shows what was measured on a CPU."""
    benchmark = BENCHMARKS[name]
    rounds = dict.fromkeys(benchmark.ROUNDS, 3) if quick else benchmark.ROUNDS
    result = results.stamped([asdict(row) for row in benchmark.measure(rounds, device=where)], where)
    table = benchmark.table(result)
    if not quick:
        results.save(name if where == "cpu" else f"{name}-{where}", result)
        if where == "cpu":
            results.write_into(results.PAGE, name, table)
    print(f"{name}\n\n{table}\n", flush=True)


if __name__ == "__main__":
    main()
