"""The first training steps of a deep network, with and without warm-up, one loss at a time."""

import math
from collections.abc import Iterator, Mapping, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.analysis.block.depth import Deep, build, run

VOCAB, SEQ, ROWS, STEPS = 16, 16, 16, 80
BETAS = (0.9, 0.98)  # of Adam, arXiv:1706.03762, section 5.3


LEARNED = 0.8  # of the loss of a uniform guess: below it a network has begun to learn


def learned(steps: Sequence[Mapping[str, float]], names: Sequence[str]) -> list[str]:
    """The networks whose mean loss over the last five steps is below LEARNED of that of a uniform guess."""
    ends = {name: sum(step[name] for step in steps[-5:]) / len(steps[-5:]) for name in names}
    return [name for name, loss in ends.items() if loss < LEARNED * chance_loss()]


def chance_loss() -> float:
    """The loss of who knows nothing, ln of the vocabulary."""
    return math.log(VOCAB)


def batch(generator: torch.Generator) -> tuple[Int[Tensor, "row seq"], Int[Tensor, "row seq"]]:
    """Random tokens and, at each position from 1 on, the token to say: the one just before."""
    ids = torch.randint(0, VOCAB, (ROWS, SEQ), generator=generator)
    return ids, ids.roll(1, dims=1)


def learning_rate(step: int, peak: float, warmup: int) -> float:
    """A line up to the peak over `warmup` steps, then the peak; with warmup=0 the peak from the first step on."""
    return peak * min(1.0, (step + 1) / warmup) if warmup else peak


def first_losses(deep: Deep, peak: float, warmup: int, seed: int = 0) -> Iterator[float]:
    """Train a network with Adam and yield the loss of each step (nats per token), before that step changes a weight.

    Args:
        peak: learning rate.
        warmup: steps until it is reached; 0 starts there.
        seed: of weights and data.
    """
    model, generator = build(deep, seed, SEQ), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=peak, betas=BETAS, fused=True)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = learning_rate(step, peak, warmup)
        ids, targets = batch(generator)
        loss = _loss(run(model, ids, deep)[0], targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield float(loss.detach())


def _loss(logits: Float[Tensor, "row seq vocab"], targets: Int[Tensor, "row seq"]) -> Float[Tensor, ""]:
    return F.cross_entropy(logits[:, 1:].flatten(0, 1), targets[:, 1:].flatten())


def race(runs: Mapping[str, tuple[Deep, int]], peak: float, seed: int) -> Iterator[dict[str, float] | None]:
    """Several networks trained side by side: yields the loss of each at every step, and None in between.

    Args:
        runs: name -> network and its steps of warm-up.
    """
    losses = {name: first_losses(deep, peak, warmup, seed) for name, (deep, warmup) in runs.items()}
    for _ in range(STEPS):
        found = {}
        for name, loss in losses.items():
            found[name] = next(loss)
            yield None
        yield found
