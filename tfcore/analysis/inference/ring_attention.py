"""Ring attention: every device keeps its queries, keys and values travel around the ring, states merge on the way."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.analysis.inference.online_softmax import (
    Difference,
    HeadVectors,
    RowStep,
    State,
    merge,
    nothing_yet,
    of_tile,
    only,
    result,
    row_step,
)
from tfcore.checks import check_place

Layout = Literal["contiguous", "striped"]


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
) -> tuple[Float[Tensor, "seq d_head"], list[list[State]]]:
    """Attention of one head on several devices, none of which ever holds all keys.

    Args:
        vectors: queries, keys and values of all tokens.

    Returns:
        the output, in the order of the text, and the states of every device's queries after each step.

    Source: arXiv:2310.01889, algorithm 1 (its attention; the feed-forward layer needs no other token).
    """
    places = device_tokens(len(vectors.q), devices, layout)
    d_head, dtype = vectors.v.shape[1], vectors.v.dtype
    states, trace = [nothing_yet(len(place), d_head, dtype) for place in places], []
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

    @property
    def off_by(self) -> Difference:
        """The difference to standard attention at the end."""
        return Difference(self.difference, self.exact)


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
    at, before, steps = int((places[device] == row).nonzero()), nothing_yet(1, vectors.v.shape[1]), []
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
    trace: list[list[State]], places: list[Tensor], weights: Tensor, naive: Tensor, held: ndarray
) -> tuple[ndarray, ndarray]:
    """The share of the weight not seen yet, and the largest error if one stopped here."""
    missing, off, seen = [], [], torch.zeros(len(naive))
    for step, states in enumerate(trace):
        worst = 0.0
        for device, (place, state) in enumerate(zip(places, states, strict=True)):
            seen[place] += weights[place][:, places[held[step, device]]].sum(1)
            worst = max(worst, float((result(state) - naive[place]).abs().max()))
        missing.append(max(0.0, 1 - float(seen.mean())))
        off.append(worst)
    return np.array(missing), np.array(off)


@dataclass(frozen=True, slots=True)
class RingStep(Finding):
    """The ring at one step.

    Args:
        step: from 1.
        held: whose keys and values each device holds.
        idle: devices with nothing to compute.
    """

    step: int
    held: tuple[int, ...]
    idle: int

    @property
    def sentence(self) -> str:
        where = ", ".join(f"device {device} has KV{block}" for device, block in enumerate(self.held))
        devices = len(self.held)
        return f"Step {self.step} of {devices}: {where}; {self.idle} of {devices} devices idle."


def ring_step(run: RingRun, step: int) -> RingStep:
    """What every device holds at a step, from 0."""
    return RingStep(step + 1, tuple(int(block) for block in run.held[step]), int((run.work[step] == 0).sum()))


@dataclass(frozen=True, slots=True)
class Meetings(Finding):
    """How many blocks of queries and keys have met after a step."""

    step: int
    met: int
    total: int

    @property
    def sentence(self) -> str:
        return f"{self.met} of {self.total} blocks of queries and keys have met after step {self.step}."


def meetings(run: RingRun, step: int) -> Meetings:
    """Each device meets one block a step, from 0."""
    devices = len(run.held)
    return Meetings(step + 1, (step + 1) * devices, devices * devices)


@dataclass(frozen=True, slots=True)
class StillToCome(Finding):
    """How far the result after a step is from the end.

    Args:
        missing: share of the softmax's weight that has not come yet, mean over all queries.
        off: the largest difference to standard attention, if the states were finished now.
        is_last: whether this is the last step.
        final: the difference at the end.
    """

    missing: float
    off: float
    is_last: bool
    final: Difference

    @property
    def missing_share(self) -> str:
        return f"{self.missing:.1%}"

    @property
    def off_words(self) -> tuple[str, str]:
        """The difference now, and what it says."""
        return f"{self.off:.1e}", self.final.verdict if self.is_last else "not done yet"

    @property
    def in_double(self) -> str:
        """The difference at the end in float64."""
        return f"{self.final.double:.0e}"

    @property
    def sentence(self) -> str:
        value, verdict = self.off_words
        return f"Weight still to come: {self.missing_share}; off standard attention by {value}, {verdict}."


def still_to_come(run: RingRun, step: int) -> StillToCome:
    """What is missing after a step, from 0."""
    return StillToCome(float(run.missing[step]), float(run.off[step]), step + 1 == len(run.held), run.off_by)


@dataclass(frozen=True, slots=True)
class LoadBalance(Finding):
    """How evenly the work is shared.

    Args:
        layout: of the tokens.
        pairs: (query, key) pairs in all.
        slowest: pairs of the slowest device of each step, added up: the others wait for it.
        busy: share of the time that a device works, on average.
    """

    layout: Layout
    pairs: int
    slowest: int
    busy: float

    @property
    def sentence(self) -> str:
        return (
            f"Tokens {self.layout}: {self.pairs:,} (query, key) pairs in all, {self.slowest:,} on the slowest device "
            f"of each step: busy {self.busy:.0%} of the time."
        )


def load_balance(layout: Layout, work: Int[ndarray, "step device"]) -> LoadBalance:
    """Compare all pairs with the pairs of the slowest device of each step, times the devices."""
    pairs, slowest = int(work.sum()), int(work.max(axis=1).sum())
    return LoadBalance(layout, pairs, slowest, pairs / (work.shape[1] * slowest))
