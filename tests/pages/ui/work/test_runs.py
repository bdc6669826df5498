"""Runs of the lab: turns, places, pause, step and stop, workers that die, and nothing left behind."""

import ctypes
import gc
import os
import struct
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest

from pages.ui.work import run_settings, workers
from pages.ui.work.run_records import Limits, RefusedError
from pages.ui.work.runs import Runs
from pages.ui.work.workers import Workers
from tests.nightly import nightly
from tests.pages.waiting import SOON, until
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.train import train_slice
from tfcore.training.lab.worker import NICE

TINY = {"task": "copy", "symbols": 4, "length": 3, "d_model": 8, "n_heads": 1, "n_layers": 1, "rows": 2}


def spec(**changes):
    return LabSpec(**{**TINY, "steps": 30, **changes})


def in_threads(places=1):
    pool = ThreadPoolExecutor(places)
    return Workers(pool, lambda: places, lambda: pool.shutdown(wait=True, cancel_futures=True))


@pytest.fixture
def runs():
    own = Runs(in_threads, Limits(slice=0.02, pulse=0.05))
    yield own
    own.close()


def seen(runs, name, *states):
    until(lambda: runs.look(name).state in states and (runs.look(name).look is not None or "waiting" in states))
    return runs.look(name)


def test_a_run_equals_training_at_one_go(runs):
    job = spec(dropout=0.1)
    name = runs.start(job, "a")
    done = seen(runs, name, "done")
    whole = train_slice(job, 0, None, most=job.steps, seconds=1e9)
    assert done.step == job.steps
    assert runs.book.records[name].kept == whole.state
    for field in ("loss", "norm", "lr", "at", "held_loss", "train_accuracy"):
        np.testing.assert_array_equal(getattr(done.curves, field), getattr(whole.curves, field))


def test_it_is_paused_stepped_resumed_and_stopped(runs):
    name = runs.start(spec(steps=20_000), "a")
    until(lambda: runs.look(name).step > 2)
    runs.pause(name)
    rest(runs, name)
    before = runs.look(name).step
    runs.one_step(name)
    until(lambda: runs.look(name).step == before + 1 and runs.look(name).state == "paused")
    runs.go_on(name)
    until(lambda: runs.look(name).step > before + 1)
    runs.stop(name)
    rest(runs, name)
    assert runs.look(name).state == "stopped"
    runs.go_on(name)
    assert runs.look(name).state == "stopped"


def rest(runs, name):
    """Until no slice of it is out."""
    until(lambda: runs.freeze(name) is not None)


def test_it_can_be_looked_at_before_its_first_step(runs):
    name = runs.start(spec(), "a", running=False)
    first = seen(runs, name, "paused")
    assert first.step == 0
    assert first.look.patterns.shape[:2] == (1, 1)
    assert list(first.curves.at) == [0]


def test_a_place_for_one_and_the_others_wait_their_turn():
    runs = Runs(in_threads, Limits(slice=0.01, turn=0.05, pulse=0.05))
    names = [runs.start(spec(steps=20_000), visitor) for visitor in "abc"]
    states = [runs.look(name) for name in names]
    assert sum(state.state == "running" for state in states) <= 1
    assert runs.look(names[2]).ahead >= 1
    until(lambda: all(runs.look(name).step > 0 for name in names))  # though none of them is over
    assert sum(runs.look(name).state == "running" for name in names) <= 1
    runs.close()


def test_one_visitor_trains_one_run_at_a_time(runs):
    first, second = (runs.start(spec(steps=20_000, seed=i), "a") for i in range(2))
    assert runs.look(first).state == "paused"
    assert runs.look(second).active
    third = runs.start(spec(seed=3), "b", instead=second)  # a reload makes a new visitor of the same person
    assert runs.look(second).state == "paused"
    assert runs.look(third).active


def test_too_many_are_refused_in_a_sentence():
    def closed():
        return Workers(ThreadPoolExecutor(1), lambda: 0, lambda: None)

    runs = Runs(closed, Limits(waiting=2, pulse=0.05))
    for visitor in "ab":
        runs.start(spec(), visitor)
    with pytest.raises(RefusedError, match="2 runs are waiting on this server"):
        runs.start(spec(), "c")
    runs.close()


def test_more_may_wait_where_more_are_trained_at_once():
    runs = Runs(in_threads, Limits(waiting=1, place=2, pulse=0.05))
    runs.book.due(3)
    for visitor in "abcdef":
        runs.book.enter(spec(), visitor, "", None)
    with pytest.raises(RefusedError, match="6 runs are waiting"):
        runs.book.enter(spec(), "g", "", None)


def test_runs_that_wait_take_no_room_from_those_that_rest(runs):
    name = runs.start(spec(steps=1), "a")
    seen(runs, name, "done")
    runs.book.limits = Limits(slice=0.02, pulse=0.05, kept=1)
    for visitor in "bcd":
        runs.start(spec(steps=20_000), visitor)
    runs.book.tidy(0.0)
    assert runs.look(name) is not None


def test_the_example_is_everybodys_and_nobody_can_stop_it(runs):
    name = runs.example(spec())
    assert runs.example(spec()) == name
    assert runs.look(name).shared
    runs.stop(name)
    assert runs.look(name).state != "stopped"
    seen(runs, name, "done")


def test_what_somebody_asked_for_goes_before_the_example(runs):
    shown = runs.example(spec(steps=20_000))
    until(lambda: runs.look(shown).step > 0)
    mine = runs.start(spec(steps=20_000, seed=1), "a")
    until(lambda: runs.look(mine).state == "running")
    assert runs.look(shown).state == "waiting"


def test_what_nobody_looks_at_is_paused_then_forgotten():
    runs = Runs(in_threads, Limits(slice=0.01, pulse=0.02, unwatched=0.2, forgotten=0.6, idle=0.3))
    before = set(threading.enumerate())
    name = runs.start(spec(steps=20_000), "a")
    until(lambda: runs.book.records[name].state == "paused")
    assert "Nobody looked at it" in runs.book.records[name].problem
    until(lambda: not runs.book.records)
    assert runs.book.nbytes == 0
    until(lambda: not set(threading.enumerate()) - before)  # the thread and the workers went, too
    assert runs.look(name) is None


def test_what_goes_on_again_is_no_longer_said_to_be_left_alone(runs):
    name = runs.start(spec(steps=20_000), "a")
    until(lambda: runs.look(name).step > 0)
    runs.book.tidy(runs.book.records[name].looked + 400)
    assert (runs.look(name).state, runs.look(name).problem) == ("paused", "Nobody looked at it for 5 minutes")
    runs.go_on(name)
    assert runs.look(name).problem == ""


def test_memory_has_a_limit_and_the_least_looked_at_goes_first(runs):
    names = [runs.start(spec(seed=i, steps=2), "abc"[i]) for i in range(3)]
    for name in names:
        seen(runs, name, "done")
    runs.book.limits = Limits(slice=0.02, pulse=0.05, memory=int(runs.book.nbytes * 0.7))
    runs.look(names[0])
    until(lambda: names[1] not in runs.book.records)
    assert runs.look(names[0]) is not None


def test_only_so_many_of_one_visitor_are_kept(runs):
    runs.book.limits = Limits(slice=0.02, pulse=0.05, each=2)
    names = [runs.start(spec(seed=i, steps=1), "a") for i in range(3)]
    assert [runs.look(name) is None for name in names] == [True, False, False]


class Failing(ThreadPoolExecutor):
    """Loses the first so many slices."""

    def __init__(self, lost):
        super().__init__(1)
        self.left = lost

    def submit(self, *args, **kwargs):
        if self.left == 0:
            return super().submit(*args, **kwargs)
        self.left -= 1
        future = Future()
        future.set_exception(OSError("the machine is gone"))
        return future


@pytest.mark.parametrize(("lost", "state"), [(2, "done"), (99, "failed")])
def test_a_slice_that_does_not_come_back_is_given_out_again(lost, state):
    pool = Failing(lost)
    runs = Runs(lambda: Workers(pool, lambda: 1, lambda: None), Limits(slice=0.02, pulse=0.05))
    name = runs.start(spec(), "a")
    until(lambda: not runs.look(name).active)
    found = runs.look(name)
    assert found.state == state
    assert (found.problem == "") == (state == "done")
    if state == "failed":
        assert found.problem == "What trained it was lost 3 times in a row; it keeps its 0 steps"
    runs.close()
    pool.shutdown()


def test_workers_that_cannot_be_had_are_one_sentence():
    def nowhere():
        raise OSError("no route")

    runs = Runs(nowhere, Limits(pulse=0.05))
    name = runs.start(spec(), "a")
    until(lambda: runs.look(name).state == "failed")
    assert runs.look(name).problem == "The machines that train cannot be reached (OSError)"
    runs.close()


def test_a_loss_without_bounds_ends_it_in_a_sentence(runs):
    name = runs.start(spec(lr=10.0, optimiser="sgd", clip=0.0, momentum=0.99, steps=2_000), "a")
    until(lambda: not runs.look(name).active)
    assert "the learning rate 10 is too high" in runs.look(name).problem


# ---- processes ----


def memory() -> float:
    """Of this process, in MB, without what its allocator keeps for later."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def children() -> set[int]:
    """Processes that this one started and that are still there, but for those that multiprocessing keeps."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(folder.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            words = folder.joinpath("cmdline").read_text()
        except (OSError, IndexError, ValueError):
            continue
        if parent == os.getpid() and "resource_tracker" not in words:
            found.add(int(folder.name))
    return found


def die_in_the_middle_of_a_result() -> None:
    """In a worker: the beginning of a message of 1,000 bytes, and nothing more."""
    queue = sys._getframe(1).f_locals["result_queue"]
    os.write(queue._writer.fileno(), struct.pack("!i", 1_000) + b"x")
    os.kill(os.getpid(), 9)


def test_a_worker_killed_while_it_sends_a_result_is_noticed():
    """By itself the pool waits for the rest for ever."""
    others = children()
    local = workers.connect(run_settings.RunSettings(1, 1, ""))
    future = local.executor.submit(die_in_the_middle_of_a_result)
    until(lambda: children() - others)
    (worker,) = children() - others
    until(
        lambda: Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    )  # dead, not taken leave of
    assert not future.done()
    local.recover()
    with pytest.raises(BrokenProcessPool):
        future.result(SOON)
    local.close()


@nightly
def test_ten_runs_abandoned_and_a_killed_worker_leave_nothing_behind():
    threads, others = set(threading.enumerate()), children()
    settings = run_settings.RunSettings(1, 1, "")
    runs = Runs(lambda: workers.connect(settings), Limits(slice=0, turn=0, pulse=0.1, idle=1, overdue=3))
    large = {"d_model": 192, "feed_forward": True, "steps": 20_000}
    names = [runs.start(spec(**large, seed=0), "0")]
    until(lambda: runs.look(names[0]).step > 0)
    before, first = memory(), runs.book.nbytes  # what the first run needs for itself once is there
    names += [runs.start(spec(**large, seed=i), str(i)) for i in range(1, 10)]
    (worker,) = children() - others
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, worker) == min(own + NICE, 19)  # 19 is the lowest priority there is
    os.kill(worker, 9)
    until(lambda: all(runs.look(name).step > 0 for name in names))  # another worker went on
    assert not any(runs.look(name).problem for name in names)
    held = (runs.book.nbytes - first) / 2**20
    assert held > 20
    runs.book.limits = Limits(pulse=0.1, forgotten=0.1, idle=0.2)
    until(lambda: not (set(threading.enumerate()) - threads) and children() <= others)
    assert runs.book.nbytes == 0
    assert memory() - before < 0.7 * held  # if they stayed it would be all of it
    runs.close()


@pytest.mark.parametrize(
    ("setting", "value"),
    [("TFCORE_RUNS", "many"), ("TFCORE_RUNS", "-1"), ("TFCORE_RUN_THREADS", "0"), ("TFCORE_SCHEDULER", "file:///etc")],
)
def test_a_setting_that_makes_no_sense_is_named(monkeypatch, setting, value):
    monkeypatch.setenv(setting, value)
    with pytest.raises(ValueError, match=setting):
        run_settings.read()
