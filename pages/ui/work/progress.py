"""Work in several cached steps: a bar shows how far it is, but only where there is something to wait for."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

Item = TypeVar("Item")
Result = TypeVar("Result")
PATIENCE = 0.15  # seconds without a word


def in_turn(
    measure: Callable[[Item], Result],
    items: Sequence[Item],
    words: Callable[[Item], str],
    weight: Callable[[Item], float] = lambda _: 1.0,
) -> list[Result]:
    """Measure one item after the other; those that were measured before cost nothing.

    Args:
        measure: a cached function.
        words: what is said while an item is measured, as in "layer 2".
        weight: how much of the whole work an item is.
    """
    place, started = st.empty(), time.monotonic()
    found: list[Result] = []
    total, done = sum(map(weight, items)), 0.0
    for i, item in enumerate(items):
        if time.monotonic() - started > PATIENCE:
            place.progress(done / total, f"{i + 1} of {len(items)}: {words(item)}")
        found.append(measure(item))
        done += weight(item)
    place.empty()
    return found
