"""SmolLM2 on a GPU, against `transformers` there: passes with all attention maps and without, batches, writing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

import tfcore
from benchmarks import results
from benchmarks.generation import read
from benchmarks.gpt2_shape import text
from benchmarks.real_model import FILE, NAME, peer
from benchmarks.timing import interleaved, milliseconds, ratio
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.loading.real_models import installed
from tfcore.model import Transformer

PASSES = (32, 128, 512, 1024, 2048)  # tokens
BATCH, LONG = 16, 1024
BEFORE, NEW = 30, 128
ROUNDS = {"maps": 21, "plain": 21, "batch": 7, "written": 5}
WHAT = {
    "maps": "a pass over {tokens} tokens with all 270 maps, eager",
    "plain": "a pass over {tokens} tokens, nothing captured, sdpa",
    "batch": f"{BATCH} texts of {{tokens}} tokens at once, nothing captured, sdpa",
    "written": f"a token written, of {NEW} after {{tokens}}",
}


@dataclass(frozen=True, slots=True)
class OnGpu:
    """One line of the table.

    Args:
        what: a key of WHAT.
        tokens: of the text that is read, or that stands before what is written.
        numbers: float32 or bfloat16.
        milliseconds: median times: ours, peer, and reading every weight once; of a token where tokens are written.
        to_peer: median of the ratios in the same round.
    """

    what: str
    tokens: int
    numbers: str
    milliseconds: dict[str, float]
    to_peer: float


def measure(rounds: dict[str, int] | None = None, device: str = "cpu") -> list[OnGpu]:
    """All of it; nothing on a CPU, or where the model was left out when the app was set up."""
    folder = installed().get(NAME)
    if folder is None or device == "cpu":
        return []
    rounds, rows = rounds or ROUNDS, []
    model = tfcore.load(NAME, device=device)[0]
    for numbers in (torch.float32, torch.bfloat16):
        model, peers = model.to(numbers), {}
        for kind in ("eager", "sdpa"):
            peers[kind] = peer(folder / FILE, kind, device).to(numbers)
        rows += table_of(model, peers, rounds)
    return rows


@torch.inference_mode()
def table_of(model: Transformer, peers: Mapping[str, Any], rounds: Mapping[str, int]) -> list[OnGpu]:
    """The lines of one type of numbers."""
    rows = []
    for n in PASSES:
        ids = text(model, n)
        calls = {
            "ours": partial(model, ids, capture=("blocks.*.attn.pattern",)),
            "peer": partial(peers["eager"], ids, output_attentions=True, use_cache=False),
        }
        rows.append(line(model, "maps", n, calls, rounds["maps"]))
        calls = {"ours": partial(model, ids), "peer": partial(peers["sdpa"], ids, use_cache=False)}
        rows.append(line(model, "plain", n, calls, rounds["plain"]))
    ids = torch.stack([text(model, LONG + i)[0, :LONG] for i in range(BATCH)])
    calls = {"ours": partial(model, ids), "peer": partial(peers["sdpa"], ids, use_cache=False)}
    rows.append(line(model, "batch", LONG, calls, rounds["batch"]))
    ids = text(model, BEFORE)
    calls = {
        "ours": partial(generate, model, ids, Sampling(temperature=0), max_new_tokens=NEW),
        "peer": partial(peers["sdpa"].generate, ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW),
    }
    rows.append(line(model, "written", BEFORE, calls, rounds["written"], parts=NEW))
    return rows


def line(
    model: Transformer, what: str, tokens: int, calls: Mapping[str, Callable[[], object]], rounds: int, parts: int = 1
) -> OnGpu:
    """Times of both in turns beside reading the weights, as one line.

    Args:
        parts: by which the times of both are divided.
    """
    seconds = interleaved({**calls, "reading": partial(read, model)}, rounds)
    times = {name: milliseconds(seconds, name) / (1 if name == "reading" else parts) for name in seconds}
    numbers = str(model.dtype).removeprefix("torch.")
    rounded = {name: round(time, 2) for name, time in times.items()}
    return OnGpu(what, tokens, numbers, rounded, round(ratio(seconds, "ours", "peer"), 3))


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    rows = []
    for row in result["rows"]:
        ms = row["milliseconds"]
        times = f"{ms['ours']:.1f}, {ms['peer']:.1f}"
        rows.append([WHAT[row["what"]].format(**row), row["numbers"], f"{row['to_peer']:.2f}", times])
    return results.table(["what", "numbers", "ours / transformers", "ms: ours, peer"], rows, "SmolLM2-135M", result)
