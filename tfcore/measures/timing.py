"""How a time that was measured is written, and where it was measured."""

import torch

from tfcore.measures.quantities import counted


def on_cpu() -> str:
    """The conditions of a measurement on the CPU, in words: threads, version of torch and data type."""
    threads = torch.get_num_threads()
    return f"{counted(threads, 'CPU thread')}, torch {torch.__version__}, float32"


def milliseconds(seconds: float) -> str:
    """A time in milliseconds, with three digits that count."""
    time = 1e3 * seconds
    return f"{time:,.0f} ms" if time >= 999.5 else f"{time:.3g} ms"
