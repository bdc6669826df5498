"""Visitors without a browser meet what a browser meets, and what is made of their numbers is right."""

import asyncio
import random
import subprocess
import sys
from itertools import pairwise

import pytest

from benchmarks import load, quota, replicas, results, soak, varied
from benchmarks.crowd import crowd, empty, milliseconds
from benchmarks.servers import EMPTY, Server, serving
from benchmarks.visitors import Visitor, numbers, there_and_back


@pytest.fixture(scope="module")
def server():
    with serving(EMPTY, "/_stcore/health") as running:
        yield running


def test_a_crowd_drags_and_leaves(server: Server):
    there = []
    answers = asyncio.run(crowd(server.address, 3, 5, where=empty, meanwhile=lambda: there.append(server.megabytes())))
    assert answers.errors == server.troubles() == []
    assert len(answers.opening) == 3
    assert len(answers.changes) == 15
    assert 20 < there[0] < 1_000


def test_a_wanderer_sets_whatever_there_is(server: Server):
    visitor = varied.Wanderer(server.address)

    async def visit() -> None:
        await visitor.open()
        await visitor.wander(random.Random(1), 4)
        await visitor.leave()

    asyncio.run(visit())
    assert visitor.errors == []
    assert len(visitor.seconds) == 4
    assert len(visitor._said) == 1, "the empty page has one slider"


def test_what_goes_wrong_is_counted_and_does_not_end_the_others(server: Server):
    answers = asyncio.run(crowd(server.address, 2, 1, where=lambda number: ("/", ("number", "nothing")[number])))
    assert len(answers.changes) == 1
    assert answers.errors == [f"{server.address}/ has no slider 'nothing'; it has number"]
    nobody = asyncio.run(crowd("http://127.0.0.1:9", 1, 1, where=empty))
    assert "did not open" in nobody.errors[0]


def test_a_server_that_does_not_start_says_why():
    with pytest.raises(RuntimeError, match="Could not import module"), serving((*EMPTY[:3], "nowhere:app"), "/", 30):
        pass


def test_an_exception_on_a_page_is_an_error():
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

    message = ForwardMsg()
    shown = message.delta.new_element.exception
    shown.type, shown.message = "ValueError", "no"
    visitor = Visitor("http://nowhere/page")
    assert visitor._note(message) is False
    assert visitor.errors == ["http://nowhere/page: ValueError: no"]


def test_a_hand_moves_from_place_to_place():
    assert numbers(0, 1, 0.25) == [0, 0.25, 0.5, 0.75, 1]
    assert list(there_and_back("abc", 0, 6)) == list("bcbabc")
    assert list(there_and_back("abc", 2, 3)) == list("bab")
    assert list(there_and_back("a", 5, 2)) == ["a", "a"]
    way = list(there_and_back(range(5), 7, 30))
    assert all(abs(a - b) == 1 for a, b in pairwise(way))


def test_percentiles():
    assert milliseconds([0.003, 0.001, 0.002], 0.5) == 2
    assert milliseconds([i / 1000 for i in range(1, 101)], 0.95) == 95
    assert milliseconds([], 0.95) == 0


def test_memory_is_waited_for(server: Server):
    now = server.megabytes()
    assert load.wait_for_memory(server, now, 5)[0] == pytest.approx(now, rel=0.05)
    assert load.wait_for_memory(server, now / 2, 0.5)[1] >= 0.5


def test_growth_leaves_out_the_beginning():
    rows = [{"megabytes": 300.0 if minute < 2 else 400.0 + minute} for minute in range(12)]
    assert soak.growth(rows) == (403, 410)


def test_a_process_is_held_to_its_share():
    spin = "import time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass\nprint(time.process_time())"
    with subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE, text=True) as process:
        try:
            with quota.held_to(0.3, process.pid):
                said, _ = process.communicate()
        except RuntimeError as problem:
            process.kill()
            pytest.skip(str(problem))
    assert float(said) < 0.9, "of 1.5 seconds; alone it takes them all"


@pytest.mark.parametrize(
    ("name", "words"),
    [("load", load.table), ("soak", soak.sentence), ("replicas", replicas.table), ("varied", varied.sentence)],
)
def test_the_page_shows_the_results_that_are_kept(name, words):
    assert words(results.load(name)) in results.PAGE.read_text("utf-8")
