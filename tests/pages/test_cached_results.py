"""All cached results together stay below their bound, and what is used stays."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from urllib.parse import quote_plus

import pytest
from streamlit import config
from streamlit.byte_util import config_max_cache_data_size_to_bytes
from streamlit.runtime.caching.global_cache_budget import GlobalCacheBudget, get_global_cache_budget

from benchmarks.crowd import TEXT, crowd
from benchmarks.servers import APP, serving
from pages.ui import cache
from tests.nightly import nightly

EACH, MOST = 100_000, 1_000_000  # bytes of a result, and of all
computed: Counter[tuple[str, int]] = Counter()


@cache.data(max_entries=1_000)
def letters(number: int) -> bytes:
    computed["letters", number] += 1
    return number.to_bytes(2) * (EACH // 2)


@cache.data(max_entries=1_000)
def digits(number: int) -> bytes:
    computed["digits", number] += 1
    return number.to_bytes(4) * (EACH // 4)


@pytest.fixture
def budget() -> Iterator[GlobalCacheBudget]:
    found = get_global_cache_budget()
    before = found.max_bytes
    found.reconfigure(MOST)
    yield found
    found.reconfigure(before)
    computed.clear()
    for function in (letters, digits):
        function.clear()


def test_many_results_stay_below_the_bound_and_right(budget):
    for number in range(40):
        assert letters(number) == number.to_bytes(2) * (EACH // 2)
        assert digits(number) == number.to_bytes(4) * (EACH // 4)
        assert letters(0) == bytes(EACH)  # somebody's slider rests here
        assert budget.total_bytes <= MOST
    assert budget.total_bytes > MOST / 2
    assert set(computed.values()) == {1}, "nothing was computed again while it was in use"
    assert letters(1) == (1).to_bytes(2) * (EACH // 2)
    assert computed["letters", 1] == 2, "what nobody used for long had gone"


def test_a_bound_is_set():
    assert config_max_cache_data_size_to_bytes(config.get_option("server.maxCacheDataSize")) == 64 * 2**20


def at_a_text_of_ones_own(visitor: int) -> tuple[str, str]:
    """A page that keeps what could follow each token of a text in the cache that the bound is for."""
    return f"/stream?text={quote_plus(TEXT.format(visitor))}", "position"


@nightly
def test_a_server_keeps_to_it():
    with serving(APP, "/healthz", STREAMLIT_SERVER_MAX_CACHE_DATA_SIZE="10kb") as server:
        found = asyncio.run(crowd(server.address, 3, 2, where=at_a_text_of_ones_own))
        assert found.errors == server.troubles() == []
        assert "reached its 10.0 KB" in server.log.read_text("utf-8")
