"""Visitors who wander through a running server, where fragments run alone: no step may show an error.

AppTest cannot see this: there, a control inside a fragment has the whole page run.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest
from hypothesis import settings

from pages.facts import pages
from tests import walks
from tests.nightly import nightly, often
from tests.walker import WRONG, Control, Walker, drawn

NIGHTLY = settings.default is settings.get_profile("nightly")
WALKS, LENGTH = (400, 50) if NIGHTLY else (2, 20)
SEED = Random().randrange(10**6) if NIGHTLY else 0
ADDRESSES = [f"/{key}" for key in pages()]


@asynccontextmanager
async def opened(address: str) -> AsyncIterator[Walker]:
    walker = Walker(address)
    await walker.open()
    try:
        yield walker
    finally:
        await walker.leave()
    assert walker.errors == [], walker.way


def walked(coroutine) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 300))


@pytest.mark.parametrize("walk", often(range(WALKS), [1]))
def test_a_random_walk_meets_no_error(server, walk):
    async def wander() -> None:
        random = Random(f"{SEED} {walk}")
        async with opened(server + random.choice(ADDRESSES)) as walker:
            for _ in range(LENGTH):
                await walker.step(random)
                if walker.errors:
                    return

    walked(wander())


def in_fragments(walker: Walker) -> list[Control]:
    """Controls that have only a part of the page run."""
    return [c for c in walker.controls.values() if c.fragment and c.movable]


# Controls in fragments, of every kind; the others each night
OFTEN = ("/heads", "/positions", "/generation")


@pytest.mark.parametrize("path", often(ADDRESSES, OFTEN))
def test_what_a_link_says_wrongly_is_corrected_until_its_control_moves(server, path):
    """Each control inside a fragment, wrong in the link, and moved after one more run of the whole page."""

    async def visit() -> None:
        random = Random(path)
        async with opened(server + path) as walker:
            keys = [control.key for control in in_fragments(walker) if ":" not in control.key]
        if not keys:
            return
        link = "&".join(f"{key}={random.choice(WRONG[:3])}" for key in keys)
        async with opened(f"{server}{path}?{link}") as walker:
            assert "Corrected from the link" in walker.words()
            await walker.run()
            for control in in_fragments(walker):
                if control.proto.id in walker.controls:
                    await walker.move(control, drawn(control, random))
                    await walker.run(control.fragment)

    walked(visit())


# Address, then what is done there: crashes that visitors met.
WAYS: dict[str, tuple[str, list[tuple[str, str | int]]]] = {
    "a text becomes shorter than a choice": ("/architectures", [("step", "end"), ("sentence", "Hello."), ("layer", 0)]),
    "a text becomes shorter than a token of it": (
        "/heads",
        [("token", "end"), ("text", "The cat sat."), ("layer", 0), ("token", 1)],
    ),
    "a text becomes shorter than a position": (
        "/masks",
        [("position", "end"), ("text", "The cat sat."), ("layer", 0), ("position", 1)],
    ),
    "a text is cut": ("/architectures", [("sentence", "word " * 400), ("layer", 0)]),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_way_that_once_ended_in_a_crash(server, name):
    path, moves = WAYS[name]

    async def go() -> None:
        async with opened(server + path) as walker:
            for key, value in moves:
                control = walker.control(key)
                kind = control.kind == "slider"
                end = [control.proto.max] if kind and value == "end" else [float(value)] if kind else value
                await walker.move(control, end)

    walked(go())


def test_a_text_that_was_typed_on_one_page_is_no_drawer_of_another(server):
    """The key `numbers` was that of a box on /normalisation and of a drawer on /flow, which then opened never again."""

    async def go() -> None:
        async with opened(f"{server}/normalisation?part=By+hand") as walker:
            await walker.move(walker.control("numbers"), "1 2 3 4")
            await walker.turn_to(walker.page("flow"))

    walked(go())


@nightly
def test_sessions_that_type_first_and_go_on_meet_no_error():
    steps = "2000" if NIGHTLY else "200"
    assert walks.main(steps, "--seed", str(SEED), TFCORE_REAL_MODELS=os.environ["TFCORE_TEST_MODELS"]).errors == []


def test_what_a_control_held_for_another_model_is_no_value_for_this_one(server):
    """A head that the next model has not, kept under the control's name over Back and a button."""

    async def go() -> None:
        async with opened(f"{server}/walkthrough") as walker:
            await walker.move(walker.control("head"), [walker.control("head").proto.max])
            await walker.turn_to(walker.page("tokens"))
            await walker.back()
            await walker.press(walker.button("attention weights"))
            await walker.move(walker.control("model"), "stories-shared")
            assert walker.errors == []
            assert walker.control("head").proto.max == 3

    walked(go())


def test_a_notice_leaves_with_its_reason_when_a_fragment_alone_ran(server):
    async def go() -> None:
        async with opened(f"{server}/heads?head=99&layer=98") as walker:
            assert "head 99" in walker.words()
            await walker.move(walker.control("head"), [2.0])
            assert "head 99" not in walker.words()
            assert "layer 98" in walker.words()
            await walker.move(walker.control("layer"), [1.0])
            assert "Corrected" not in walker.words()

    walked(go())


def test_what_stood_in_a_fragment_goes_with_it(server):
    """A drawer of a translation that is drawn no more: no browser shows it, and no click on it would be answered."""

    async def empty() -> None:
        async with opened(f"{server}/architectures?job=translate") as walker:
            drawer = "token:expander"
            assert drawer in {c.key for c in walker.controls.values()}
            await walker.move(walker.control("sentence"), " ")
            assert drawer not in {c.key for c in walker.controls.values()}

    walked(empty())
