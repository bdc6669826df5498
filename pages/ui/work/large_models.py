"""Passes through a large model take turns: one thread at a time, in the order in which they asked.

Otherwise the threads of all who look at a large model share the processor with whoever moves a slider on a small page,
and keep their activations side by side. A turn is one pass through the model, so nobody waits for everything that
another visitor has asked for; small models need no turn.

    large_models.taken(network)        # once, where it was loaded; every pass then waits for its turn

Work that copies a model is done one after the other, too: `with_a_copy`.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from pages.ui import fragments, streamlit_internals
from pages.ui.work.turns import EVERY, Turns, let_others_open
from tfcore.model import Transformer
from tfcore.stack import Stack

LARGE = 10_000_000  # parameters from which a pass needs a turn; of the models that ship, none has half of that
TURNS = Turns(streamlit_internals.has_left, fragments.stop, before=let_others_open)

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
