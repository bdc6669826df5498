"""`python -m tfcore check FOLDER`: whether a checkpoint is read as `transformers` reads it, part by part."""

import argparse
import sys
from pathlib import Path

from tfcore.files import CheckpointError
from tfcore.loading.against_transformers import compared


def main() -> int:
    """Compare, and print a line a part; the exit status is 1 where they differ, and 2 where one cannot read it."""
    parser = argparse.ArgumentParser(prog="python -m tfcore", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="compare a folder or a GGUF file, read here and by transformers")
    check.add_argument("path", type=Path, metavar="FOLDER", help="a folder with a checkpoint, or a .gguf file")
    check.add_argument("--seed", type=int, default=0, help="of the tokens that both read")
    given = parser.parse_args()
    try:
        found = compared(given.path, given.seed)
    except CheckpointError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(map(str, found)))
    return 0 if all(one.is_equal for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
