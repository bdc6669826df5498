"""What masking and softmax in place gain in a pass that captures every pattern, against the same pass without."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

import tfcore
from benchmarks import results
from benchmarks.gpt2_shape import ours, text
from benchmarks.timing import interleaved, milliseconds, ratio
from tfcore import attention
from tfcore.model import Transformer

ROUNDS = {8: 101, 32: 51, 128: 31, 256: 21, 512: 11}  # tokens -> rounds


@dataclass(frozen=True, slots=True)
class InPlace:
    """One line of the table.

    Args:
        model: a shipped one, or the shape of one.
        tokens: length of the text.
        milliseconds: median time of both ways: in place, copied.
        to_copied: the pass in place over the other; median of the ratios in the same round.
    """

    model: str
    tokens: int
    milliseconds: dict[str, float]
    to_copied: float


def copied(hidden: Tensor, scores: Tensor, _: Tensor | None) -> Tensor:
    """Attention weights with two more matrices than `attention_weights_` needs; `hidden`: keys that are not seen."""
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


@torch.no_grad()
def measure(rounds: dict[int, int] | None = None, device: str = "cpu") -> list[InPlace]:
    """Time the smallest shipped model and GPT-2's shape; on a GPU nothing is computed in place."""
    if device != "cpu":
        return []
    models = {"stories": tfcore.load("stories")[0], "GPT-2's shape": ours()}
    lengths = (rounds or ROUNDS).items()
    return [
        line(name, model, tokens, n)
        for name, model in models.items()
        for tokens, n in lengths
        if tokens <= model.config.max_seq_len
    ]


def line(name: str, model: Transformer, tokens: int, rounds: int) -> InPlace:
    """Both ways over one text."""
    run = partial(model, text(model, tokens), capture=("blocks.*.attn.pattern",))
    hidden = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)

    def without() -> object:
        with patch.object(attention, "attention_weights_", partial(copied, hidden)):
            return run()

    seconds = interleaved({"in place": run, "copied": without}, rounds)
    times = {way: round(milliseconds(seconds, way), 2) for way in seconds}
    return InPlace(name, tokens, times, round(ratio(seconds, "in place", "copied"), 3))


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    heads = ["model", "tokens", "in place / copied", "ms: in place, copied"]
    rows = []
    for row in result["rows"]:
        ms = row["milliseconds"]
        times = f"{ms['in place']:.1f}, {ms['copied']:.1f}"
        rows.append([row["model"], str(row["tokens"]), f"{row['to_copied']:.2f}", times])
    return results.table(heads, rows, "All patterns captured, no gradient, float32", result)
