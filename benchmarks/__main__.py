"""`python -m benchmarks`: measures, prints the table, keeps the numbers in benchmarks/results/ and the README."""

import argparse
from pathlib import Path

from benchmarks import forward, results

README = Path(__file__).parent.parent / "README.md"


def main() -> None:
    """Run all benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and nothing is kept")
    quick = parser.parse_args().quick
    rounds = dict.fromkeys(forward.ROUNDS, 3) if quick else forward.ROUNDS
    rows = [row.to_dict() for row in forward.measure(rounds)]
    if quick:
        print(results.forward_table({"date": "today", "machine": results.machine(), "rows": rows}))
        return
    results.save("forward", rows)
    table = results.forward_table(results.load("forward"))
    results.write_into(README, "forward", table)
    print(table)


if __name__ == "__main__":
    main()
