"""`python -m tests.families [FAMILY...]`: writes how far each family is from `transformers` into docs/models.md; with
names of families, their rows alone.

The numbers are those of tests/parity/checkpoints.py's configs, compared as `python -m tfcore check` compares.
"""

import platform
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import transformers

from tests.parity.checkpoints import BOTH, COMPOSITES, DECODERS, ENCODERS, PICTURES, SOUNDS, written
from tfcore.loading.against_transformers import Discrepancy, compared
from tfcore.loading.families import FAMILIES
from tfcore.loading.families.text_parts import COMPOSITES as OF_TEXTS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models.md"
NONE = "none"  # of a family without attention
PARTS = ("logits", "hidden states", "attention maps")  # of an encoder-decoder, those of both stacks and between them
BETWEEN = re.compile(r"(?<=<!-- families -->\n).*(?=<!-- /families -->)", re.DOTALL)
LINE = re.compile(r"^\| `([^`]+)` \| \d+ \|.*$", re.MULTILINE)
ROW = re.compile(r"^\| `([^`]+)` \| \d+ \| ([^|]+) \| ([^|]+) \| ([^|]+) \|", re.MULTILINE)


def table_in(page: str) -> dict[str, tuple[str, ...]]:
    """Family -> its differences, as the page has them."""
    return {found[1]: tuple(part.strip() for part in found.groups()[1:]) for found in ROW.finditer(page)}


def table(of_families: Mapping[str, list[list[Discrepancy]]], page: str = "") -> str:
    """The rows as a Markdown table, in the order of FAMILIES and COMPOSITES, and what they were measured with.

    Args:
        page: has the rows of other families.
    """
    lines = [
        "| family | configs | logits | hidden states | attention maps | tokens written |",
        "| :-- | --: | --: | --: | --: | :-- |",
    ]
    rows = {found[1]: found[0] for found in LINE.finditer(page)}
    for family, every in of_families.items():
        largest = {
            part: max((one.difference for found in every for one in found if one.what.endswith(part)), default=None)
            for part in PARTS
        }
        tokens = [one for found in every for one in found if one.what.startswith("tokens written")]
        said = ("the same" if all(one.is_equal for one in tokens) else "others") if tokens else ""
        differences = " | ".join(NONE if one is None else f"{one:.0e}" for one in largest.values())
        rows[family] = f"| `{family}` | {len(every)} | {differences} | {said} |"
    lines += [rows[family] for family in [*FAMILIES, *OF_TEXTS] if family in rows]
    machine = f"{platform.machine()}, torch {torch.__version__}, transformers {transformers.__version__}"
    return "\n" + "\n".join(lines) + f"\n\nIn float32 on a CPU: {machine}.\n\n"


def main(*only: str) -> None:
    """Compare every config, of some families alone where they are named, and write the table."""
    of_families = defaultdict(list)
    for kind, settings in (DECODERS | COMPOSITES | ENCODERS | BOTH | PICTURES | SOUNDS).values():
        family = kind.config_class.model_type
        if only and family not in only:
            continue
        with TemporaryDirectory() as folder:
            written(kind, settings, Path(folder))
            of_families[family].append(compared(folder))
    page = PAGE.read_text("utf-8")
    PAGE.write_text(BETWEEN.sub(lambda _: table(of_families, page if only else ""), page), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
