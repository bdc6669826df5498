"""How much memory the results take that all visitors share, and which of them is let go of first."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class _Kept:
    nbytes: int
    forget: Callable[[], None]


class Shelf:
    """Results of some functions: where they take too much together, the one used longest ago is let go of.

    Args:
        most: bytes of all results. The one used last stays, however large it is.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, Hashable], _Kept] = OrderedDict()

    def used(self, function: str, given: Hashable, result: Any, forget: Callable[[], None], entries: int) -> None:
        """Note that a result was asked for, and let go of what it leaves no room for.

        Args:
            function: its name.
            given: its arguments.
            forget: lets go of the result.
            entries: results of this function that are kept, at most.
        """
        with self._lock:
            if (key := (function, given)) not in self._kept:
                self._kept[key] = _Kept(nbytes(result), forget)
            self._kept.move_to_end(key)
            of_function = [one for one in self._kept if one[0] == function]
            for one in of_function[: max(0, len(of_function) - entries)]:
                self._kept.pop(one).forget()
            while self.nbytes > self._most and len(self._kept) > 1:
                self._kept.popitem(last=False)[1].forget()

    @property
    def nbytes(self) -> int:
        """The bytes of all results."""
        return sum(one.nbytes for one in self._kept.values())


def nbytes(result: Any) -> int:
    """The bytes of all arrays and tensors in a result, each memory counted once; models count nothing, as they are
    kept elsewhere."""
    return sum(_memories(result, {}).values())


def _memories(thing: Any, found: dict[int, int]) -> dict[int, int]:
    """Where the memory of each array in it begins -> its bytes."""
    if isinstance(thing, np.ndarray):
        whole = thing
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        found[whole.ctypes.data] = whole.nbytes
    elif hasattr(thing, "untyped_storage"):
        storage = thing.untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
    elif isinstance(thing, Mapping):
        for part in thing.values():
            _memories(part, found)
    elif isinstance(thing, list | tuple):
        for part in thing:
            _memories(part, found)
    elif is_dataclass(thing):
        for one in fields(thing):
            _memories(getattr(thing, one.name), found)
    return found
