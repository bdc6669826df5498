"""Turns are taken in the order in which they were asked for; who has left gives up the place."""

import threading

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.work import jobs, large_models, runs, turns
from pages.ui.work.turns import Turns
from tests.pages.visits import ROUTER, run

SOON = 20.0


class GoneError(Exception):
    """What ends a thread whose visitor has left."""


def leave():
    raise GoneError


class Queue:
    """Turns, of which the test holds the first, and threads that ask for the others."""

    def __init__(self, **given):
        self.left: set[int] = set()
        self.turns = Turns(lambda: threading.get_ident() in self.left, leave, **given)
        self.order: list[str] = []
        self.threads: list[threading.Thread] = []
        self.turns.take()

    def ask(self, name, passes=1, waits=True):
        """A thread asks for so many turns; returns when it waits, if it is to."""

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
        if waits:
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


def test_who_takes_long_shares_the_turn_and_its_end_is_nobody_elses():
    queue = Queue(patience=0.0)
    for name in "abc":
        queue.ask(name, waits=False)
    for thread in queue.threads:
        thread.join(SOON)
    assert sorted(queue.order) == list("abc")
    queue.turns.take()
    assert sorted(queue.end()) == list("abc")


def test_whoever_has_to_wait_does_something_before_and_nobody_else_does():
    told: list[int] = []
    queue = Queue(before=lambda: told.append(threading.get_ident()))
    queue.ask("a")
    queue.ask("b")
    queue.end()
    assert told == [thread.ident for thread in queue.threads]


def test_a_turn_that_nobody_has_can_be_given():
    queue = Turns(lambda: False, leave)
    queue.give()
    queue.take()
    queue.give()
    queue.give()
    assert queue._depth == 0
    assert queue._holder is None


@pytest.fixture
def openings(monkeypatch):
    """The turns of pages that are opened; nobody loses one for taking long."""
    own = Turns(lambda: False, leave)
    monkeypatch.setattr(turns, "OPENINGS", own)
    return own


def test_a_page_waits_until_it_may_be_opened_and_what_runs_again_does_not(openings):
    test = AppTest.from_file(str(ROUTER), default_timeout=SOON)
    openings.take()
    opened = threading.Thread(target=run, args=[test], daemon=True)
    opened.start()
    until(lambda: openings.waiting == 1)
    openings.give()
    opened.join(SOON)
    assert not opened.is_alive()
    assert openings._holder is None, "once it is drawn others may be"
    openings.take()
    run(test)
    openings.give()


WAITING = {
    "a job": lambda: jobs.JOBS.wait("no job", 1, 0.0),
    "a run of the lab": lambda: runs.RUNS.wait("no run", 0.0),
    "a large model": lambda: (large_models.TURNS.take(), large_models.TURNS.give()),
}


@pytest.mark.parametrize("wait", WAITING.values(), ids=list(WAITING))
def test_others_open_their_pages_while_a_page_waits(wait, openings):
    begun, others = threading.Event(), threading.Event()

    def page():
        with turns.opening():
            begun.set()
            wait()
            others.wait(SOON)

    large_models.TURNS.take()
    first = threading.Thread(target=page, daemon=True)
    first.start()
    assert begun.wait(SOON)
    with turns.opening():  # comes to it though the first page is not done
        others.set()
    large_models.TURNS.give()
    first.join(SOON)
    assert not first.is_alive()
