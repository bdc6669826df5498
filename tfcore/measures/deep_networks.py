"""Deep networks at initialisation: activations and gradients by layer, for each placement of norms and each skip."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.attention import AttentionContext
from tfcore.block import Block
from tfcore.config import Init, ModelConfig
from tfcore.inspection.capture import ActivationRecorder
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, FeedForwardConfig, Norm, NormConfig, PositionsConfig

Placement = Literal["pre", "post", "sandwich", "none"]
D_MODEL = 32
N_HEADS = 2
VOCAB = 64  # ids of the random texts
ROWS = 4  # texts of a batch
SEQ = 16  # tokens of a text
DEEPEST = 64  # layers
ALIKE = 0.99  # mean cosine above which tokens count as the same vector
WIRINGS: dict[str, tuple[Placement, bool]] = {  # name -> placement of the norms, with skips
    "pre-LN": ("pre", True),
    "post-LN": ("post", True),
    "sandwich": ("sandwich", True),
    "no norm": ("none", True),
    "no skip": ("pre", False),
    "no skip, no norm": ("none", False),
}
PLACEMENTS = tuple(name for name, (_, skip) in WIRINGS.items() if skip)
COMPARED = ("no skip, no norm", "pre-LN", "no skip", "post-LN")  # for the gradient of the first layer
INIT_NAMES: dict[Init, str] = {"xavier": "Xavier", "normal": "N(0, 0.02²)", "gpt2": "GPT-2"}
STARTS: dict[str, tuple[Init, float]] = {  # initial weights: name -> init and its standard deviation
    "std 1": ("normal", 1.0),
    "Xavier": ("xavier", 0.02),
    "std 0.02": ("normal", 0.02),
    "GPT-2: 0.02, outputs / √(2N)": ("gpt2", 0.02),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Deep:
    """A network of blocks of attention and feed-forward, d_model D_MODEL, two heads.

    Args:
        n_layers: blocks.
        placement: of the norms; "none" leaves out every norm, the final one too.
        skip: each sublayer is added to its input; otherwise it replaces it.
        norm: which one.
        init, init_std: how the weights start; see tfcore.initialise.
        vocab_size: token ids.

    Raises:
        ValueError: fewer than 1 or more than 64 layers.
    """

    n_layers: int
    placement: Placement = "pre"
    skip: bool = True
    norm: Norm = "layernorm"
    init: Init = "xavier"
    init_std: float = 0.02
    vocab_size: int = VOCAB

    def __post_init__(self) -> None:
        if not 1 <= self.n_layers <= DEEPEST:
            raise ValueError(f"n_layers={self.n_layers} must be between 1 and {DEEPEST}")


def residual_sublayer(
    x: Float[Tensor, "batch seq d_model"],
    sublayer: Callable[[Tensor], Tensor],
    norm: Callable[[Tensor], Tensor],
    placement: Placement,
    skip: bool,
    second: Callable[[Tensor], Tensor] | None = None,
) -> Float[Tensor, "batch seq d_model"]:
    """The stream after one sublayer, in every arrangement of norm and skip.

    pre: x + f(norm x) (arXiv:2002.04745). post: norm(x + f(x)) (arXiv:1706.03762, section 3.1). sandwich:
    x + second(f(norm x)) (arXiv:2105.13290, section 2.4). none: x + f(x). Without the skip, x is left out of the sum.
    """
    y = sublayer(norm(x) if placement in ("pre", "sandwich") else x)
    if placement == "sandwich" and second is not None:
        y = second(y)
    if skip:
        y = x + y
    return norm(y) if placement == "post" else y


def build_deep(deep: Deep, seed: int = 0, max_seq_len: int = SEQ) -> Transformer:
    """A Transformer with the parts and the initial weights of this network."""
    config = ModelConfig(
        vocab_size=deep.vocab_size,
        d_model=D_MODEL,
        n_layers=deep.n_layers,
        attention=AttentionConfig(n_heads=N_HEADS),
        max_seq_len=max_seq_len,
        positions=PositionsConfig(kind="learned"),
        norm=NormConfig(kind=deep.norm, placement="pre" if deep.placement == "none" else deep.placement),
        feed_forward=FeedForwardConfig(activation="gelu"),
        bias=True,
        tie_embeddings=False,
        init=deep.init,
        init_std=deep.init_std,
    )
    return Transformer(config, seed)


def run_deep(
    model: Transformer, ids: Int[Tensor, "batch seq"], deep: Deep
) -> tuple[Float[Tensor, "batch seq vocab"], list[Float[Tensor, "batch seq d_model"]]]:
    """Logits, and the stream before the first block and after each, the parts arranged by `residual_sublayer`."""
    decoder, recorder, n = model.decoder, ActivationRecorder(), ids.shape[1]
    mask = AttentionContext(mask=None, is_causal=True, bias=None, rotation=None, n_query=n, device=ids.device)
    x = model.embed(ids) + decoder.pos_embed.weight[:n]
    streams = [x]
    for block in cast("Iterable[Block]", decoder.blocks):
        attention = partial(block.attn, context=mask, recorder=recorder)
        x = residual_sublayer(x, attention, block.ln1, deep.placement, deep.skip, block.ln1_post)
        feed_forward = partial(block.mlp, recorder=recorder)
        x = residual_sublayer(x, feed_forward, block.ln2, deep.placement, deep.skip, block.ln2_post)
        streams.append(x)
    if deep.placement in ("pre", "sandwich"):
        x = decoder.ln_final(x)
    return F.linear(x, model.unembed.weight), streams


@dataclass(frozen=True, slots=True)
class DepthProbe:
    """One network at initialisation, on random tokens.

    Args:
        gradient: per block, the norm of the loss's gradient for W_2, the second matrix of the feed-forward layer.
        activation: root mean square of the stream's numbers, before the first block and after each.
        alike: mean cosine between the vectors of two tokens of a text, before the first block and after each.
        loss: cross-entropy, nats per token.
    """

    gradient: Float[ndarray, " layer"]
    activation: Float[ndarray, " place"]
    alike: Float[ndarray, " place"]
    loss: float


def probe(deep: Deep, seed: int = 0) -> DepthProbe:
    """Build the network, run one batch forward and backward, and measure every layer.

    In float64: without skips, gradients fall below what float32 can hold, and rounding errors would be shown.
    """
    model = build_deep(deep, seed).double()
    ids = torch.randint(deep.vocab_size, (ROWS, SEQ + 1), generator=torch.Generator().manual_seed(seed))
    logits, streams = run_deep(model, ids[:, :-1], deep)
    loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    gradients = [p.grad for name, p in model.named_parameters() if name.endswith("mlp.down.weight")]
    gradient = torch.stack([g.norm() for g in gradients if g is not None])
    stream = torch.stack(streams).detach()  # (place, batch, seq, d_model)
    return DepthProbe(gradient.numpy(), _size(stream).numpy(), mean_cosine(stream).numpy(), float(loss.detach()))


@torch.no_grad()
def stream_sizes(deep: Deep, seed: int = 0, model: Transformer | None = None) -> Float[ndarray, " place"]:
    """Root mean square of the stream before the first block and after each, without a backward pass.

    Args:
        model: a network of this kind with weights of its own; None starts one.
    """
    model = (model or build_deep(deep, seed)).double()
    ids = torch.randint(deep.vocab_size, (ROWS, SEQ), generator=torch.Generator().manual_seed(seed))
    return _size(torch.stack(run_deep(model, ids, deep)[1])).numpy()


def _size(stream: Float[Tensor, "place batch seq d_model"]) -> Float[Tensor, " place"]:
    return stream.pow(2).mean((1, 2, 3)).sqrt()


def mean_cosine(stream: Float[Tensor, "place batch seq d_model"]) -> Float[Tensor, " place"]:
    """Mean cosine between the vectors of two different tokens of the same text; not a number where all are zero."""
    unit = stream / stream.norm(dim=-1, keepdim=True)  # F.normalize would take vectors below 1e-12 for shorter ones
    n = stream.shape[2]
    cosines = unit @ unit.mT  # (place, batch, seq, seq)
    return ((cosines.sum((2, 3)) - n) / (n * (n - 1))).mean(1)


def networks(name: str, depths: Sequence[int], init: Init, norm: Norm = "layernorm") -> list[Deep]:
    """Networks of one of the WIRINGS, one of each depth."""
    placement, skip = WIRINGS[name]
    return [Deep(n_layers=n, placement=placement, skip=skip, norm=norm, init=init) for n in depths]


def powers_of_two(deepest: int) -> list[int]:
    """1, 2, 4, ... and the deepest."""
    return sorted({*(2**i for i in range(deepest.bit_length())), deepest})


def placements(n_layers: int, init: Init, norm: Norm) -> dict[str, Deep]:
    """A network of each of the PLACEMENTS, by name."""
    return {name: network for name in PLACEMENTS for network in networks(name, [n_layers], init, norm)}


def start_networks(n_layers: int, wiring: str) -> dict[str, Deep]:
    """A network with each of the STARTS, by name."""
    placement, skip = WIRINGS[wiring]
    return {
        start: Deep(n_layers=n_layers, placement=placement, skip=skip, init=init, init_std=std)
        for start, (init, std) in STARTS.items()
    }
