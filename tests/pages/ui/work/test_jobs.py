"""Jobs beside the pages: bounded, shared, stoppable, and never in each other's way."""

import ast
import itertools
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from pages.ui.work import jobs as module
from pages.ui.work.jobs import Jobs
from pages.ui.work.progress import steps
from tests.hostile_tokenizers import LATER, SEARCHED
from tfcore.loading.weights import LoadProgress
from tfcore.tokenizers import isolated

SOON = 20.0  # seconds that nothing here takes


class Gate:
    """Work that yields 0, 1, 2 ... and goes on only when it is let through."""

    def __init__(self, end: int | None = None) -> None:
        self.end, self.open, self.steps, self.closed = end, threading.Semaphore(0), 0, threading.Event()

    def __call__(self):
        try:
            for i in itertools.count() if self.end is None else range(self.end):
                yield i
                self.steps += 1
                self.open.acquire(timeout=SOON)
        finally:
            self.closed.set()

    def let(self, steps: int = 1) -> None:
        self.open.release(steps)


def began(jobs: Jobs, key: str, visitor: str) -> Gate:
    gate = Gate()
    jobs.start(key, gate, visitor)
    jobs.wait(key, 1, SOON)
    return gate


def over(jobs: Jobs, key: str, visitor: str):
    jobs.wait(key, 10**9, SOON)
    return jobs.look(key, visitor)


def test_a_job_runs_to_its_end_and_its_result_stays():
    jobs = Jobs()
    jobs.start("a", lambda: iter([1, None, 2]), "me")
    job = over(jobs, "a", "me")
    assert (job.state, job.items, job.active) == ("done", (1, 2), False)
    again = jobs.start("a", lambda: iter([99]), "you")
    assert (again.state, again.items) == ("done", (1, 2))
    assert jobs.look("b", "me") is None


def test_progress_is_seen_while_it_runs():
    jobs = Jobs()
    gate = began(jobs, "a", "me")
    assert jobs.look("a", "me").state == "running"
    gate.let()
    jobs.wait("a", 2, SOON)
    assert jobs.look("a", "me").items == (0, 1)
    jobs.stop("a", "me")
    gate.let()
    assert over(jobs, "a", "me").state == "stopped"


def test_stop_ends_the_work_before_its_next_step_and_keeps_what_there_was():
    jobs = Jobs()
    gate = began(jobs, "a", "me")
    jobs.stop("a", "me")
    assert jobs.look("a", "me").state == "stopped"  # at once, for who stopped it
    gate.let(100)
    assert gate.closed.wait(SOON)
    assert gate.steps <= 2
    assert over(jobs, "a", "me").items[0] == 0


def test_a_stopped_job_begins_anew():
    jobs = Jobs()
    gate = began(jobs, "a", "me")
    jobs.stop("a", "me")
    jobs.start("a", lambda: iter("xy"), "me")
    assert over(jobs, "a", "me").items == ("x", "y")
    gate.let(3)
    assert gate.closed.wait(SOON)
    assert jobs.look("a", "me").items == ("x", "y")


def test_two_visitors_share_a_job_and_one_cannot_stop_it_for_the_other():
    jobs = Jobs()
    gate = began(jobs, "a", "me")
    other = Gate()
    jobs.start("a", other, "you")
    assert other.steps == 0
    jobs.stop("a", "me")
    assert jobs.look("a", "me").state == "stopped"
    gate.let()
    jobs.wait("a", 2, SOON)
    assert jobs.look("a", "you").state == "running"
    jobs.stop("a", "you")
    gate.let(3)
    assert gate.closed.wait(SOON)


def test_a_visitor_has_one_job_at_a_time():
    jobs = Jobs()
    first = began(jobs, "a", "me")
    second = began(jobs, "b", "me")
    first.let(100)
    assert first.closed.wait(SOON)
    assert over(jobs, "a", "me").state == "stopped"
    assert jobs.look("b", "me").state == "running"
    jobs.stop("b", "me")
    second.let()


def test_few_run_few_wait_and_the_next_is_refused():
    jobs = Jobs(running=2, waiting=2)
    gates = [began(jobs, key, key) for key in "ab"]
    waiting = [jobs.start(key, lambda: iter([1]), key) for key in "cd"]
    assert [(job.state, job.ahead) for job in waiting] == [("waiting", 0), ("waiting", 1)]
    said = ["and this one is next", "and 1 waits before this one"]
    assert [job.turn("this one") for job in waiting] == said
    assert jobs.start("e", lambda: iter([1]), "e").state == "refused"
    assert jobs.look("e", "e") is None
    jobs.stop("c", "c")  # out of the queue at once
    assert jobs.look("c", "c").state == "stopped"
    assert jobs.look("d", "d").ahead == 0
    jobs.stop("a", "a")
    gates[0].let()
    assert over(jobs, "d", "d").state == "done"
    jobs.stop("b", "b")
    gates[1].let()


def test_never_more_threads_than_allowed_even_while_some_are_stopping():
    jobs, lock, counts = Jobs(running=2, waiting=100), threading.Lock(), []
    now = 0

    def work():
        nonlocal now
        with lock:
            now += 1
            counts.append(now)
        for _ in range(20):
            yield None
        with lock:
            now -= 1
        yield "end"

    for i in range(30):
        jobs.start(i, work, str(i))
    assert all(over(jobs, i, str(i)).items == ("end",) for i in range(30))
    assert max(counts) <= 2


def test_a_failure_is_a_sentence_and_the_next_job_runs(capsys):
    jobs = Jobs(running=1)

    def work():
        yield 1
        raise RuntimeError("the weights\nare gone")

    jobs.start("a", work, "me")
    job = over(jobs, "a", "me")
    assert (job.state, job.items, job.problem) == ("failed", (1,), "RuntimeError: the weights")
    assert "Traceback" in capsys.readouterr().err
    jobs.start("b", lambda: iter([2]), "me")
    assert over(jobs, "b", "me").state == "done"


def test_a_failure_stays_until_the_visitor_lets_go_of_it():
    jobs, begun = Jobs(), []

    def work():
        begun.append(1)
        raise RuntimeError("the weights are gone")
        yield

    jobs.start("a", work, "me")
    over(jobs, "a", "me")
    assert jobs.start("a", work, "me").state == "failed"
    assert len(begun) == 1
    jobs.start("a", work, "another")
    over(jobs, "a", "another")
    assert len(begun) == 2
    jobs.stop("a", "another")
    jobs.start("a", work, "another")
    over(jobs, "a", "another")
    assert len(begun) == 3


def test_a_job_that_takes_too_long_has_failed():
    jobs = Jobs(seconds=0.0)
    jobs.start("a", itertools.count, "me")
    job = over(jobs, "a", "me")
    assert (job.state, job.problem) == ("failed", "it took longer than the 0 s that it may take")


def test_old_results_are_forgotten_and_those_looked_at_stay():
    jobs = Jobs(kept=3)
    for i in range(3):
        jobs.start(i, lambda: iter([1]), "me")
        over(jobs, i, "me")
    jobs.look(0, "me")
    jobs.start(3, lambda: iter([1]), "me")
    over(jobs, 3, "me")
    jobs.start(4, lambda: iter([1]), "me")
    over(jobs, 4, "me")
    assert jobs.look(0, "me") is not None
    assert jobs.look(1, "me") is None


@pytest.mark.parametrize("name", ["_run", "_fill"])
def test_the_worker_touches_nothing_of_streamlit(name):
    tree = ast.parse((Path(__file__).parents[4] / "pages" / "ui" / "work" / "jobs.py").read_text())
    function = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name)
    assert "st" not in {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}


def test_a_job_that_nobody_looks_at_is_stopped_where_it_asked_for_that():
    jobs = Jobs()
    closed = threading.Event()

    def work():
        try:
            while True:
                yield None
        finally:
            closed.set()

    jobs.start("a", work, "me", patience=0.2)
    assert closed.wait(SOON)
    assert over(jobs, "a", "me").state == "stopped"
    gate = began(jobs, "b", "me")
    gate.let()
    jobs.wait("b", 2, SOON)
    assert jobs.look("b", "me").state == "running"
    jobs.stop("b", "me")
    gate.let()


def test_who_leaves_frees_the_place_unless_another_waits_for_the_same(monkeypatch):
    monkeypatch.setattr(module, "AWAY", 0.0)
    jobs, left = Jobs(running=1, waiting=1), set()

    def start(key: str, work, visitor: str) -> str:
        return jobs.start(key, work, visitor, has_left=lambda: visitor in left).state

    slow, second = Gate(), Gate()
    start("slow", lambda: steps(lambda say: [slow.open.acquire(timeout=SOON), say(LoadProgress("load", 1, 2))]), "me")
    start("slow", slow, "you")
    start("second", second, "she")
    assert start("third", Gate(), "he") == "refused"
    left.add("me")
    assert jobs.look("slow", "you").state == "running"
    left.add("she")
    assert start("third", iter, "he") == "waiting", "who has left does not wait for a place"
    assert jobs.look("second", "she").state == "stopped"
    jobs.stop("third", "he")
    start("next", lambda: iter(["done"]), "he")
    left.add("you")
    jobs.wait("next", 1, SOON)
    assert jobs.look("next", "he").items == ("done",)
    assert jobs.look("slow", "you").state == "stopped"
    slow.let()


def test_a_short_gap_in_a_connection_ends_nothing():
    jobs, gate, away = Jobs(), Gate(), [False]
    jobs.start("a", gate, "me", has_left=lambda: away[0])
    for gone in (True, False, True):
        away[0] = gone
        gate.let()
    jobs.wait("a", 4, SOON)
    assert jobs.look("a", "me").state == "running"
    jobs.stop("a", "me")
    gate.let()


@pytest.mark.parametrize("inside", ["a job", "a long call in a job"])
def test_a_visitor_who_leaves_a_tokenizer_that_searches_frees_the_place(inside, monkeypatch):
    monkeypatch.setattr(isolated, "CALL_SECONDS", 30)
    tokenizer: Any = isolated.isolated(json.dumps(LATER["a pattern that searches"][0]).encode())
    process, jobs = tokenizer._worker._process, Jobs(running=1)

    def search(*_):
        return [tokenizer.encode(SEARCHED)]

    jobs.start("slow", search if inside == "a job" else lambda: steps(search), "me", patience=0.3)
    jobs.start("next", lambda: iter(["done"]), "you")
    jobs.wait("next", 1, SOON)
    assert jobs.look("next", "you").items == ("done",)
    assert jobs.look("slow", "me").state == "stopped"
    assert process.wait(SOON) < 0, "it does not search on for nobody"
