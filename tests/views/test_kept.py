"""Results that are kept: what they weigh, which of them go first, and what they are kept by."""

import gc
import threading
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pages.ui import cache
from tests import small
from tfcore.tokenizers.tokenizer import CharacterTokenizer
from tfcore.views import kept, sources
from tfcore.views.kept import LARGE, Shelf, nbytes
from tfcore.views.sources import Reading

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
    use("h", "larger than all", 30)  # what is made of it next would push it out
    use("h", "d", 2)
    assert (gone, shelf.nbytes) == (["b", "a"], 37 * MEGABYTE)
    use("f", "too large as well", 11)
    assert (gone[2:], shelf.nbytes) == ([], 48 * MEGABYTE)
    use("f", "far too large", 10 * LARGE - 11)
    assert (gone[2:], shelf.nbytes) == (["larger than all"], (7 + 10 * LARGE) * MEGABYTE)
    use("f", "larger than the room", 10 * LARGE + 1)
    assert (gone[3:], shelf.nbytes) == (["too large as well", "far too large"], (8 + 10 * LARGE) * MEGABYTE)


def test_a_function_keeps_only_so_many():
    shelf, gone = Shelf(10 * MEGABYTE), list[int]()
    for given in range(4):
        shelf.used("f", given, None, lambda given=given: gone.append(given), 2)
        shelf.used("g", given, None, lambda: gone.append(-1), 9)
    assert gone == [0, 1]


def test_results_that_visitors_share_are_let_go_of_by_their_size(monkeypatch):
    monkeypatch.setattr(kept, "SHELF", Shelf(10 * MEGABYTE))
    made = list[int]()
    alive = weakref.WeakValueDictionary[int, Any]()

    @cache.shared(max_entries=9)
    def large(number: int, *, megabytes: int = 4) -> Any:
        made.append(number)
        alive[number] = result = of_megabytes(megabytes)
        return result

    large.clear()
    for number in (1, 2, 1, 3, 1):
        large(number)
    assert made == [1, 2, 3]
    gc.collect()
    assert sorted(alive) == [1, 3]
    large(2)
    assert made == [1, 2, 3, 2]
    gc.collect()
    assert sorted(alive) == [1, 2]
    large(5, megabytes=11)
    large(6, megabytes=LARGE * 10)
    gc.collect()
    assert sorted(alive) == [1, 2, 6]


def test_what_follows_from_the_key_is_no_part_of_it():
    @cache.shared(max_entries=2)
    def first(name: str, _values: list[int]) -> int:
        return _values[0]

    first.clear()
    assert [first("a", [1]), first("a", _values=[2]), first("b", [3])] == [1, 1, 3]


def test_a_measurement_of_a_model_is_made_once_for_its_name(monkeypatch):
    loaded, asked = (small.model(), CharacterTokenizer("abc ")), list[str]()
    monkeypatch.setattr(sources, "_opener", [lambda _: loaded])

    def lengths(model: Any, tokenizer: Any, text: str, *, factor: int = 1) -> Any:
        asked.append(text)
        return {"n": np.array([factor * len(tokenizer.encode(text)), model.config.n_layers])}

    found = kept.kept(lengths, entries=2)
    assert found("mine", "abc", factor=2)["n"].tolist() == [6, loaded[0].config.n_layers]
    assert found("mine", "abc", factor=2) is found("mine", "abc", factor=2)
    assert asked == ["abc"]
    with pytest.raises(ValueError, match="read-only"):
        found("mine", "abc", factor=2)["n"][0] = 1
    found("mine", "a")
    found("mine", "ab")  # of three results the function keeps two
    found("mine", "abc", factor=2)
    assert asked == ["abc", "a", "ab", "abc"]
    found(loaded, "abc")  # a model without a name may be any
    found(loaded, "abc")
    assert asked[4:] == ["abc", "abc"]
    kept.SHELF.clear()
    found("mine", "abc", factor=2)
    assert asked[6:] == ["abc"]


def test_a_text_as_it_is_read_is_kept_by_the_name_of_its_model(monkeypatch):
    loaded, asked = (small.model(), CharacterTokenizer("abc ")), list[str]()
    monkeypatch.setattr(sources, "_opener", [lambda _: loaded])

    def characters(reading: Reading, factor: int) -> Any:
        asked.append(reading.text)
        return factor * len(sources.opened(reading.model)[1].encode(reading.text))

    found = kept.kept(characters, entries=2)
    assert [found(Reading("mine", "abc"), 2) for _ in range(2)] == [6, 6]
    assert asked == ["abc"]
    assert [found(Reading(loaded, "ab"), 2) for _ in range(2)] == [4, 4]
    assert asked == ["abc", "ab", "ab"]


def test_of_a_model_alone_and_of_values_alone(monkeypatch):
    monkeypatch.setattr(sources, "_opener", [lambda _: (small.model(), CharacterTokenizer("abc "))])
    layers = kept.kept(lambda model, more: model.config.n_layers + more, entries=2)
    assert layers("mine", 3) == small.model().config.n_layers + 3
    assert kept.kept(lambda n: n + 1, entries=2)(4) == 5


def test_of_a_source_that_is_opened_later():
    asked = list[Any]()
    found = kept.kept(lambda source, n: asked.append(source) or n, entries=2)
    loaded = small.model(), CharacterTokenizer("abc ")
    assert [found("mine", 3), found("mine", 3), found(loaded, 3), found(loaded, 3)] == [3] * 4
    assert asked == ["mine", loaded, loaded]
    numbers = kept.kept(lambda pair: asked.append(pair) or sum(pair), entries=2)
    assert [numbers((1, 2)), numbers((1, 2))] == [3, 3]
    assert asked[3:] == [(1, 2)]


def test_who_asks_for_the_same_at_once_waits_for_it():
    began, may_end, asked = threading.Event(), threading.Event(), list[int]()

    def slow(n: int) -> int:
        asked.append(n)
        began.set()
        assert may_end.wait(30)
        return n

    found, results = kept.kept(slow, entries=2), list[int]()
    threads = [threading.Thread(target=lambda: results.append(found(3))) for _ in range(4)]
    threads[0].start()
    assert began.wait(30)
    for thread in threads[1:]:
        thread.start()
    may_end.set()
    for thread in threads:
        thread.join(30)
    assert (results, asked) == ([3] * 4, [3])


def test_a_measurement_that_fails_is_tried_again():
    tries = list[int]()

    def fails_once(n: int) -> int:
        tries.append(n)
        if len(tries) == 1:
            raise ValueError("not yet")
        return n

    found = kept.kept(fails_once, entries=2)
    with pytest.raises(ValueError, match="not yet"):
        found(1)
    assert found(1) == 1


def test_a_function_that_is_kept_in_two_places_lets_go_in_both():
    asked = list[int]()

    def noted(n: int) -> int:
        asked.append(n)
        return n

    one, other = (kept.kept(noted, entries=1) for _ in range(2))
    for n in (1, 2, 1):
        one(n)
        other(n)
    assert asked == [1, 1, 2, 2, 1, 1]
