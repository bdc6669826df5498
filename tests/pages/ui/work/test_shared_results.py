"""Results that all visitors share: what they weigh, and which of them go first."""

import gc
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pages.ui import cache
from pages.ui.work.shared_results import Shelf, nbytes

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Pair:
    rows: Tensor
    model: nn.Module


def of_megabytes(n: int) -> Any:
    return np.zeros(n * MEGABYTE, np.uint8)


def test_weights_of_results_count_each_memory_once_and_no_models():
    rows = torch.zeros(8, 4)
    assert nbytes(rows) == 128
    assert nbytes((rows, rows[2:], {"again": rows.T})) == 128
    assert nbytes([rows.numpy()[1:3], rows]) == 128  # numpy's view of torch's memory
    assert nbytes(Pair(rows, nn.Linear(9, 9))) == 128
    array = np.zeros(10)
    assert nbytes({"a": array[3:].reshape(7, 1), "b": "text", "c": None}) == 80


def test_what_was_used_longest_ago_goes_when_there_is_no_room():
    shelf, gone = Shelf(10 * MEGABYTE), list[str]()

    def use(function: str, given: str, megabytes: int, entries: int = 9) -> None:
        shelf.used(function, given, of_megabytes(megabytes), lambda: gone.append(given), entries)

    use("f", "a", 4)
    use("g", "b", 4)
    use("f", "a", 4)
    assert gone == []
    use("f", "c", 5)
    assert (gone, shelf.nbytes) == (["b"], 9 * MEGABYTE)
    use("h", "larger than all", 30)
    assert (gone, shelf.nbytes) == (["b", "a", "c"], 30 * MEGABYTE)
    use("h", "d", 1)
    assert (gone[3:], shelf.nbytes) == (["larger than all"], MEGABYTE)


def test_a_function_keeps_only_so_many():
    shelf, gone = Shelf(10 * MEGABYTE), list[int]()
    for given in range(4):
        shelf.used("f", given, None, lambda given=given: gone.append(given), 2)
        shelf.used("g", given, None, lambda: gone.append(-1), 9)
    assert gone == [0, 1]


def test_results_that_visitors_share_are_let_go_of_by_their_size(monkeypatch):
    monkeypatch.setattr(cache, "_SHELF", Shelf(10 * MEGABYTE))
    made = list[int]()
    kept = weakref.WeakValueDictionary[int, Any]()

    @cache.shared(max_entries=9)
    def large(number: int, *, megabytes: int = 4) -> Any:
        made.append(number)
        kept[number] = result = of_megabytes(megabytes)
        return result

    large.clear()
    for number in (1, 2, 1, 3, 1):
        large(number)
    assert made == [1, 2, 3]
    gc.collect()
    assert sorted(kept) == [1, 3]
    large(2)
    assert made == [1, 2, 3, 2]
    gc.collect()
    assert sorted(kept) == [1, 2]
    large(5, megabytes=11)
    gc.collect()
    assert sorted(kept) == [5]
