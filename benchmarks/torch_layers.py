"""Our block beside torch's own encoder and decoder layers, with the same weights and at GPT-2-small's shape."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks import results
from benchmarks.timing import interleaved, milliseconds, ratio
from tfcore.attention import AttentionContext
from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.inspection.capture import ActivationRecorder
from tfcore.part_configs import AttentionConfig, FeedForwardConfig, NormConfig, PositionsConfig

ROUNDS = {32: 41, 128: 31, 512: 11}  # tokens -> rounds
WIDTH, HEADS, HIDDEN = 768, 12, 3072
TorchLayer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer
NAMES = {"encoder": "TransformerEncoderLayer, causal mask", "decoder": "TransformerDecoderLayer"}


@dataclass(frozen=True, slots=True)
class Layer:
    """One line of the table.

    Args:
        what: encoder or decoder; the latter reads as many tokens of an encoder by cross-attention.
        tokens: of the sequence.
        milliseconds: median times: ours, torch.
        to_torch: median of the ratios in the same round.
        apart: largest difference of the two outputs.
    """

    what: str
    tokens: int
    milliseconds: dict[str, float]
    to_torch: float
    apart: float


def same(theirs: TorchLayer) -> Block:
    """A block of ours with the weights of a layer of torch's, batch first and without dropout."""
    across = isinstance(theirs, nn.TransformerDecoderLayer)
    ours = Block(
        ModelConfig(
            vocab_size=2,
            n_layers=1,
            d_model=theirs.linear1.in_features,
            attention=AttentionConfig(n_heads=theirs.self_attn.num_heads),
            feed_forward=FeedForwardConfig(
                d_ff=theirs.linear1.out_features, activation="relu" if theirs.activation is F.relu else "gelu"
            ),
            positions=PositionsConfig(kind="none"),
            norm=NormConfig(kind="layernorm", placement="pre" if theirs.norm_first else "post"),
            bias=True,
            architecture="encoder-decoder" if across else "decoder",
        ),
        cross=across,
    )
    own = theirs.self_attn
    parts: dict[Any, Mapping[str, Any]] = {
        ours.attn.qkv: {"weight": own.in_proj_weight, "bias": own.in_proj_bias},
        ours.attn.out: own.out_proj.state_dict(),
        ours.mlp.up: theirs.linear1.state_dict(),
        ours.mlp.down: theirs.linear2.state_dict(),
        ours.ln1: theirs.norm1.state_dict(),
        ours.ln2: (theirs.norm3 if isinstance(theirs, nn.TransformerDecoderLayer) else theirs.norm2).state_dict(),
    }
    if isinstance(theirs, nn.TransformerDecoderLayer):
        other, d = theirs.multihead_attn, theirs.linear1.in_features
        parts |= {
            ours.cross_attn.q: {"weight": other.in_proj_weight[:d], "bias": other.in_proj_bias[:d]},
            ours.cross_attn.kv: {"weight": other.in_proj_weight[d:], "bias": other.in_proj_bias[d:]},
            ours.cross_attn.out: other.out_proj.state_dict(),
            ours.ln_cross: theirs.norm2.state_dict(),
        }
    for part, weights in parts.items():
        part.load_state_dict(weights)
    return ours.eval().requires_grad_(False)


def measure(rounds: dict[int, int] | None = None, device: str = "cpu") -> list[Layer]:
    """Both layers at every length."""
    torch.manual_seed(0)
    rows = []
    for what, kind in (("encoder", nn.TransformerEncoderLayer), ("decoder", nn.TransformerDecoderLayer)):
        theirs = kind(WIDTH, HEADS, HIDDEN, 0.0, "gelu", batch_first=True, norm_first=True).eval().requires_grad_(False)
        pair = same(theirs).to(device), theirs.to(device)
        rows += [line(what, *pair, tokens, n) for tokens, n in (rounds or ROUNDS).items()]
    return rows


@torch.no_grad()
def line(what: str, ours: Block, theirs: TorchLayer, tokens: int, rounds: int) -> Layer:
    """Both over one random sequence."""
    where = next(theirs.parameters()).device
    x, memory = torch.randn(2, 1, tokens, theirs.linear1.in_features, generator=torch.Generator().manual_seed(1)).to(
        where
    )
    calls = both(ours, theirs, x, memory)
    apart = float((calls["ours"]() - calls["torch"]()).abs().max())
    seconds = interleaved(calls, rounds)
    times = {name: round(milliseconds(seconds, name), 2) for name in seconds}
    return Layer(what, tokens, times, round(ratio(seconds, "ours", "torch"), 3), apart)


def both(
    ours: Block, theirs: TorchLayer, x: torch.Tensor, memory: torch.Tensor
) -> dict[str, Callable[[], torch.Tensor]]:
    """Calls of both layers: causal attention over x, and over all of memory where the layer has cross-attention."""
    n = x.shape[1]
    mask = partial(AttentionContext, mask=None, bias=None, rotation=None, n_query=n, device=x.device)
    causal = nn.Transformer.generate_square_subsequent_mask(n, device=x.device)
    if isinstance(theirs, nn.TransformerDecoderLayer):
        across = mask(is_causal=False)
        return {
            "ours": lambda: ours(x, mask(is_causal=True), ActivationRecorder(), memory=memory, cross_context=across),
            "torch": lambda: theirs(x, memory, tgt_mask=causal, tgt_is_causal=True),
        }
    return {
        "ours": lambda: ours(x, mask(is_causal=True), ActivationRecorder()),
        "torch": lambda: theirs(x, src_mask=causal, is_causal=True),
    }


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    heads = ["torch.nn", "tokens", "ours / torch", "ms: ours, torch", "largest difference of the outputs"]
    rows = []
    for row in result["rows"]:
        times = ", ".join(f"{row['milliseconds'][name]:.1f}" for name in ("ours", "torch"))
        rows.append([NAMES[row["what"]], str(row["tokens"]), f"{row['to_torch']:.2f}", times, f"{row['apart']:.0e}"])
    return results.table(heads, rows, f"Width {WIDTH}, {HEADS} heads, hidden width {HIDDEN}, pre-LN, float32", result)
