"""A process that trains for somebody else: few threads, the lowest place in line, gone when its master is."""

import multiprocessing
import os
import threading
from contextlib import suppress

import torch

NICE = 10  # a page that is being drawn goes before a training


def prepare(threads: int) -> None:
    """Called once in a new process, before its first slice."""
    torch.set_num_threads(threads)
    with suppress(OSError, AttributeError):  # AttributeError: Windows
        os.nice(NICE)
    if (master := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_leave_with, args=(master,), daemon=True).start()


def _leave_with(master: multiprocessing.process.BaseProcess) -> None:
    """A master that was killed closes no queues: without this its workers would wait for ever."""
    master.join()
    os._exit(0)
