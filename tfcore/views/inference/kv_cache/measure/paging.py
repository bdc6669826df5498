"""A server's cache memory, step by step: a trace of requests on contiguous memory and on blocks, and what is wasted."""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int, UInt8
from numpy import ndarray

Policy = Literal["reserve", "exact", "paged"]

FREE, TOKEN, LATER, NEVER, STRANDED = range(5)  # what a slot is
STATES = 5
NAMES: dict[Policy, str] = {
    "reserve": "contiguous, maximum length reserved",
    "exact": "contiguous, exact length (oracle)",
    "paged": "paged, blocks on demand",
}
SHORT: dict[Policy, str] = {"reserve": "maximum length", "exact": "exact length", "paged": "paged"}
NOBODY = 255  # owner of a slot that belongs to no request
ROWS = 128  # of the picture of memory over time
COLUMNS = 160
SPREAD = 0.8  # of the logarithm of a length: the longest of a hundred is about ten times the median


@dataclass(frozen=True, slots=True)
class Request:
    """One text.

    Args:
        arrival: the step at which it comes.
        prompt: tokens it brings.
        output: tokens it will be answered with, which nobody knows before.
    """

    arrival: int
    prompt: int
    output: int

    @property
    def length(self) -> int:
        """Tokens in the end."""
        return self.prompt + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """How requests come.

    Args:
        requests: how many.
        prompt, output: tokens on average, before they are cut to what is possible.
        every: steps between two of them, on average.
        longest: tokens of a prompt and its answer at most.
        seed: another one draws others.
    """

    requests: int = 60
    prompt: int = 32
    output: int = 64
    every: float = 3.0
    longest: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.requests, self.prompt, self.output) < 1 or self.longest < 2 or self.every <= 0:
            raise ValueError(
                f"requests={self.requests}, prompt={self.prompt}, output={self.output} must be 1 or more, "
                f"longest={self.longest} 2 or more, every={self.every} above 0"
            )


def request_trace(traffic: Traffic) -> tuple[Request, ...]:
    """Draw the requests: exponential pauses (a Poisson process), log-normal lengths, many short and a few long."""
    generator = np.random.default_rng(traffic.seed)
    pauses = generator.exponential(traffic.every, traffic.requests)
    arrivals = np.floor(np.cumsum(pauses) - pauses[0]).astype(int)  # the first comes at once
    prompts = np.minimum(_lengths(generator, traffic.prompt, traffic.requests), traffic.longest - 1)
    outputs = np.minimum(_lengths(generator, traffic.output, traffic.requests), traffic.longest - prompts)
    return tuple(
        Request(int(arrival), int(prompt), int(output))
        for arrival, prompt, output in zip(arrivals, prompts, outputs, strict=True)
    )


def _lengths(generator: np.random.Generator, mean: int, count: int) -> Float[ndarray, " request"]:
    """Log-normal lengths of this mean: exp of a normal whose mean is log(mean) - SPREAD^2 / 2; at least 1."""
    return np.maximum(1.0, np.round(generator.lognormal(np.log(mean) - SPREAD**2 / 2, SPREAD, count)))


class SlotRange(NamedTuple):
    """Slots start, start + 1, ..., start + size - 1."""

    start: int
    size: int


class Contiguous:
    """One piece for each request, in the first hole that is large enough; neighbouring holes become one."""

    def __init__(self, slots: int) -> None:
        self.holes = [SlotRange(0, slots)]  # by their start

    def take(self, slots: int) -> list[SlotRange] | None:
        """The front of the first hole that has so many slots; None where no hole is large enough."""
        for i, hole in enumerate(self.holes):
            if hole.size >= slots:
                rest = SlotRange(hole.start + slots, hole.size - slots)
                self.holes[i : i + 1] = [rest] if rest.size else []
                return [SlotRange(hole.start, slots)]
        return None

    def give_back(self, pieces: Iterable[SlotRange]) -> None:
        """Make holes of these pieces, joined with those they touch."""
        joined: list[SlotRange] = []
        for piece in sorted([*self.holes, *pieces]):
            if joined and joined[-1].start + joined[-1].size == piece.start:
                joined[-1] = SlotRange(joined[-1].start, joined[-1].size + piece.size)
            else:
                joined.append(piece)
        self.holes = joined


class Paged:
    """Blocks of one size, anywhere (arXiv:2309.06180, section 4.2); a table for each request says where they are."""

    def __init__(self, slots: int, block: int) -> None:
        self.block = block
        self.free = list(range(0, slots - block + 1, block))  # a heap: the lowest block goes first

    def take(self, slots: int) -> list[SlotRange] | None:
        """As many blocks as hold so many slots; None, and nothing is taken, where there are too few."""
        count = -(-slots // self.block)
        if count > len(self.free):
            return None
        return [SlotRange(heapq.heappop(self.free), self.block) for _ in range(count)]

    def give_back(self, pieces: Iterable[SlotRange]) -> None:
        """Make these blocks free for any request."""
        for piece in pieces:
            heapq.heappush(self.free, piece.start)


Allocator = Contiguous | Paged


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """The result of a trace.

    Args:
        slots: tokens that the memory has room for.
        counts: slots in each state after each step. FREE; TOKEN: holds a token; LATER: kept for a token that will
            come; NEVER: kept, but its request ends before (internal waste); STRANDED: free, in all enough for the
            request that waits, but not in one piece (external waste).
        running, waiting: requests after each step.
        evicted: how often a request lost its memory to an older one and had to be computed again.
        waited: steps until each request began.
        moments: the steps of the picture.
        picture: state of each part of the memory at these steps, that of most of its slots.
        owners: number of the request that its middle slot belongs to, modulo 255; 255 for nobody.
    """

    slots: int
    counts: Int[ndarray, "state step"]
    running: Int[ndarray, " step"]
    waiting: Int[ndarray, " step"]
    evicted: int
    waited: Int[ndarray, " request"]
    moments: Int[ndarray, " moment"]
    picture: UInt8[ndarray, "row moment"]
    owners: UInt8[ndarray, "row moment"]

    @property
    def steps(self) -> int:
        """The number of steps until the last request is answered."""
        return len(self.running)

    def share(self, *states: int) -> float:
        """The share of these states in the memory that is taken or stranded, over all steps."""
        return float(self.counts[list(states)].sum() / self.counts[TOKEN:].sum())


@dataclass(slots=True, eq=False)
class Seat:
    """A request that has memory: `written` of its tokens are in it."""

    number: int
    request: Request
    written: int
    pieces: list[SlotRange]

    def slot_of(self, token: int) -> int:
        """The slot of one of its tokens: the block table is asked, then the place in the block."""
        piece = self.pieces[token // self.pieces[0].size]
        return piece.start + token % piece.size

    def slots_of(self, first: int, last: int) -> list[slice]:
        """The slots of its tokens from `first` to before `last`; all pieces but the only one have the same size."""
        size, slots = self.pieces[0].size, []
        for i in range(first // size, -(-last // size)):
            start = self.pieces[i].start - i * size
            slots.append(slice(start + max(first, i * size), start + min(last, (i + 1) * size)))
        return slots

    @property
    def room(self) -> int:
        return len(self.pieces) * self.pieces[0].size


@dataclass(slots=True)
class Server:
    """The memory, who is in it and who waits."""

    policy: Policy
    longest: int
    allocator: Allocator
    state: UInt8[ndarray, " slot"]
    owner: UInt8[ndarray, " slot"]  # number of a request, modulo NOBODY
    seats: list[Seat] = field(default_factory=list)  # oldest first
    queue: deque[tuple[int, Request, int]] = field(default_factory=deque)  # number, request, tokens it had written
    began: dict[int, int] = field(default_factory=dict)  # number -> step
    evicted: int = 0

    def needed(self, request: Request, written: int) -> int:
        """Slots that a request must have to begin: the longest length, its own, or what is there and one more."""
        return {"reserve": self.longest, "exact": request.length, "paged": written + 1}[self.policy]

    def admit(self, now: int) -> None:
        """First come, first served: the first of the queue begins if there is room, then the next."""
        while self.queue:
            number, request, written = self.queue[0]
            pieces = self.allocator.take(self.needed(request, written))
            if pieces is None:
                return
            self.queue.popleft()
            seat = Seat(number, request, written, [])
            self._enter(seat, pieces)
            for place in seat.slots_of(0, written):
                self.state[place] = TOKEN
            self.began.setdefault(number, now)
            self.seats.append(seat)
            self.seats.sort(key=lambda other: other.number)

    def step(self) -> None:
        """Every request writes one token, the oldest first; where there is no block for it, the youngest goes."""
        for seat in list(self.seats):
            while seat in self.seats and seat.written == seat.room:
                pieces = self.allocator.take(1)
                if pieces is not None:
                    self._enter(seat, pieces)
                else:
                    self._evict(self.seats[-1])
            if seat in self.seats:
                self.state[seat.slot_of(seat.written)] = TOKEN
                seat.written += 1

    def finish(self) -> None:
        """Let the requests whose last token is written leave."""
        for seat in [seat for seat in self.seats if seat.written == seat.request.length]:
            self._leave(seat)

    def look(self) -> UInt8[ndarray, " slot"]:
        """The state of every slot; free ones are stranded when they would be enough for the first of the queue."""
        state = self.state.copy()
        if self.queue and int(np.bincount(state)[FREE]) >= self.needed(*self.queue[0][1:]):
            state[state == FREE] = STRANDED
        return state

    def _enter(self, seat: Seat, pieces: list[SlotRange]) -> None:
        before = seat.room if seat.pieces else 0
        seat.pieces += pieces
        for place in seat.slots_of(before, seat.room):
            self.state[place], self.owner[place] = NEVER, seat.number % NOBODY
        for place in seat.slots_of(before, min(seat.room, seat.request.length)):
            self.state[place] = LATER

    def _leave(self, seat: Seat) -> None:
        for place in seat.slots_of(0, seat.room):
            self.state[place], self.owner[place] = FREE, NOBODY
        self.allocator.give_back(seat.pieces)
        self.seats.remove(seat)

    def _evict(self, seat: Seat) -> None:
        """Its tokens are computed again once there is room: it is now the first of the queue."""
        self._leave(seat)
        self.queue.appendleft((seat.number, seat.request, seat.written))
        self.evicted += 1


def open_server(policy: Policy, slots: int, longest: int, block: int) -> Server:
    """A server with an empty memory."""
    allocator = Paged(slots, block) if policy == "paged" else Contiguous(slots)
    state, owner = np.full(slots, FREE, dtype=np.uint8), np.full(slots, NOBODY, dtype=np.uint8)
    return Server(policy, longest, allocator, state, owner)


def serve(server: Server, requests: Sequence[Request]) -> Iterator[None]:
    """Serve the requests step by step until all are answered; a pause in every step, after the tokens are written."""
    coming, now = deque(enumerate(requests)), 0
    while coming or server.queue or server.seats:
        while coming and coming[0][1].arrival <= now:
            number, request = coming.popleft()
            server.queue.append((number, request, request.prompt))
        server.admit(now)
        server.step()
        yield
        server.finish()
        now += 1


def run_trace(requests: Sequence[Request], policy: Policy, *, slots: int, longest: int, block: int) -> MemoryRun:
    """Serve a trace of requests; in each step, every request that has memory writes one token.

    "reserve": contiguous, the longest length for everyone, since nobody knows how long an answer gets. "exact":
    contiguous, just what the request will need, which only an oracle knows. "paged": a block at a time as the text
    grows; where there is none left, the youngest request gives its blocks up and is computed again later
    (arXiv:2309.06180, sections 4.2 to 4.5). A prompt is read in the step in which its request begins.

    Args:
        requests: in the order of their arrival.
        slots: tokens that the memory has room for.
        longest: no request is longer.
        block: tokens of one block.

    Raises:
        ValueError: a request that would never fit.
    """
    usable = slots // block * block if policy == "paged" else slots
    too_long = max(request.length for request in requests)
    if too_long > longest or longest > usable:
        raise ValueError(f"a request of {too_long} tokens, longest={longest}, must fit into {usable} usable slots")
    server = open_server(policy, slots, longest, block)
    states, owners, crowd = [], [], []
    for _ in serve(server, requests):
        states.append(server.look())
        owners.append(server.owner.copy())
        crowd.append((len(server.seats), len(server.queue)))
    waited = np.array([server.began[i] - request.arrival for i, request in enumerate(requests)], dtype=np.int64)
    return _result(slots, np.array(states), np.array(owners), np.array(crowd).T, server.evicted, waited)


def _result(
    slots: int,
    states: UInt8[ndarray, "step slot"],
    owners: UInt8[ndarray, "step slot"],
    crowd: Int[ndarray, "two step"],
    evicted: int,
    waited: Int[ndarray, " request"],
) -> MemoryRun:
    """Count the states, and look at some of the steps and at parts of the memory for the picture."""
    counts = np.stack([np.bincount(state, minlength=STATES) for state in states], axis=1)
    moments = np.unique(np.linspace(0, len(states) - 1, COLUMNS).round().astype(np.int64))
    part = max(1, slots // ROWS)
    rows = slots // part
    parts = states[moments, : rows * part].reshape(len(moments), rows, part)
    most = np.stack([(parts == kind).sum(-1) for kind in range(STATES)]).argmax(0)  # (moment, row)
    middle = owners[moments, : rows * part].reshape(len(moments), rows, part)[:, :, part // 2]
    picture, holders = np.ascontiguousarray(most.T.astype(np.uint8)), np.ascontiguousarray(middle.T)
    return MemoryRun(slots, counts, crowd[0], crowd[1], evicted, waited, moments, picture, holders)


def compare(traffic: Traffic, slots: int, block: int) -> dict[Policy, MemoryRun]:
    """The runs of one trace under each policy."""
    requests = request_trace(traffic)
    policies: tuple[Policy, ...] = ("reserve", "exact", "paged")
    longest = traffic.longest
    return {policy: run_trace(requests, policy, slots=slots, longest=longest, block=block) for policy in policies}
