"""Results with where they come from: saved as JSON, shown as tables in docs/benchmarks.md."""

import argparse
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

FOLDER = Path(__file__).parent / "results"
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def machine() -> dict[str, str | int]:
    """What the numbers were measured on."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count() or 0,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers"),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def stamped(rows: Sequence[Mapping[str, Any]], device: str = "cpu") -> dict[str, Any]:
    """Rows with the date and the machine they were measured on."""
    where = machine() | ({"gpu": torch.cuda.get_device_name()} if device == "cuda" else {})
    return {"date": datetime.now(UTC).date().isoformat(), "machine": where, "rows": list(rows)}


def busy() -> float:
    """What else the machine has to do: processes that want a core, over the last minute."""
    return round(os.getloadavg()[0], 1)


def save(name: str, result: Mapping[str, Any], folder: Path = FOLDER) -> None:
    """Write results/NAME.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")


def load(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """The inverse of save."""
    return json.loads((folder / f"{name}.json").read_text("utf-8"))


def write_into(page: Path, name: str, table: str) -> None:
    """Put a table between the markers `<!-- bench NAME -->` and `<!-- /bench -->` of a Markdown file."""
    text = page.read_text("utf-8")
    before, start, rest = text.partition(f"<!-- bench {name} -->\n")
    _, end, after = rest.partition("<!-- /bench -->")
    if not (start and end):
        raise ValueError(f"{page} has no <!-- bench {name} --> ... <!-- /bench -->")
    page.write_text(f"{before}{start}\n{table}\n\n{end}{after}", "utf-8")


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    what: str,
    result: Mapping[str, Any],
    how: str = "medians over interleaved rounds",
) -> str:
    """A Markdown table, and a line below that says what was measured, how, where and when."""
    where = result["machine"]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, ["--:"] * len(heads), *rows)]
    lines += [
        "",
        f"{what}; {how}; {where.get('gpu', where['cpu'])}, {where['cores']} cores, "
        f"torch {where['torch']}, transformers {where['transformers']}, {result['date']}.",
    ]
    return "\n".join(lines)


def command(
    name: str,
    what: str | None,
    measure: Callable[..., dict[str, Any]],
    quick: tuple[float, ...],
    table: Callable[[Mapping[str, Any]], str],
) -> int:
    """`python -m benchmarks.NAME`: measures, prints the table and keeps it, or with --quick keeps nothing; says whether
    a row has errors.

    Args:
        quick: what `measure` is given then.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=what)
    parser.add_argument("--quick", action="store_true", help="two short rounds, and nothing is kept")
    given = parser.parse_args()
    result = measure(*quick) if given.quick else measure()
    if not given.quick:
        save(name, result)
        write_into(PAGE, name, table(result))
    print(table(result))
    return bool([error for row in result["rows"] for error in row["errors"]])
