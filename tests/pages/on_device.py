"""The programs of pages on another device, beside the CPU: `python -m tests.pages.on_device cuda PROGRAMS`.

PROGRAMS is a folder with the scripts that pages give away, such as the one that
`pytest tests/pages/test_experiments.py --basetemp=build/programs` leaves below build/programs. Each is run twice, with
trainings and measurements as short as in the tests of pages; what is printed is by how much the numbers of its figure
differ, as a part of the largest of each row of numbers, and which sentences do. Needs tfcore alone, without Streamlit.
"""

import argparse
import contextlib
import importlib
import io
import os
import re
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from tests.pages.short import SHORT
from tfcore.views import sources
from tfcore.views.kept import SHELF
from tfcore.views.view import Scene, View

MODEL = re.compile(r'^model_name = "stories"', re.MULTILINE)


@dataclass
class Ran:
    """A program that was run.

    Args:
        numbers: the rows of numbers of its figure.
        sentences: its findings.
        problem: the end of a traceback; empty where there was none.
    """

    seconds: float
    numbers: list[np.ndarray] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    problem: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device")
    parser.add_argument("programs", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", default="", help="a part of the names of files")
    parser.add_argument("--model", help="in the place of stories")
    asked = parser.parse_args()
    files = sorted(file for file in asked.programs.rglob("*.py") if asked.only in str(file))
    failed = 0
    with ProcessPoolExecutor(asked.workers, get_context("spawn")) as pool:
        jobs = [pool.submit(both, str(file.resolve()), asked.device, asked.model) for file in files]
        for file, job in zip(files, jobs, strict=True):
            line, wrong = job.result()
            failed += wrong
            sys.stdout.write(f"{file.stem}: {line}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(files)} programs, {failed} failed on {asked.device}\n")
    sys.exit(failed > 0)


def both(file: str, device: str, model: str | None) -> tuple[str, bool]:
    """What is told of a program, and whether it fails on the device alone."""
    torch.set_num_threads(1)
    if device == "pretend":
        importlib.import_module("tests.pretend_device")
    for place, value in SHORT.items():
        module, _, name = place.rpartition(".")
        if module.startswith("tfcore."):
            setattr(importlib.import_module(module), name, value)
    source = Path(file).read_text("utf-8")
    if model is not None:
        if not MODEL.search(source):
            return "skipped, of another model", False
        source = MODEL.sub(f'model_name = "{model}"', source)
    plain, other = ran(source, "cpu"), ran(source, device)
    if plain.problem:
        return f"skipped, fails on the CPU:\n{plain.problem}", False
    if other.problem:
        return f"FAILED on {device}:\n{other.problem}", True
    different = [said for said in other.sentences if said not in plain.sentences]
    told = f"{plain.seconds:.2f} s, {other.seconds:.2f} s; {apart(plain.numbers, other.numbers):.1e} apart"
    return "\n    ".join([told, *different]), False


def ran(source: str, device: str) -> Ran:
    """The program, run on a device in a folder of its own, with models and results of its own: those that are kept are
    on the device of the run before."""
    names: dict[str, Any] = {"__name__": "__main__", "__package__": ""}
    began = time.perf_counter()
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, TFCORE_DEVICE=device))
        stack.enter_context(patch.object(sources, "_opener", [lru_cache(maxsize=2)(sources._load)]))
        SHELF.clear()
        stack.callback(SHELF.clear)
        stack.enter_context(contextlib.chdir(stack.enter_context(tempfile.TemporaryDirectory())))
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        try:
            exec(compile(source, "program", "exec"), names)
        except Exception:
            return Ran(time.perf_counter() - began, problem="\n".join(traceback.format_exc().splitlines()[-9:]))
    shown = names["shown"]
    chart = shown.chart if isinstance(shown, View) else shown.figure
    data = chart.data if isinstance(chart, Scene) else [trace.to_plotly_json() for trace in chart.data]
    return Ran(time.perf_counter() - began, numbers(data), [str(found) for found in shown.findings])


def numbers(node: Any) -> list[np.ndarray]:
    """All rows of numbers in a figure's traces, in their order."""
    if isinstance(node, dict):
        return [found for key in sorted(node) if key != "marker" for found in numbers(node[key])]
    if isinstance(node, np.ndarray) and node.dtype.kind in "biuf":
        return [node.astype(float).ravel()]
    if isinstance(node, list | tuple | np.ndarray):
        parts = list(node)
        if parts and all(part is None or isinstance(part, int | float) for part in parts):
            return [np.array([np.nan if part is None else part for part in parts], dtype=float)]
        return [found for part in parts for found in numbers(part)]
    return []


def apart(some: list[np.ndarray], others: list[np.ndarray]) -> float:
    """By how much two figures differ, as a part of the largest number of each row; infinite where their shapes do."""
    if [len(row) for row in some] != [len(row) for row in others]:
        return float("inf")
    parts = [
        float(np.nanmax(np.abs(a - b))) / max(float(np.nanmax(np.abs(a))), 1e-12)
        for a, b in zip(some, others, strict=True)
        if np.isfinite(a).any() and np.isfinite(b).any()
    ]
    return max(parts, default=0.0)


if __name__ == "__main__":
    main()
