"""torch's optimisers without its compiler, for processes that compile nothing."""

from collections.abc import Callable
from typing import Any

import torch
from torch.optim import SGD, Adam, Optimizer


def leave_out() -> None:
    """Let optimisers work without `torch._dynamo`, which torch 2.13 loads at their first step, to tell it what not to
    compile: 800 modules and 70 MB for a program that never calls `torch.compile`.

    It is for applications, before their first optimiser: afterwards those of this process can't be compiled. A torch
    that no longer has the names used here loads its compiler as before.
    """
    for method in vars(Optimizer).values():
        if (plain := getattr(method, "__wrapped__", None)) is not None:
            plain.__dynamo_disable = plain  # where `torch._disable_dynamo` notes the function that it made
    for kind in (Adam, SGD):  # AdamW has the step of Adam
        step = vars(kind).get("step")
        if (plain := getattr(step, "__wrapped__", None)) is not None and not hasattr(step, "hooked"):
            _set_step(kind, torch.no_grad()(plain))  # as its own wrapper does, where no step is differentiated


def _set_step(kind: Any, step: Callable[..., Any]) -> None:
    kind.step = step
