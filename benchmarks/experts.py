"""How long a mixture-of-experts layer takes, against Mixtral's block in `transformers` with the same weights."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from benchmarks import results
from benchmarks.timing import interleaved, milliseconds, ratio
from tfcore.config import ModelConfig
from tfcore.experts import Experts
from tfcore.inspection.capture import ActivationRecorder
from tfcore.part_configs import AttentionConfig, ExpertsConfig, FeedForwardConfig

MIXTRAL = ModelConfig(
    vocab_size=1,
    d_model=512,
    attention=AttentionConfig(n_heads=8),
    feed_forward=FeedForwardConfig(d_ff=1792),
    experts=ExpertsConfig(n_experts=8, top_k=2),
)
ROUNDS = {1: 101, 32: 31, 128: 21, 512: 15}  # tokens -> rounds
PEERS = ("grouped_mm", "eager", "batched_mm")  # what transformers offers on a CPU; its default is the first
BATCHED = 8  # tokens up to which batched_mm is tried: it copies an expert's matrices for every token


@dataclass(frozen=True, slots=True)
class Layer:
    """One line of the table.

    Args:
        tokens: length of the text.
        milliseconds: median time of every way: ours, the peer's implementations, and the matrix products alone.
        fastest: the peer's fastest implementation.
        to_peer: our time over that of `fastest`; median of the ratios in the same round.
        to_products: our time over that of the same products one after the other.
    """

    tokens: int
    milliseconds: dict[str, float]
    fastest: str
    to_peer: float
    to_products: float


def ours(config: ModelConfig = MIXTRAL, seed: int = 0) -> Experts:
    """The layer with random weights, a router that spreads tokens over all experts, ready to answer."""
    layer, generator = Experts(config).eval().requires_grad_(False), torch.Generator().manual_seed(seed)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=config.d_model**-0.5, generator=generator)
    return layer


def peer(layer: Experts, implementation: str) -> nn.Module:
    """Mixtral's block of `transformers` on the very weights of our layer."""
    from transformers import MixtralConfig
    from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock

    n, d_model, d_expert = layer.down.shape
    shape: dict[str, Any] = dict(  # noqa: C408
        hidden_size=d_model,
        intermediate_size=d_expert,
        num_local_experts=n,
        num_experts_per_tok=layer.config.top_k,
        experts_implementation=implementation,
    )
    with torch.device("meta"):
        block = MixtralSparseMoeBlock(MixtralConfig(**shape))
    weights = {"gate.weight": layer.router.weight, "experts.gate_up_proj": layer.up, "experts.down_proj": layer.down}
    block.load_state_dict(weights, assign=True)
    return block.eval().requires_grad_(False)


def products(layer: Experts, x: torch.Tensor) -> Callable[[], None]:
    """A call that does the matrix products for x, the way torch's own linear layer does, and nothing else."""
    tape = ActivationRecorder(capture=("mlp.router.indices",))
    layer(x, tape)
    counts = tape.record["mlp.router.indices"].flatten().bincount(minlength=len(layer.up)).tolist()
    generator = torch.Generator().manual_seed(0)
    sizes = (x.shape[-1], layer.down.shape[-1])
    rows = [[torch.randn(count, size, generator=generator).to(x.device) for size in sizes] for count in counts]

    def run() -> None:
        for (tokens, hidden), up, down in zip(rows, layer.up, layer.down, strict=True):
            if len(tokens):
                nn.functional.linear(tokens, up)
                nn.functional.linear(hidden, down)

    return run


@torch.no_grad()
def measure(rounds: dict[int, int] | None = None, config: ModelConfig = MIXTRAL, device: str = "cpu") -> list[Layer]:
    """Time 8 experts of which 2 are chosen, at a quarter of Mixtral's width and its ratio of widths."""
    layer = ours(config).to(device)
    peers = {name: peer(layer, name) for name in PEERS}
    return [_at(tokens, n, layer, peers) for tokens, n in (rounds or ROUNDS).items()]


def _at(tokens: int, rounds: int, layer: Experts, peers: dict[str, nn.Module]) -> Layer:
    x = torch.randn(1, tokens, layer.up.shape[-1], generator=torch.Generator().manual_seed(tokens)).to(layer.up.device)
    names: Iterable[str] = [name for name in peers if name != "batched_mm" or tokens <= BATCHED]
    calls: dict[str, Callable[[], object]] = {name: partial(peers[name], x) for name in names}
    calls |= {"ours": partial(layer, x, ActivationRecorder()), "products": products(layer, x)}
    seconds = interleaved(calls, rounds)
    fastest = min(names, key=lambda name: milliseconds(seconds, name))
    return Layer(
        tokens,
        {name: round(milliseconds(seconds, name), 2) for name in calls},
        fastest,
        round(ratio(seconds, "ours", fastest), 3),
        round(ratio(seconds, "ours", "products"), 3),
    )


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    heads = [
        "tokens",
        "ours / fastest of transformers",
        "which that is",
        "ours / bare matrix products",
        "ms: ours, peer",
    ]
    rows = []
    for row in result["rows"]:
        times = ", ".join(f"{row['milliseconds'][name]:.1f}" for name in ("ours", row["fastest"]))
        rows.append([str(row["tokens"]), f"{row['to_peer']:.2f}", row["fastest"], f"{row['to_products']:.2f}", times])
    what = "A mixture of 8 experts, 2 a token, d_model 512, d_ff 1792, against Mixtral's block with the same weights"
    return results.table(heads, rows, what, result)
