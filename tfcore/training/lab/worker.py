"""A worker process of the lab: few threads, low priority, and it ends with the process that started it."""

import multiprocessing
import os
import threading
from contextlib import suppress

import torch

from tfcore.training import compiler

NICE = 10  # a page that is being drawn goes before a training


def prepare(threads: int) -> None:
    """Called once in a new process, before its first slice."""
    torch.set_num_threads(threads)
    compiler.leave_out()
    with suppress(OSError, AttributeError):  # AttributeError: Windows
        os.nice(NICE)
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: multiprocessing.process.BaseProcess) -> None:
    """End with the parent: one that was killed closes no queues, and its workers would wait for ever."""
    parent.join()
    os._exit(0)
