"""SmolLM2 as it is used, against `transformers`: its GGUF file opened, a pass with all attention maps, writing."""

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

import tfcore
from benchmarks import results
from benchmarks.generation import NEW
from benchmarks.gpt2_shape import text
from benchmarks.timing import interleaved, milliseconds, ratio
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.loading.real_models import installed
from tfcore.model import Transformer

NAME, FILE = "smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
OPENED = 5  # rounds
MAPS, WRITTEN = {32: 21, 128: 15, 512: 5}, {30: 5}  # tokens -> rounds
ROUNDS = {0: OPENED, **MAPS, **WRITTEN}
OPENING = """
import json, pathlib, re, sys, time
import torch

file, ours = pathlib.Path(sys.argv[1]), sys.argv[2] == "ours"
if ours:
    import tfcore
else:
    from transformers import AutoModelForCausalLM, AutoTokenizer
torch.set_grad_enabled(False)
said = "When Mary and John went to the store,"
peak = lambda: 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
before, start = peak(), time.perf_counter()
if ours:
    model, tokenizer = tfcore.load(file, device="cpu")
    ids = tokenizer.encode(said)
else:
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    ids = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)(said).input_ids
model(torch.tensor([ids])).logits
seconds = time.perf_counter() - start
weights = {weight.data_ptr(): weight.nbytes for weight in model.parameters()}
print(json.dumps([seconds, (peak() - before) / sum(weights.values())]))
"""


@dataclass(frozen=True, slots=True)
class RealModel:
    """One line of the table.

    Args:
        what: opened, maps or written.
        tokens: of the text that is read, or that stands before what is written.
        milliseconds: median times: ours, peer.
        to_peer: median of the ratios in the same round.
        memory: most memory in use while the file was opened, over the bytes of the weights in float32; ours, peer.
    """

    what: str
    tokens: int
    milliseconds: dict[str, float]
    to_peer: float
    memory: tuple[float, float] | None = None


def measure(rounds: dict[int, int] | None = None, device: str = "cpu") -> list[RealModel]:
    """All of it; nothing where the model was left out when the app was set up."""
    folder = installed().get(NAME)
    if folder is None:
        return []
    rounds, file = rounds or ROUNDS, folder / FILE
    rows = [opened(file, rounds[0])] if device == "cpu" else []
    model = tfcore.load(NAME, device=device)[0]
    rows += [maps(model, peer(file, "eager", device), n, rounds[n]) for n in MAPS]
    gc.collect()
    return rows + [written(model, peer(file, "sdpa", device), n, rounds[n]) for n in WRITTEN]


def peer(file: Path, attention: str, device: str) -> Any:
    """The same file in `transformers`, in float32."""
    from transformers import AutoModelForCausalLM, GenerationConfig

    model = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32, attn_implementation=attention
    )
    model.generation_config = GenerationConfig(use_cache=True, do_sample=False, pad_token_id=0)
    return model.eval().requires_grad_(False).to(device)


def opened(file: Path, rounds: int) -> RealModel:
    """From the file to the first logits, each time in a new process; importing the libraries does not count. The
    most memory of a process is read as Linux tells it."""
    found: dict[str, list[tuple[float, float]]] = {"ours": [], "peer": []}
    for _ in range(rounds):
        for name, seen in found.items():
            command = [sys.executable, "-c", OPENING, str(file), name]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            seen.append(json.loads(printed.splitlines()[-1]))
    times = {name: [seconds for seconds, _ in seen] for name, seen in found.items()}
    memory = tuple(round(median(size for _, size in seen), 2) for seen in found.values())
    return line("opened", 8, times, (memory[0], memory[1]))


@torch.no_grad()
def maps(model: Transformer, other: Any, tokens: int, rounds: int) -> RealModel:
    """A pass that returns the 270 maps, both on explicit attention."""
    ids = text(model, tokens)
    calls: dict[str, Callable[[], object]] = {
        "ours": partial(model, ids, capture=("blocks.*.attn.pattern",)),
        "peer": partial(other, ids, output_attentions=True, use_cache=False),
    }
    return line("maps", tokens, interleaved(calls, rounds))


@torch.no_grad()
def written(model: Transformer, other: Any, tokens: int, rounds: int) -> RealModel:
    """64 tokens more, greedily, each as it is by default."""
    ids = text(model, tokens)
    calls: dict[str, Callable[[], object]] = {
        "ours": partial(generate, model, ids, Sampling(temperature=0), max_new_tokens=NEW),
        "peer": partial(other.generate, ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW),
    }
    return line("written", tokens, interleaved(calls, rounds))


def line(
    what: str, tokens: int, seconds: dict[str, list[float]], memory: tuple[float, float] | None = None
) -> RealModel:
    """Times of both in turns, as one line."""
    times = {name: round(milliseconds(seconds, name), 1) for name in seconds}
    return RealModel(what, tokens, times, round(ratio(seconds, "ours", "peer"), 3), memory)


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    names = {
        "opened": "its GGUF file opened, until the first logits",
        "maps": "a pass over {tokens} tokens with all 270 maps, eager",
        "written": f"{NEW} tokens written after {{tokens}}",
    }
    rows = []
    for row in result["rows"]:
        times = ", ".join(f"{row['milliseconds'][name]:.0f}" for name in ("ours", "peer"))
        memory = ", ".join(f"{size:.2f}" for size in row["memory"]) if row["memory"] else ""
        rows.append([names[row["what"]].format(**row), f"{row['to_peer']:.2f}", times, memory])
    heads = ["what", "ours / transformers", "ms: ours, peer", "most memory / float32 weights: ours, peer"]
    return results.table(heads, rows, "SmolLM2-135M-Instruct, Q4_1 computed in float32", result)
