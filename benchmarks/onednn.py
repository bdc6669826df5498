"""What oneDNN gains in a forward pass, against the same pass with all products as torch takes them by itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

import torch

import tfcore
from benchmarks import results
from benchmarks.gpt2_shape import ours, text
from benchmarks.timing import interleaved, milliseconds, ratio
from tfcore import onednn
from tfcore.loading.real_models import installed
from tfcore.model import Transformer

ROUNDS = {1: 51, 32: 31, 128: 21, 512: 7}  # tokens -> rounds
REAL = "smollm2"


@dataclass(frozen=True, slots=True)
class OneDnn:
    """One line of the table.

    Args:
        model: a shipped one, a real one that was fetched, or the shape of one.
        tokens: length of the text.
        milliseconds: median time of both ways: onednn, torch.
        to_torch: the pass with oneDNN over the other; median of the ratios in the same round.
    """

    model: str
    tokens: int
    milliseconds: dict[str, float]
    to_torch: float


@torch.no_grad()
def measure(rounds: dict[int, int] | None = None, device: str = "cpu") -> list[OneDnn]:
    """Time a small model, a real one where it was fetched, and GPT-2's shape; on a GPU there is one way."""
    if device != "cpu":
        return []
    models = {"stories": tfcore.load("stories")[0], "GPT-2's shape": ours()}
    if REAL in installed():
        models[REAL] = tfcore.load(REAL)[0]
    lengths = (rounds or ROUNDS).items()
    return [
        line(name, model, tokens, n)
        for name, model in models.items()
        for tokens, n in lengths
        if tokens <= model.config.max_seq_len
    ]


def line(name: str, model: Transformer, tokens: int, rounds: int) -> OneDnn:
    """Both ways over one text."""
    run = partial(model, text(model, tokens))

    def without() -> object:
        with patch.object(onednn, "ONEDNN", False):
            return run()

    seconds = interleaved({"onednn": run, "torch": without}, rounds)
    times = {way: round(milliseconds(seconds, way), 2) for way in seconds}
    return OneDnn(name, tokens, times, round(ratio(seconds, "onednn", "torch"), 3))


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    heads = ["model", "tokens", "oneDNN / torch's choice", "ms: oneDNN, torch's choice"]
    rows = []
    for row in result["rows"]:
        ms = row["milliseconds"]
        times = f"{ms['onednn']:.1f}, {ms['torch']:.1f}"
        rows.append([row["model"], str(row["tokens"]), f"{row['to_torch']:.2f}", times])
    return results.table(heads, rows, "A pass without gradient, nothing captured, float32", result)
