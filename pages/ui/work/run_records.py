"""What the server keeps of a run of the lab, what a page is told of it, and what runs may take."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Literal

from tfcore.analysis.training.training_runs import Curves, Look
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.train import Slice

State = Literal["waiting", "running", "paused", "done", "stopped", "failed"]
ACTIVE: tuple[State, ...] = ("waiting", "running")
FROZEN = 2  # steps of a run whose weights other pages show
NOBODY = ""  # whose run it is that everybody is shown


class RefusedError(Exception):
    """No run was started; one sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What runs may take; times in seconds.

    Args:
        slice: of training, between two looks at a run.
        turn: of training, after which a run gives its place to one that waits.
        run: of training, after which a run ends.
        unwatched, forgotten: after which a run that nobody looks at is paused, and let go of.
        idle: after which workers without work are closed.
        pulse: between two looks for what nobody looks at.
        waiting, place: runs that may wait, however few are trained at once; and for each that is.
        each, kept: runs that one visitor has; that rest.
        memory: bytes of all that is kept.
        tries: how often a slice that did not come back is given out again.
    """

    slice: float = 0.5
    turn: float = 20.0
    run: float = 900.0
    unwatched: float = 300.0
    forgotten: float = 3_600.0
    idle: float = 120.0
    pulse: float = 5.0
    waiting: int = 60
    place: int = 4
    each: int = 8
    kept: int = 400
    memory: int = 400_000_000
    tries: int = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """A run at this moment.

    Args:
        ahead, others: while it waits: how many go before it, and how many are training.
        seconds: of training until now.
        problem: one sentence, where it ended before its last step.
        shared: it is shown to everybody, and nobody may stop it.
        away: a slice of it is still being trained, though it may be paused.
    """

    name: str
    spec: LabSpec
    state: State
    step: int
    curves: Curves | None
    look: Look | None
    ahead: int
    others: int
    seconds: float
    problem: str
    shared: bool
    away: bool

    @property
    def active(self) -> bool:
        """Whether it trains, or waits to."""
        return self.state in ACTIVE

    @property
    def moving(self) -> bool:
        """Whether there is more to come by itself: also the last slice of a run that was just paused."""
        return self.active or self.away


@dataclass(slots=True, eq=False)
class Run:
    """A run, as the server keeps it; see Seen for what a page is told."""

    name: str
    spec: LabSpec
    visitor: str
    looked: float
    state: State = "paused"
    step: int = 0
    kept: bytes | None = None
    curves: Curves | None = None
    look: Look | None = None
    seconds: float = 0.0
    turn: float = 0.0  # seconds trained since it got its place
    allowed: int | None = None  # steps until it pauses; None: all
    away: bool = False  # a slice of it is being trained
    lost: int = 0  # slices in a row that did not come back
    problem: str = ""
    frozen: OrderedDict[int, bytes] = field(default_factory=OrderedDict)  # step -> weights that other pages show

    @property
    def nbytes(self) -> int:
        parts = (len(self.kept or b""), self.curves.nbytes if self.curves else 0, self.look.nbytes if self.look else 0)
        return sum(parts) + sum(len(state) for state in self.frozen.values() if state is not self.kept)

    def seen(self, ahead: int, others: int) -> Seen:
        """The run as it is now."""
        return Seen(
            self.name,
            self.spec,
            self.state,
            self.step,
            self.curves,
            self.look,
            ahead,
            others,
            self.seconds,
            self.problem,
            self.visitor == NOBODY,
            self.away,
        )

    def took(self, got: Slice) -> None:
        """What a slice left."""
        self.step, self.kept, self.look, self.lost = got.step, got.state or None, got.look, 0
        self.curves = got.curves if self.curves is None else self.curves.then(got.curves)
        self.seconds, self.turn = self.seconds + got.seconds, self.turn + got.seconds

    def freeze(self) -> int | None:
        """Keep the weights, for other pages: the step they are of, None while there is more to come."""
        if self.kept is None or self.state in ACTIVE or self.away:
            return None
        self.frozen[self.step] = self.kept
        while len(self.frozen) > FROZEN:
            self.frozen.popitem(last=False)
        return self.step
