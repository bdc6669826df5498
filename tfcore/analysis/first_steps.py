"""The first training steps of a deep network, with and without warm-up, one loss at a time."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.analysis.depth import Deep, build, run

VOCAB, SEQ, ROWS, STEPS = 16, 16, 16, 80
BETAS = (0.9, 0.98)  # of Adam, arXiv:1706.03762, section 5.3
PATIENCE = 2.0  # seconds that a race goes on after somebody looked
_TURN = threading.Lock()  # whose step it is


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


class Race:
    """Several training runs that advance side by side in a thread, for as long as somebody watches.

    Shared by all who watch: each call of `watch` keeps it going for a while. A race that nobody watches stops, and
    goes on where it was when it is watched again. All races of a process take turns, so that together they use one
    core at most.

    Args:
        starts: name -> what starts that run.
        steps: how many losses each will give.
    """

    def __init__(self, starts: Mapping[str, Callable[[], Iterator[float]]], steps: int) -> None:
        self.steps = steps
        self.losses: dict[str, list[float]] = {name: [] for name in starts}
        self._starts, self._runs = dict(starts), dict[str, Iterator[float]]()
        self._lock, self._until, self._thread = threading.Lock(), 0.0, threading.Thread()

    @property
    def done(self) -> int:
        """Steps done, of all runs together."""
        return sum(len(losses) for losses in self.losses.values())

    @property
    def total(self) -> int:
        """Steps there are to do, of all runs together."""
        return self.steps * len(self.losses)

    def watch(self, seconds: float = PATIENCE) -> None:
        """Go on for this long, or until all is done."""
        with self._lock:
            self._until = time.monotonic() + seconds
            if self.done < self.total and not self._thread.is_alive():
                # No daemon: a process that ends waits the moment until nobody watches, instead of cutting torch off.
                self._thread = threading.Thread(target=self._go_on, name="race")
                self._thread.start()

    def _go_on(self) -> None:
        while self._wanted():
            with _TURN:
                self._step(min(self.losses, key=lambda name: len(self.losses[name])))

    def _wanted(self) -> bool:
        """Whether to go on; under the lock, so that no `watch` believes in a thread that is about to end."""
        with self._lock:
            on = self.done < self.total and time.monotonic() < self._until
            if not on:
                self._thread = threading.Thread()
            return on

    def _step(self, name: str) -> None:
        """One more loss of a run; the last one lets go of its model."""
        losses = self.losses[name]
        if name not in self._runs:
            self._runs[name] = self._starts[name]()
        losses.append(next(self._runs[name]))
        if len(losses) == self.steps:
            del self._runs[name]
