"""Ring attention: every device keeps its queries, keys and values travel around the ring, states merge on the way."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.checks import check_place
from tfcore.measures.head_vectors import HeadVectors
from tfcore.views.inference.long_context.measure.online_softmax import (
    RowStep,
    SoftmaxState,
    before_keys,
    merge,
    of_tile,
    only,
    result,
    row_step,
)

Layout = Literal["contiguous", "striped"]
LAYOUTS: tuple[Layout, ...] = ("contiguous", "striped")


def device_tokens(n: int, devices: int, layout: Layout) -> list[Int[Tensor, " token"]]:
    """The positions of the tokens that each device holds.

    Contiguous: the text in equal pieces, one after the other (arXiv:2310.01889). Striped: every devices-th token, so
    that each device has early and late ones (arXiv:2311.09431).

    Raises:
        ValueError: more devices than tokens.
    """
    if not 1 <= devices <= n:
        raise ValueError(f"devices={devices} must be between 1 and the number of tokens, {n}")
    every = torch.arange(n)
    return list(every.tensor_split(devices)) if layout == "contiguous" else [every[i::devices] for i in range(devices)]


def held_block(device: int, step: int, devices: int) -> int:
    """Whose keys and values a device holds at a step: its own first, then those its neighbour had before."""
    return (device - step) % devices


def ring_work(n: int, devices: int, layout: Layout, causal: bool) -> Int[ndarray, "step device"]:
    """The (query, key) pairs that each device has to compute at each step; pairs behind the mask cost nothing."""
    places = [tokens.numpy() for tokens in device_tokens(n, devices, layout)]
    work = np.zeros((devices, devices), dtype=np.int64)
    for step in range(devices):
        for device in range(devices):
            queries, keys = places[device], places[held_block(device, step, devices)]
            # keys are sorted: how many of them are not later than each query
            work[step, device] = np.searchsorted(keys, queries, "right").sum() if causal else len(queries) * len(keys)
    return work


@torch.no_grad()
def ring_attention(
    vectors: HeadVectors, devices: int, layout: Layout, causal: bool
) -> tuple[Float[Tensor, "seq d_head"], list[list[SoftmaxState]]]:
    """Attention of one head on several devices, none of which ever holds all keys.

    Args:
        vectors: queries, keys and values of all tokens.

    Returns:
        the output, in the order of the text, and the states of every device's queries after each step.

    Source: arXiv:2310.01889, algorithm 1 (its attention; the feed-forward layer needs no other token).
    """
    places = device_tokens(len(vectors.q), devices, layout)
    states, trace = [before_keys(vectors, len(place)) for place in places], []
    for step in range(devices):
        for device in range(devices):  # at the same time, on real ones
            keys = places[held_block(device, step, devices)]
            arrived = of_tile(vectors.scores(places[device], keys, causal), vectors.v[keys])
            states[device] = merge(states[device], arrived)
        trace.append(list(states))  # then everyone passes the keys and values on to the next device
    output = torch.empty_like(vectors.v)
    for place, state in zip(places, states, strict=True):
        output[place] = result(state)
    return output, trace


@dataclass(frozen=True, slots=True)
class RingRun:
    """One head around the ring.

    Args:
        held: whose keys and values each device holds at each step.
        work: (query, key) pairs computed.
        home: the device of each token.
        row: the query that is followed, on device home[row].
        steps: what each arriving block did to it.
        missing: after each step, the share of the softmax's weight that no query's state has yet, on average.
        difference: the largest between this and standard attention, float32, over all queries and numbers.
        exact: the same in float64.
        off: the same after each step, as if the states were finished then; None where there is nothing yet.
    """

    held: Int[ndarray, "step device"]
    work: Int[ndarray, "step device"]
    home: Int[ndarray, " seq"]
    row: int
    steps: list[RowStep]
    missing: Float[ndarray, " step"]
    difference: float
    exact: float
    off: Float[ndarray, " step"]


@torch.no_grad()
def follow_ring(vectors: HeadVectors, devices: int, layout: Layout, causal: bool, row: int) -> RingRun:
    """Run a head around the ring and through standard attention, and follow one query.

    Raises:
        ValueError: a row outside the text, or more devices than tokens.
    """
    n = len(vectors.q)
    check_place(row=(row, n))
    output, trace = ring_attention(vectors, devices, layout, causal)
    weights, naive = vectors.naive(causal)
    double = vectors.double()
    exact = (ring_attention(double, devices, layout, causal)[0] - double.naive(causal)[1]).abs().max()
    places = device_tokens(n, devices, layout)
    home = torch.empty(n, dtype=torch.int64)
    for device, place in enumerate(places):
        home[place] = device
    held = np.array([[held_block(device, step, devices) for device in range(devices)] for step in range(devices)])
    device = int(home[row])
    at, before, steps = int((places[device] == row).nonzero()), before_keys(vectors, 1), []
    for step, states in enumerate(trace):
        keys, now = places[held[step, device]], only(states[device], at)
        steps.append(
            row_step(step, keys, vectors.scores(torch.tensor([row]), keys, causal), vectors.v[keys], before, now)
        )
        before = now
    missing, off = _after_each_step(trace, places, weights, naive, held)
    return RingRun(
        held,
        ring_work(n, devices, layout, causal),
        home.numpy(),
        row,
        steps,
        missing,
        float((output - naive).abs().max()),
        float(exact),
        off,
    )


def _after_each_step(
    trace: list[list[SoftmaxState]], places: list[Tensor], weights: Tensor, naive: Tensor, held: ndarray
) -> tuple[ndarray, ndarray]:
    """The share of the weight not seen yet, and the largest error if one stopped here."""
    missing, off, seen = [], [], 1 - weights.sum(1)  # of a learned sink, which is there from the start
    for step, states in enumerate(trace):
        worst = 0.0
        for device, (place, state) in enumerate(zip(places, states, strict=True)):
            seen[place] += weights[place][:, places[held[step, device]]].sum(1)
            worst = max(worst, float((result(state) - naive[place]).abs().max()))
        missing.append(max(0.0, 1 - float(seen.mean())))
        off.append(worst)
    return np.array(missing), np.array(off)
