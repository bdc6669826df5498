"""Requests drawn from a seed: possible, the same each time, and on average what was asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcore.analysis.inference.request_trace import Traffic, request_trace

TRAFFIC = st.builds(
    Traffic,
    requests=st.integers(1, 12),
    prompt=st.integers(1, 20),
    output=st.integers(1, 20),
    every=st.floats(0.5, 6),
    longest=st.integers(2, 40),
    seed=st.integers(0, 50),
)


@given(TRAFFIC)
def test_every_request_is_possible(traffic):
    requests = request_trace(traffic)
    assert len(requests) == traffic.requests
    assert requests[0].arrival == 0
    assert [r.arrival for r in requests] == sorted(r.arrival for r in requests)
    assert all(r.prompt >= 1 and r.output >= 1 and r.length <= traffic.longest for r in requests)
    assert requests == request_trace(traffic)


def test_means_are_those_asked_for():
    requests = request_trace(Traffic(requests=20_000, prompt=40, output=90, every=3.0, longest=100_000))
    assert np.mean([r.prompt for r in requests]) == pytest.approx(40, rel=0.03)
    assert np.mean([r.output for r in requests]) == pytest.approx(90, rel=0.03)
    assert requests[-1].arrival / 20_000 == pytest.approx(3.0, rel=0.03)


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="requests=0"):
        Traffic(requests=0)
