"""Caches with a limit, keyed by small hashable values only.

Cached functions take configs, text, seeds and names - never arrays or tensors: Streamlit hashes a large array by a
sample of its elements, and one changed cell then hits the old entry. Every cache has a limit.
"""

import inspect
import re
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, Protocol, TypeVar

import streamlit as st

from pages.ui.loading import own_models
from pages.ui.server import settings
from tfcore.views import kept, sources

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Given = TypeVar("Given", covariant=True)
_ARRAYS = re.compile(r"\b(ndarray|Tensor|NDArray|ArrayLike|DataFrame|Series|Float|Int|Bool)\b")

kept.SHELF.resize(32 << 20, settings.cache_factor())


class Cached(Protocol[Arguments, Given]):
    """A function whose results are kept."""

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Given: ...

    def clear(self) -> None: ...


def data(*, max_entries: int) -> Callable[[Callable[Arguments, Result]], Cached[Arguments, Result]]:
    """`st.cache_data` with an obligatory limit, for functions of small hashable values only.

    TFCORE_CACHE multiplies the limit.
    """

    def decorate(function: Callable[Arguments, Result]) -> Cached[Arguments, Result]:
        _refuse_arrays(function)
        cached: Any = st.cache_data(max_entries=settings.entries(max_entries), show_spinner=False)(function)
        return cached

    return decorate


def shared(*, max_entries: int) -> Callable[[Callable[Arguments, Result]], Cached[Arguments, Result]]:
    """`data` for results of many megabytes: all runs share the one that is kept, instead of a copy each, and nobody may
    change it. All of them together have a bound of their own, in bytes."""

    def decorate(function: Callable[Arguments, Result]) -> Cached[Arguments, Result]:
        _refuse_arrays(function)
        cached: Any = st.cache_resource(show_spinner=False)(function)
        name = f"{function.__module__}.{function.__qualname__}"
        signature = inspect.signature(function)

        @wraps(function)
        def keeping(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            result: Result = cached(*args, **kwargs)
            given = signature.bind(*args, **kwargs).arguments
            key = tuple(
                (name, value) for name, value in given.items() if not name.startswith("_")
            )  # as Streamlit has it
            kept.SHELF.used(name, key, result, partial(cached.clear, *args, **kwargs), max_entries)
            return result

        with_clear: Any = keeping
        with_clear.clear = cached.clear
        return with_clear

    return decorate


def of_model(*, max_entries: int) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """`data` for a function of `model, tokenizer, ...`, or of `model, ...`: it is called with the model's name instead,
    and gets the model that all visitors share."""

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        with_tokenizer = "tokenizer" in inspect.signature(function).parameters

        @wraps(function)  # by which Streamlit tells functions apart
        def named(model_name: str, *args: Any, **values: Any) -> Result:
            network, tokenizer = model(model_name)
            return (
                function(network, tokenizer, *args, **values) if with_tokenizer else function(network, *args, **values)
            )

        return data(max_entries=max_entries)(named)

    return decorate


def _refuse_arrays(function: Callable[..., Any]) -> None:
    for name, parameter in inspect.signature(function).parameters.items():
        if name.startswith("_"):  # Streamlit leaves these out of the key
            continue
        kind = parameter.annotation
        if _ARRAYS.search(kind if isinstance(kind, str) else getattr(kind, "__name__", repr(kind))):
            raise TypeError(
                f"{function.__qualname__}: the argument {name!r} is an array, and large arrays are hashed by a sample. "
                "Take the config, text or seed it comes from instead."
            )


def model(name: str) -> tuple[Any, Any]:
    """A model and its tokenizer, shared by all visitors and read only: one that ships, or one that `models.choose`
    found loaded."""
    if (own := own_models.get(name)) is not None:
        return own.model, own.tokenizer
    if own_models.is_own(name):
        st.rerun()  # let go of since the page asked for it: the page says so, and offers to load it again
    return shipped_model(name)


@st.cache_resource(max_entries=9, show_spinner="Loading the model")
def shipped_model(name: str) -> tuple[Any, Any]:
    """A model that ships with tfcore, or a real one that was fetched."""
    import tfcore  # here, because it imports torch, which a page without a model need not wait for
    from tfcore.loading import checkpoints

    if name not in checkpoints.here():  # never a folder of that name
        raise ValueError(f"no model of the name {name!r} is here")
    from pages.ui.work import large_models

    network, tokenizer = tfcore.load(name)
    return large_models.taken(network.eval().requires_grad_(False)), tokenizer


# What views are given by name is the model that all visitors share.
sources.use(model)
