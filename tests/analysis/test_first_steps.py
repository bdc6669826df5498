"""The first training steps: warm-up by the formula, real losses, and a race that stops when nobody watches."""

import threading
import time

import pytest
import torch

from tfcore.analysis import first_steps
from tfcore.analysis.depth import Deep
from tfcore.analysis.first_steps import VOCAB, Race, batch, chance_loss, first_losses, learning_rate


def deep(placement, n_layers=8):
    return Deep(n_layers=n_layers, placement=placement, vocab_size=VOCAB)


def wait(condition, seconds=60.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_warm_up_is_a_line():
    assert [learning_rate(step, 0.1, 4) for step in range(6)] == pytest.approx([0.025, 0.05, 0.075, 0.1, 0.1, 0.1])
    assert learning_rate(0, 0.1, 0) == 0.1


def test_the_task_is_to_say_the_token_before():
    ids, targets = batch(torch.Generator().manual_seed(0))
    assert torch.equal(targets[:, 1:], ids[:, :-1])


def test_a_run_starts_at_chance_and_is_the_same_with_the_same_seed():
    first, second = (first_losses(deep("pre", 2), 0.003, 0) for _ in range(2))
    losses = [next(first) for _ in range(3)]
    assert losses == [next(second) for _ in range(3)]
    assert losses[0] == pytest.approx(chance_loss(), abs=0.05)


def test_post_norm_without_warm_up_is_stuck_where_pre_norm_learns():
    steps = 50
    ends = {
        (placement, warmup): sum([next(run) for _ in range(steps)][-5:]) / 5
        for placement, warmup in (("pre", 0), ("post", 0), ("post", 40))
        for run in [first_losses(deep(placement), 0.006, warmup)]
    }
    assert ends["pre", 0] < 0.6
    assert ends["post", 0] > 2.6
    assert ends["post", 40] < 2.3


def counter(n):
    yield from (float(i) for i in range(n))


def test_a_race_advances_all_runs_alike_to_the_end_and_lets_go_of_them():
    race = Race({"a": lambda: counter(5), "b": lambda: counter(5)}, steps=5)
    assert (race.done, race.total) == (0, 10)
    race.watch()
    wait(lambda: race.done == race.total)
    assert race.losses == {"a": [0, 1, 2, 3, 4], "b": [0, 1, 2, 3, 4]}
    assert not race._runs
    race.watch()
    assert race.done == race.total


def test_a_race_that_nobody_watches_stops_and_goes_on_where_it_was():
    def slow(n):
        for i in range(n):
            time.sleep(0.02)
            yield float(i)

    race = Race({"a": lambda: slow(40)}, steps=40)
    race.watch(seconds=0.1)
    wait(lambda: not race._thread.is_alive())
    so_far = race.done
    assert 0 < so_far < 40
    race.watch(seconds=60.0)
    wait(lambda: race.done == 40)
    assert race.losses["a"] == [float(i) for i in range(40)]


def test_many_watchers_are_one_thread():
    gate = threading.Event()

    def waits():
        gate.wait()
        yield 0.0

    race = Race({"a": waits}, steps=1)
    for _ in range(5):
        race.watch(seconds=60.0)
    assert sum(thread.name == "race" for thread in threading.enumerate()) == 1
    gate.set()
    wait(lambda: race.done == 1)
    assert first_steps.PATIENCE > 0
