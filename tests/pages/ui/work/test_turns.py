"""One thread at a time computes on a large model, in the order in which they asked; who has left gives up the place."""

import copy
import threading
from typing import Any

import pytest
import torch

from pages.ui.loading import own_models
from pages.ui.work import turns
from pages.ui.work.turns import Turns
from tests.small import config
from tfcore.model import Transformer

SOON = 20.0


class GoneError(Exception):
    """What ends a thread whose visitor has left."""


def leave():
    raise GoneError


class Queue:
    """Turns, of which the test holds the first, and threads that ask for the others."""

    def __init__(self):
        self.left: set[int] = set()
        self.turns = Turns(lambda: threading.get_ident() in self.left, leave)
        self.order: list[str] = []
        self.threads: list[threading.Thread] = []
        self.turns.take()

    def ask(self, name, passes=1):
        """A thread asks for so many turns; returns when it waits."""

        def work():
            try:
                for _ in range(passes):
                    self.turns.take()
                    self.order.append(name)
                    self.turns.give()
            except GoneError:
                self.order.append(f"{name} left")

        before = self.turns.waiting
        self.threads.append(threading.Thread(target=work, daemon=True))
        self.threads[-1].start()
        until(lambda: self.turns.waiting > before)

    def end(self):
        self.turns.give()
        for thread in self.threads:
            thread.join(SOON)
        assert self.turns.waiting == 0
        return self.order


def until(condition):
    tick = threading.Event()
    for _ in range(int(SOON / 0.01)):
        if condition():
            return
        tick.wait(0.01)
    raise AssertionError("it did not come to that")


def test_they_take_turns_in_the_order_in_which_they_asked():
    queue = Queue()
    for name in "abc":
        queue.ask(name, 3)
    assert "".join(queue.end()) == "abcabcabc"


def test_a_turn_within_a_turn_waits_for_nothing_and_ends_with_the_outer():
    queue = Queue()
    queue.turns.take()
    queue.ask("a")
    queue.turns.give()
    assert queue.order == []
    assert queue.end() == ["a"]


def test_who_has_left_gives_up_the_place(monkeypatch):
    monkeypatch.setattr(turns, "EVERY", 0.01)
    queue = Queue()
    for name in "abc":
        queue.ask(name)
    queue.left.add(queue.threads[1].ident)
    until(lambda: queue.order == ["b left"])
    assert queue.end() == ["b left", "a", "c"]


@pytest.fixture
def large(monkeypatch):
    """A model that counts as large, and turns of its own."""
    monkeypatch.setattr(turns, "LARGE", 1)
    monkeypatch.setattr(turns, "TURNS", Turns(lambda: False, leave))
    return turns.taken(Transformer(config()))


IDS = torch.tensor([[1, 2, 3]])


def free():
    """Whether nobody holds the turn."""
    return turns.TURNS._holder is None and turns.TURNS._depth == 0


CALLS = {
    "a pass": lambda model: model(IDS),
    "from one of its blocks on": lambda model: model.resume(torch.zeros(1, 3, model.config.d_model), 1),
    "its embedding alone": lambda model: model.embed(IDS),
    "a copy of it": lambda model: copy.deepcopy(model)(IDS),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_whatever_is_computed_of_a_large_model_waits_and_the_turn_ends_with_it(large, call):
    done = threading.Event()

    def work():
        call(large)
        done.set()

    turns.TURNS.take()
    threading.Thread(target=work, daemon=True).start()
    until(lambda: turns.TURNS.waiting == 1)
    assert not done.is_set()
    turns.TURNS.give()
    assert done.wait(SOON)
    assert free()


def test_a_model_that_is_loaded_once_more_waits_once(large):
    before = len(large._forward_pre_hooks)
    assert len(turns.taken(large)._forward_pre_hooks) == before == 1


def test_a_pass_that_fails_ends_its_turn(large):
    with pytest.raises(ValueError, match="do not fit a vocabulary"):
        large(torch.tensor([[10**6]]))
    assert free()


def test_it_computes_what_it_would_without():
    made, other = Transformer(config()), Transformer(config())
    assert turns.taken(made) is made
    assert not made._forward_pre_hooks  # a small one: those who look at it wait for nobody
    assert torch.equal(made(IDS).logits, other(IDS).logits)


def test_work_with_a_copy_is_done_one_after_the_other_and_can_be_stopped(monkeypatch):
    monkeypatch.setattr(turns, "EVERY", 0.01)
    works: Any = [turns.with_a_copy(lambda: iter("ab"))() for _ in range(3)]  # generators
    first, stopped, last = works
    assert next(first) == "a"
    assert next(stopped) is None
    stopped.close()
    assert next(last) is None
    assert list(first) == ["b"]
    assert [item for item in last if item is not None] == ["a", "b"]


def test_models_of_visitors_wait_for_their_turn(monkeypatch, tmp_path):
    from tests import own_folders
    from tests.pages.own_models import brought

    own_folders.write(tmp_path, "gpt2")
    monkeypatch.setattr(turns, "LARGE", 1)
    monkeypatch.setenv("TFCORE_MODELS", "any")
    monkeypatch.setenv("TFCORE_MODEL_FOLDER", str(tmp_path))
    monkeypatch.setattr(own_models, "STORE", own_models.Store())
    assert turns._before in brought("./gpt2").model._forward_pre_hooks.values()
