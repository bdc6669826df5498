"""How long a forward pass takes: with all patterns captured, against `transformers`, and against bare products."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from benchmarks import results
from benchmarks.gpt2_shape import ours, peer, products, text
from benchmarks.timing import interleaved, milliseconds, ratio

ROUNDS = {32: 21, 128: 15, 512: 7}  # tokens -> rounds
PATTERNS, ONE = ("blocks.*.attn.pattern",), ("blocks.5.attn.pattern",)


@dataclass(frozen=True, slots=True)
class Forward:
    """One line of the table.

    Args:
        tokens: length of the text.
        milliseconds: median time of every way: patterns, peer, products, nothing (captured), one (layer's patterns),
            everything.
        to_peer, to_products: the pass with all patterns over the peer's, and over the matrix products alone;
            medians of the ratios in the same round.
        one, everything: a pass that captures one layer's patterns, and one that captures every activation, over the
            pass that captures nothing.
        megabytes: of every activation together.
    """

    tokens: int
    milliseconds: dict[str, float]
    to_peer: float
    to_products: float
    one: float
    everything: float
    megabytes: float


@torch.no_grad()
def measure(rounds: dict[int, int] | None = None, device: str = "cpu") -> list[Forward]:
    """Time GPT-2's shape with the same random weights here and in `transformers`, both on explicit attention."""
    model = ours()
    other = peer(model).to(device)
    model.to(device)
    rows = []
    for tokens, n in (rounds or ROUNDS).items():
        ids = text(model, tokens)
        calls: dict[str, Callable[[], object]] = {
            "patterns": partial(model, ids, capture=PATTERNS),
            "peer": partial(other, ids, output_attentions=True),
            "products": products(model, tokens),
            "nothing": partial(model, ids),
            "one": partial(model, ids, capture=ONE),
            "everything": partial(model, ids, capture="*"),
        }
        kept = model(ids, capture="*").activations.values()
        seconds = interleaved(calls, n)
        rows.append(
            Forward(
                tokens,
                {name: round(milliseconds(seconds, name), 1) for name in calls},
                round(ratio(seconds, "patterns", "peer"), 3),
                round(ratio(seconds, "patterns", "products"), 3),
                round(ratio(seconds, "one", "nothing"), 3),
                round(ratio(seconds, "everything", "nothing"), 3),
                round(sum(value.nbytes for value in kept) / 1e6, 1),
            )
        )
    return rows


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    heads = [
        *("tokens", "all patterns / transformers eager", "all patterns / bare matrix products"),
        *("one layer's patterns / nothing captured", "everything captured / nothing captured", "everything, MB"),
        "ms: ours, peer, products",
    ]
    rows = []
    for row in result["rows"]:
        ms = row["milliseconds"]
        ratios = [f"{row[name]:.2f}" for name in ("to_peer", "to_products", "one", "everything")]
        times = ", ".join(f"{ms[name]:.0f}" for name in ("patterns", "peer", "products"))
        rows.append([str(row["tokens"]), *ratios, f"{row['megabytes']:.0f}", times])
    return results.table(heads, rows, "GPT-2-small's shape, random weights, float32", result)
