"""What is said of memory, counted slot by slot on planted runs."""

import numpy as np
import pytest

from tfcore.views.inference.kv_cache.measure.paging import FREE, LATER, NEVER, STRANDED, TOKEN, MemoryRun
from tfcore.views.inference.kv_cache.say.paging import (
    Fragmentation,
    fragmentation,
    most_at_once,
    policy_row,
    token_shares,
    waste_shares,
)

POLICIES = ("reserve", "exact", "paged")


def planted(seed):
    """A run of five steps with counts drawn at random."""
    rng = np.random.default_rng(seed)
    picture = np.zeros((1, 1), dtype=np.uint8)
    return MemoryRun(
        slots=1_000 + seed,
        counts=rng.integers(1, 100, (5, 5)),
        running=rng.integers(1, 20, 5),
        waiting=rng.integers(0, 20, 5),
        evicted=seed,
        waited=rng.integers(0, 9, 7),
        moments=np.arange(1),
        picture=picture,
        owners=picture,
    )


RUNS = {policy: planted(seed) for seed, policy in enumerate(POLICIES)}


def share(run, state):
    """By a loop over all counts."""
    of_state = taken = 0
    for kind in (FREE, TOKEN, LATER, NEVER, STRANDED):
        for step in range(5):
            taken += int(run.counts[kind, step]) if kind != FREE else 0
            of_state += int(run.counts[kind, step]) if kind == state else 0
    return of_state / taken


def test_shares_are_those_of_a_loop():
    for run in RUNS.values():
        for state in (TOKEN, LATER, NEVER, STRANDED):
            assert run.share(state) == pytest.approx(share(run, state))


def test_the_two_that_know_no_lengths_are_compared():
    one, paged, found = RUNS["reserve"], RUNS["paged"], fragmentation(RUNS)
    assert found.tokens == pytest.approx(share(one, TOKEN))
    assert found.paged_tokens == pytest.approx(share(paged, TOKEN))
    assert [found.reserved, found.internal, found.external] == pytest.approx(
        [share(one, state) for state in (LATER, NEVER, STRANDED)]
    )
    assert (found.running, found.paged_running) == (max(one.running), max(paged.running))
    assert found.preempted == paged.evicted == 2


def test_sentences():
    assert str(token_shares(RUNS)).startswith(
        "7 requests on a memory of 1,002 tokens. Share of the memory in use or stranded that holds tokens: contiguous, "
        f"maximum length reserved: {share(RUNS['reserve'], TOKEN):.0%}; contiguous, exact length (oracle): "
    )
    assert str(waste_shares(RUNS)).startswith(
        f"Shares of the memory in use or stranded: maximum length {share(RUNS['reserve'], LATER):.0%} reserved, "
        f"{share(RUNS['reserve'], NEVER):.0%} internal fragmentation, {share(RUNS['reserve'], STRANDED):.0%} external; "
        "exact length "
    )
    most = [max(run.running) for run in RUNS.values()]
    assert str(most_at_once(RUNS)) == (
        f"Requests that run at once: maximum length up to {most[0]}, exact length up to {most[1]}, "
        f"paged up to {most[2]}."
    )
    found = Fragmentation(0.25, 0.5, 0.3, 0.4, 0.05, 8, 16, 1)
    assert str(found) == (
        "Here 25% of the contiguous memory in use holds tokens (30% reserved, 40% internal, 5% external "
        "fragmentation), of the paged one 50%; at most 8 and 16 requests run at once, with 1 preemption."
    )
    assert str(Fragmentation(0, 0, 0, 0, 0, 1, 1, 0)).endswith("with no preemption.")
    assert str(Fragmentation(0, 0, 0, 0, 0, 1, 1, 2)).endswith("with 2 preemptions.")


def test_a_row_of_the_table():
    run = RUNS["exact"]
    assert policy_row(run) == {
        "tokens": f"{share(run, TOKEN):.1%}",
        "reserved": f"{share(run, LATER):.1%}",
        "internal fragmentation": f"{share(run, NEVER):.1%}",
        "external fragmentation": f"{share(run, STRANDED):.1%}",
        "most at once": max(run.running.tolist()),
        "mean at once": f"{sum(run.running.tolist()) / 5:.1f}",
        "steps": 5,
        "mean wait": f"{sum(run.waited.tolist()) / 7:.1f}",
        "preempted": 1,
    }
