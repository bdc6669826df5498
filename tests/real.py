"""The real models, read once for all tests of a process: reading SmolLM2's file takes longer than most tests of it."""

from functools import cache
from typing import Any

import tfcore
from tfcore.device import device


@cache
def real(name: str) -> tuple[Any, Any]:
    """A model and its tokenizer, for tests that have `real_models` and change neither."""
    return tfcore.load(name, device=str(device()))
