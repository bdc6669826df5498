"""`python -m benchmarks`: measures, prints the tables, keeps the numbers in benchmarks/results/ and docs/."""

import argparse
from dataclasses import asdict
from importlib import import_module
from types import ModuleType

import torch

from benchmarks import results

BENCHMARKS = {  # name -> module of this folder, imported when it runs: some need a browser
    "real": "real_model",
    "effects": "effects",
    "page": "real_page",
    "gpu": "on_gpu",
    "forward": "forward",
    "onednn": "onednn",
    "layers": "torch_layers",
    "softmax": "in_place",
    "generation": "generation",
    "experts": "experts",
    "training": "beside_training",
    "first": "first_figure",
}
ON_A_SERVER = ("page", "training", "first")  # of the app: these are not of a device
ON_A_GPU = ("gpu",)


def benchmark(name: str) -> ModuleType:
    """The module that measures."""
    return import_module(f"benchmarks.{BENCHMARKS[name]}")


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
    left_out = ON_A_GPU if given.device == "cpu" else ON_A_SERVER
    for name in given.names or [name for name in BENCHMARKS if name not in left_out]:
        run(name, given.quick, given.device)


def run(name: str, quick: bool, where: str) -> None:
    """Measure, print, and keep unless it was quick. The page shows what was measured on a CPU, and one GPU table."""
    module = benchmark(name)
    rounds = dict.fromkeys(module.ROUNDS, 3) if quick else module.ROUNDS
    result = results.stamped([asdict(row) for row in module.measure(rounds, device=where)], where)
    table = module.table(result)
    if not quick and result["rows"]:
        shown = (where == "cpu") != (name in ON_A_GPU)
        results.save(name if shown else f"{name}-{where}", result)
        if shown:
            results.write_into(results.PAGE, name, table)
    print(f"{name}\n\n{table}\n", flush=True)


if __name__ == "__main__":
    main()
