"""Floods of messages on a real server: /healthz answers, another visitor's slider moves, and nothing of the server is
told or lost. How fast, `python -m benchmarks.beside_floods` measures."""

import asyncio
import re
from collections.abc import Iterator

import pytest

from benchmarks.beside_floods import FLOODS, LOOK, SLIDER, flooding, health
from benchmarks.visitors import Visitor
from tests.e2e.serving import get, without_traceback
from tests.nightly import nightly

CHANGES, MESSAGES = 12, 2_000
PATIENCE = 300  # seconds


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[str]:
    """A server's address; whatever floods it, it notes no traceback."""
    with without_traceback(tmp_path_factory.mktemp("server"), OMP_NUM_THREADS="1") as address:
        yield address


def kept(address: str) -> int:
    """Bytes that the caches of results hold, by Streamlit's own count."""
    said = get(address, "/_stcore/metrics")[1].decode()
    return sum(int(size) for size in re.findall(r'cache_type="st_cache_data".* (\d+)', said))


@nightly
@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_is_nobody_elses_trouble(server, kind):
    async def talk() -> bytes:
        visitor, waits = Visitor(server + LOOK), list[float]()
        await visitor.open()
        await visitor.drag(SLIDER, 24)  # what the slider shows is in the caches now
        before, moved = kept(server), len(visitor.seconds)
        with flooding(server, kind) as flood:
            asking = asyncio.create_task(health(server, waits))
            await visitor.drag(SLIDER, CHANGES)
            while len(waits) < 5 or (flood.is_alive() and flood.messages < MESSAGES):
                await asyncio.sleep(0.05)
            assert not asking.done(), asking.result()
            asking.cancel()
        assert len(visitor.seconds) == moved + CHANGES, "each change was answered"
        assert kept(server) >= before > 0, "the caches were emptied"
        assert visitor.errors == []
        await visitor.leave()
        return flood.heard

    heard = asyncio.run(asyncio.wait_for(talk(), PATIENCE))
    assert b"git_info" not in heard
    assert b"uncommitted" not in heard
