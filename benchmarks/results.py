"""Results with where they come from: saved as JSON, shown as a table."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

FOLDER = Path(__file__).parent / "results"


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


def save(name: str, rows: Sequence[Mapping[str, Any]], folder: Path = FOLDER) -> Path:
    """Write results/NAME.json: date, machine, rows."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"date": datetime.now(UTC).date().isoformat(), "machine": machine(), "rows": list(rows)}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    return path


def load(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """The inverse of save."""
    return json.loads((folder / f"{name}.json").read_text("utf-8"))


def write_into(readme: Path, name: str, table: str) -> None:
    """Put a table between the markers `<!-- bench NAME -->` and `<!-- /bench -->` of a Markdown file."""
    text = readme.read_text("utf-8")
    before, start, rest = text.partition(f"<!-- bench {name} -->\n")
    _, end, after = rest.partition("<!-- /bench -->")
    if not (start and end):
        raise ValueError(f"{readme} has no <!-- bench {name} --> ... <!-- /bench -->")
    readme.write_text(f"{before}{start}\n{table}\n\n{end}{after}", "utf-8")


def forward_table(result: Mapping[str, Any]) -> str:
    """The results of benchmarks.forward as a Markdown table, with a line that says where it was measured."""
    lines = [
        "| tokens | all patterns / transformers eager | all patterns / bare matrix products "
        "| nothing captured / all patterns | everything captured / all patterns | ms: ours, peer, products |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for row in result["rows"]:
        times = row["milliseconds"]
        lines.append(
            f"| {row['tokens']} | {row['to_peer']:.2f} | {row['to_products']:.2f} | {row['nothing']:.2f} "
            f"| {row['everything']:.2f} | {times['patterns']:.0f}, {times['peer']:.0f}, {times['products']:.0f} |"
        )
    where = result["machine"]
    lines += [
        "",
        f"GPT-2-small's shape, random weights, float32; medians over interleaved rounds; {where['cpu']}, "
        f"{where['cores']} cores, torch {where['torch']}, transformers {where['transformers']}, {result['date']}.",
    ]
    return "\n".join(lines)
