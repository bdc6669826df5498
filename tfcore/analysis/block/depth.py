"""Deep networks at initialisation and in their first steps: activations, gradients, losses, for each norm placement."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.attention import AttentionMask
from tfcore.block import Block
from tfcore.config import Init, ModelConfig, Norm
from tfcore.inspection.capture import ActivationRecorder
from tfcore.model import Transformer

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
COMPARED = ("pre-LN", "post-LN", "no skip", "no skip, no norm")  # for the gradient of the first layer
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
        n_heads=N_HEADS,
        max_seq_len=max_seq_len,
        positions="learned",
        norm=deep.norm,
        norm_placement="pre" if deep.placement == "none" else deep.placement,
        activation="gelu",
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
    mask = AttentionMask(mask=None, is_causal=True, bias=None, rotation=None, n_query=n, device=ids.device)
    x = model.embed(ids) + decoder.pos_embed.weight[:n]
    streams = [x]
    for block in cast("Iterable[Block]", decoder.blocks):
        attention = partial(block.attn, attn_mask=mask, recorder=recorder)
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
def stream_sizes(deep: Deep, seed: int = 0) -> Float[ndarray, " place"]:
    """Root mean square of the stream before the first block and after each, without a backward pass."""
    model = build_deep(deep, seed).double()
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


def probe_placements(n_layers: int, init: Init, norm: Norm) -> dict[str, DepthProbe]:
    """Probes of a network of each of the PLACEMENTS, by name."""
    return {name: probe(network) for name in PLACEMENTS for network in networks(name, [n_layers], init, norm)}


def probe_depths(depths: Sequence[int], init: Init) -> dict[str, list[DepthProbe]]:
    """Probes of the COMPARED wirings, by name, of networks of these depths."""
    return {name: [probe(network) for network in networks(name, depths, init)] for name in COMPARED}


def start_networks(n_layers: int, wiring: str) -> dict[str, Deep]:
    """A network with each of the STARTS, by name."""
    placement, skip = WIRINGS[wiring]
    return {
        start: Deep(n_layers=n_layers, placement=placement, skip=skip, init=init, init_std=std)
        for start, (init, std) in STARTS.items()
    }


def start_sizes(n_layers: int, wiring: str) -> dict[str, Float[ndarray, " place"]]:
    """The sizes of the stream with each of the STARTS, by name."""
    return {start: stream_sizes(network) for start, network in start_networks(n_layers, wiring).items()}


RUN_VOCAB = 16  # ids, drawn at random
RUN_SEQ = 16  # tokens of a text
RUN_ROWS = 16  # texts of a step
RUN_STEPS = 80
ADAM_BETAS = (0.9, 0.98)  # of Adam, arXiv:1706.03762, section 5.3
LEARNED_SHARE = 0.8  # of the loss of a uniform guess: below it a network has begun to learn


def have_learned(steps: Sequence[Mapping[str, float]]) -> list[str]:
    """The networks whose mean loss over the last five steps is below LEARNED_SHARE of that of a uniform guess."""
    last = steps[-5:]
    ends = {name: sum(step[name] for step in last) / len(last) for name in next(iter(last), ())}
    return [name for name, loss in ends.items() if loss < LEARNED_SHARE * uniform_loss()]


def uniform_loss() -> float:
    """The loss of a uniform guess, ln of the vocabulary, in nats."""
    return math.log(RUN_VOCAB)


def previous_token_batch(generator: torch.Generator) -> tuple[Int[Tensor, "row seq"], Int[Tensor, "row seq"]]:
    """ids: random tokens. targets: the token before each; at position 0 there is none, and its target is not used."""
    ids = torch.randint(RUN_VOCAB, (RUN_ROWS, RUN_SEQ), generator=generator)
    return ids, ids.roll(1, dims=1)


def learning_rate(step: int, peak: float, warmup: int) -> float:
    """Linear up to the peak over `warmup` steps, then constant; with warmup=0 the peak from the first step on."""
    return peak * min(1.0, (step + 1) / warmup) if warmup else peak


def first_losses(deep: Deep, peak: float, warmup: int, seed: int = 0) -> Iterator[float]:
    """Train a network with Adam and yield the loss of each step (nats per token), before that step changes a weight.

    Args:
        peak: learning rate.
        warmup: steps until it is reached; 0 starts there.
        seed: of weights and data.
    """
    model, generator = build_deep(deep, seed, RUN_SEQ), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=peak, betas=ADAM_BETAS, fused=True)
    (group,) = optimizer.param_groups
    for step in range(RUN_STEPS):
        group["lr"] = learning_rate(step, peak, warmup)
        ids, targets = previous_token_batch(generator)
        loss = _loss(run_deep(model, ids, deep)[0], targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield float(loss.detach())


def _loss(logits: Float[Tensor, "row seq vocab"], targets: Int[Tensor, "row seq"]) -> Float[Tensor, ""]:
    return F.cross_entropy(logits[:, 1:].flatten(0, 1), targets[:, 1:].flatten())


def train_side_by_side(
    runs: Mapping[str, tuple[Deep, int]], peak: float, seed: int
) -> Iterator[dict[str, float] | None]:
    """Several networks trained side by side: yields name -> loss at every step, and None after each network's step.

    Args:
        runs: name -> network and its steps of warm-up.
        peak: learning rate.
        seed: of weights and data.
    """
    losses = {name: first_losses(deep, peak, warmup, seed) for name, (deep, warmup) in runs.items()}
    for _ in range(RUN_STEPS):
        found = {}
        for name, loss in losses.items():
            found[name] = next(loss)
            yield None
        yield found


def first_steps(n_layers: int, peak: float, warmup: int, seed: int) -> Iterator[dict[str, float] | None]:
    """Train a network of each placement of the norms twice, with warm-up and without; yields as train_side_by_side.

    The names are as in "pre-LN, warm-up" and "pre-LN, none".
    """
    runs = {
        run_name(placement, bool(steps)): (
            Deep(n_layers=n_layers, placement=WIRINGS[placement][0], vocab_size=RUN_VOCAB),
            steps,
        )
        for placement in PLACEMENTS
        for steps in (warmup, 0)
    }
    return train_side_by_side(runs, peak, seed)


def all_first_steps(n_layers: int, peak: float, warmup: int, seed: int) -> list[dict[str, float]]:
    """The losses of `first_steps` at every step, to the end."""
    return [losses for losses in first_steps(n_layers, peak, warmup, seed) if losses is not None]


def run_name(placement: str, with_warmup: bool) -> str:
    """What the run of a placement is called."""
    return f"{placement}, {'warm-up' if with_warmup else 'none'}"


def curves_of(losses: Sequence[Mapping[str, float]], placement: str) -> list[list[float]]:
    """The losses of a placement step by step: with warm-up, and without."""
    return [[step[run_name(placement, warm)] for step in losses] for warm in (True, False)]


@dataclass(frozen=True, slots=True)
class FirstSteps(Finding):
    """What the first steps come to.

    Args:
        n_layers: of each network.
        steps: done so far.
        uniform: loss of a uniform guess, nats.
        ends: placement -> mean loss of the last five steps with warm-up, and without; None before the first step.
        learned: names of the runs whose loss is below LEARNED_SHARE of the uniform guess.
    """

    n_layers: int
    steps: int
    uniform: float
    ends: dict[str, tuple[float | None, float | None]]
    learned: tuple[str, ...]

    @property
    def sentence(self) -> str:
        pairs = {name: [_loss_words(loss) for loss in pair] for name, pair in self.ends.items()}
        ends = "; ".join(f"{name} {warm} with warm-up and {cold} without" for name, (warm, cold) in pairs.items())
        below = f" Below {LEARNED_SHARE:.0%} of that of a uniform guess: {'; '.join(self.learned) or 'none'}."
        return (
            f"Loss in nats over {self.steps} steps of networks of {self.n_layers} layers, uniform guess "
            f"ln {RUN_VOCAB} = {self.uniform:.2f}. Mean of the last five steps: {ends}.{below if self.steps else ''}"
        )


def _loss_words(loss: float | None) -> str:
    return "–" if loss is None else f"{loss:.2f}"


def describe_first_steps(losses: Sequence[Mapping[str, float]], n_layers: int) -> FirstSteps:
    """What the losses of `first_steps` come to so far."""
    ends = {name: [_mean_of_last(curve) for curve in curves_of(losses, name)] for name in PLACEMENTS}
    return FirstSteps(
        n_layers=n_layers,
        steps=len(losses),
        uniform=uniform_loss(),
        ends={name: (warm, cold) for name, (warm, cold) in ends.items()},
        learned=tuple(have_learned(losses)),
    )


def _mean_of_last(losses: Sequence[float]) -> float | None:
    last = losses[-5:]
    return sum(last) / len(last) if last else None
