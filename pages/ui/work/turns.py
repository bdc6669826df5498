"""Whose turn it is to compute on a large model: one thread at a time, in the order in which they asked.

Otherwise the threads of all who look at a large model share the processor with whoever moves a slider on a small page,
and keep their activations side by side. A turn is one pass through the model, so nobody waits for everything that
another visitor has asked for; small models need no turn.

    turns.taken(network)        # once, where it was loaded; every pass then waits for its turn

Work that copies a model is done one after the other, too: `with_a_copy`.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from pages.ui import fragments, streamlit_internals
from tfcore.model import Transformer
from tfcore.stack import Stack

LARGE = 10_000_000  # parameters from which a pass needs a turn; of the models that ship, none has half of that
EVERY = 0.5  # seconds between two looks whether the visitor who waits is still there


@dataclass(slots=True, eq=False)
class _Place:
    """A place in the queue."""

    thread: int = field(default_factory=threading.get_ident)
    called: threading.Event = field(default_factory=threading.Event)


class Turns:
    """A queue of threads.

    Args:
        has_left: whether nobody waits any more for what this thread computes.
        leave: ends what this thread does, by an exception.
    """

    def __init__(self, has_left: Callable[[], bool], leave: Callable[[], None]) -> None:
        self.has_left, self.leave = has_left, leave
        self._lock = threading.Lock()
        self._queue: deque[_Place] = deque()
        self._holder: int | None = None
        self._depth = 0

    def take(self) -> None:
        """Wait for a turn; within a turn there is nothing to wait for. Each needs a `give`."""
        mine = _Place()
        with self._lock:
            if self._holder in (None, mine.thread):
                self._holder = mine.thread
                self._depth += 1
                return
            self._queue.append(mine)
        while not mine.called.wait(EVERY):
            if self.has_left():
                self._step_out(mine)

    def give(self) -> None:
        """Hand the turn on to who has waited longest."""
        with self._lock:
            self._depth -= 1
            if self._depth:
                return
            self._holder = None
            if self._queue:
                following = self._queue.popleft()
                self._holder, self._depth = following.thread, 1
                following.called.set()

    def _step_out(self, mine: _Place) -> None:
        with self._lock:
            if mine.called.is_set():  # a moment ago: its turn ends as any other
                return
            self._queue.remove(mine)
        self.leave()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._queue)


TURNS = Turns(streamlit_internals.has_left, fragments.stop)


_COPY = threading.Semaphore()


def with_a_copy(work: Callable[[], Iterator[Any]]) -> Callable[[], Iterator[Any]]:
    """The work of a job that makes a copy of a model: it begins once no other has one, for two may be more than the
    server has memory for. One that is stopped waits no longer."""

    def in_turn() -> Iterator[Any]:
        while not _COPY.acquire(timeout=EVERY):
            yield None
        try:
            yield from work()
        finally:
            _COPY.release()

    return in_turn


def taken(model: Any) -> Any:
    """The model, whose passes wait for their turn from now on where it is large."""
    if not isinstance(model, Transformer) or _before in model._forward_pre_hooks.values():
        return model
    if sum(one.numel() for one in model.parameters()) >= LARGE:
        for part in _parts(model):
            part.register_forward_pre_hook(_before)
            part.register_forward_hook(_after, always_call=True)
    return model


def _parts(model: Transformer) -> list[nn.Module]:
    """The model and what analyses call of it alone: its blocks and what stands before and behind them."""
    blocks = [block for part in model.children() if isinstance(part, Stack) for block in part.blocks]
    return [model, *model.children(), *blocks]


# Hooks are functions of this module, so that a copy of the model can be made; it waits for the same turns.


def _before(_: nn.Module, __: Any) -> None:
    TURNS.take()


def _after(_: nn.Module, __: Any, ___: Any) -> None:
    TURNS.give()
