"""The first training steps of deep networks, with each placement of the norms, with warm-up and without."""

import math
from collections.abc import Iterator, Mapping, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.measures.deep_networks import PLACEMENTS, WIRINGS, Deep, build_deep, run_deep

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
        step_losses = {}
        for name, loss in losses.items():
            step_losses[name] = next(loss)
            yield None
        yield step_losses


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
    """The name of the run of a placement."""
    return f"{placement}, {'warm-up' if with_warmup else 'none'}"


def curves_of(losses: Sequence[Mapping[str, float]], placement: str) -> list[list[float]]:
    """The losses of a placement step by step: with warm-up, and without."""
    return [[step[run_name(placement, warm)] for step in losses] for warm in (True, False)]
