"""`python -m tests.families`: writes how far each family is from `transformers` into docs/models.md.

The numbers are those of tests/parity/checkpoints.py's configs, compared as `python -m tfcore check` compares.
"""

import platform
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import transformers

from tests.parity.checkpoints import BOTH, DECODERS, ENCODERS, written
from tfcore.files import read_json
from tfcore.loading.against_transformers import Discrepancy, compared

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models.md"
PARTS = ("logits", "hidden states", "attention maps")  # of an encoder-decoder, those of both stacks and between them
BETWEEN = re.compile(r"(?<=<!-- families -->\n).*(?=<!-- /families -->)", re.DOTALL)
ROW = re.compile(r"^\| `([^`]+)` \| \d+ \| ([^|]+) \| ([^|]+) \| ([^|]+) \|", re.MULTILINE)


def table_in(page: str) -> dict[str, tuple[str, ...]]:
    """Family -> its differences, as the page has them."""
    return {found[1]: tuple(part.strip() for part in found.groups()[1:]) for found in ROW.finditer(page)}


def table(of_families: Mapping[str, list[list[Discrepancy]]]) -> str:
    """The rows as a Markdown table, and what they were measured with."""
    lines = [
        "| family | configs | logits | hidden states | attention maps | tokens written |",
        "| :-- | --: | --: | --: | --: | :-- |",
    ]
    for family, every in of_families.items():
        largest = {
            part: max((one.difference for found in every for one in found if one.what.endswith(part)), default=0)
            for part in PARTS
        }
        tokens = [one for found in every for one in found if one.what.startswith("tokens written")]
        said = ("the same" if all(one.is_equal for one in tokens) else "others") if tokens else ""
        lines.append(
            f"| `{family}` | {len(every)} | " + " | ".join(f"{one:.0e}" for one in largest.values()) + f" | {said} |"
        )
    machine = f"{platform.machine()}, torch {torch.__version__}, transformers {transformers.__version__}"
    return "\n" + "\n".join(lines) + f"\n\nIn float32 on a CPU: {machine}.\n\n"


def main() -> None:
    """Compare every config, and write the table."""
    of_families = defaultdict(list)
    for kind, settings in (DECODERS | ENCODERS | BOTH).values():
        with TemporaryDirectory() as folder:
            written(kind, settings, Path(folder))
            of_families[read_json(Path(folder) / "config.json")["model_type"]].append(compared(folder))
    PAGE.write_text(BETWEEN.sub(lambda _: table(of_families), PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
