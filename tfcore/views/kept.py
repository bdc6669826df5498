"""Results of measurements, kept by what they are made from: the name of a model, a text, settings.

    reading_of = kept(read_attention, entries=16)
    reading_of("stories", "Once upon a time")      # runs the model
    reading_of("stories", "Once upon a time")      # does not

All results together have a bound in bytes, see `Shelf`. They are shared, so nobody may change one: NumPy refuses.
"""

import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from typing import Any, Protocol, TypeVar

import numpy as np

from tfcore.views.sources import Reading, in_memory, opened

Result = TypeVar("Result", covariant=True)
MOST = 256 << 20  # bytes of all results, where an application says nothing else
LARGE = 16  # times as much has room for results that take more alone


@dataclass(frozen=True, slots=True)
class _Kept:
    nbytes: int
    forget: Callable[[], None]


class Shelf:
    """Results of some functions: where they take too much together, the one used longest ago is let go of.

    Args:
        most: bytes of all results but those that take more alone. These have LARGE times as much to themselves, where
            the one used last always stays: what is made of it step by step would else push it out, to be made anew at
            the next step.
        factor: for the number of results that each function keeps.
    """

    def __init__(self, most: int, factor: float = 1.0) -> None:
        self.resize(most, factor)
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[Hashable, Hashable], _Kept] = OrderedDict()

    def resize(self, most: int, factor: float = 1.0) -> None:
        """Bounds for what is kept from now on."""
        self._most, self._factor = most, factor

    def used(self, function: Hashable, given: Hashable, result: Any, forget: Callable[[], None], entries: int) -> None:
        """Note that a result was asked for, and if it is new, let go of what it leaves no room for.

        Args:
            function: whose result it is: itself, or its name where it is made anew again and again.
            given: its arguments.
            forget: lets go of the result.
            entries: results of this function that are kept, at most, before the factor.
        """
        entries = max(1, round(entries * self._factor))
        with self._lock:
            if (key := (function, given)) in self._kept:  # nothing has grown: no need to look through all
                self._kept.move_to_end(key)
                return
            self._kept[key] = _Kept(nbytes(result), forget)
            of_function = [one for one in self._kept if one[0] == function]
            for one in of_function[: max(0, len(of_function) - entries)]:
                self._kept.pop(one).forget()
            large = [one for one, result in self._kept.items() if result.nbytes > self._most]
            self._make_room([one for one in self._kept if one not in large], self._most)
            self._make_room(large, LARGE * self._most)

    def _make_room(self, results: list[tuple[Hashable, Hashable]], most: int) -> None:
        while sum(self._kept[one].nbytes for one in results) > most and len(results) > 1:
            self._kept.pop(results.pop(0)).forget()

    def clear(self) -> None:
        """Let go of all results, as where a name has come to mean another model."""
        with self._lock:
            while self._kept:
                self._kept.popitem()[1].forget()

    @property
    def nbytes(self) -> int:
        """The bytes of all results."""
        return sum(one.nbytes for one in self._kept.values())


SHELF = Shelf(MOST)
_MISSING = object()  # a result may be None
_drawn: ContextVar[dict[Hashable, Any] | None] = ContextVar("results of models without a name", default=None)


@contextmanager
def while_drawn(results: dict[Hashable, Any] | None = None) -> Iterator[None]:
    """Until the block ends, results of models in memory are kept, too: a view asks for some of them again and again,
    and nobody changes the model meanwhile. A block inside another keeps them as long as that.

    Args:
        results: where; None means for this block alone.
    """
    if _drawn.get() is not None and results is None:
        yield
        return
    token = _drawn.set({} if results is None else results)
    try:
        yield
    finally:
        _drawn.reset(token)


class Kept(Protocol[Result]):
    """A function whose results are kept; of a model it is given the name, or the model and its tokenizer."""

    def __call__(self, *args: Any, **values: Any) -> Result: ...

    def clear(self) -> None: ...


def kept(function: Callable[..., Result], *, entries: int) -> Kept[Result]:
    """A function that keeps its results.

    Args:
        function: of hashable values, a Reading or a Source the first of them if it takes one; or of `model, tokenizer,
            ...` or `model, ...`: then what is returned takes a Source in their place. Results for a model that has no
            name are kept while a view is drawn.
        entries: results that are kept, at most.
    """
    parameters = list(inspect.signature(function).parameters)
    loaded = len([name for name in parameters[:2] if name in ("model", "tokenizer")])
    results: dict[Hashable, Any] = {}
    making: dict[Hashable, threading.Lock] = {}

    def is_nameless(given: Any) -> bool:
        return in_memory(given.model if isinstance(given, Reading) else given)

    def made(*args: Any, **values: Any) -> Any:
        result = function(*opened(args[0])[:loaded], *args[1:], **values) if loaded else function(*args, **values)
        for array in _arrays(result):
            array.setflags(write=False)
        return result

    @wraps(function)
    def keeping(*args: Any, **values: Any) -> Any:
        key = args, tuple(sorted(values.items()))
        if any(map(is_nameless, args)):
            if (own := _drawn.get()) is None:
                return made(*args, **values)
            if (result := own.get((keeping, key), _MISSING)) is _MISSING:
                result = own[keeping, key] = made(*args, **values)
            return result
        try:
            with making.setdefault(key, threading.Lock()):  # who asks for the same waits, and need not compute it
                if (result := results.get(key, _MISSING)) is _MISSING:
                    result = results[key] = made(*args, **values)
        finally:
            making.pop(key, None)
        SHELF.used(keeping, key, result, partial(results.pop, key, None), entries)
        return result

    result: Any = keeping
    result.clear = results.clear
    return result


def nbytes(result: Any) -> int:
    """The bytes of all arrays and tensors in a result, each memory counted once; models count nothing, as they are
    kept elsewhere."""
    buffers: dict[int, int] = {}
    for part in _parts(result):
        if isinstance(part, np.ndarray):
            whole = part
            while isinstance(whole.base, np.ndarray):
                whole = whole.base
            buffers[whole.ctypes.data] = whole.nbytes
        else:
            storage = part.untyped_storage()
            buffers[storage.data_ptr()] = storage.nbytes()
    return sum(buffers.values())


def _arrays(result: Any) -> Iterator[np.ndarray]:
    return (part for part in _parts(result) if isinstance(part, np.ndarray))


def _parts(thing: Any) -> Iterator[Any]:
    """The arrays and tensors in a result."""
    if isinstance(thing, np.ndarray) or hasattr(thing, "untyped_storage"):
        yield thing
    elif isinstance(thing, Mapping):
        for part in thing.values():
            yield from _parts(part)
    elif isinstance(thing, list | tuple):
        for part in thing:
            yield from _parts(part)
    elif is_dataclass(thing):
        for one in fields(thing):
            yield from _parts(getattr(thing, one.name))
