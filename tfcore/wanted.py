"""Whether somebody still waits for the work of this thread: asked by what waits long for another process."""

from collections.abc import Callable
from contextvars import ContextVar

# An app sets it in the threads of its work: what began for a visitor ends when nobody looks any more.
STILL_WANTED: ContextVar[Callable[[], bool]] = ContextVar("still_wanted", default=lambda: True)


class UnwantedError(Exception):
    """The work was ended because nobody waits for it any more."""
