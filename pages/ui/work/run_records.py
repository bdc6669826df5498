"""A run of the lab as the server keeps it and as a page sees it, and the limits of runs."""

from collections import OrderedDict
from dataclasses import dataclass, field

from pages.ui.work.registry import ACTIVE, Record, Snapshot
from pages.ui.work.registry import RefusedError as RefusedError
from tfcore.training.lab.curves import Curves, Evaluation
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.train import Slice

FROZEN = 2  # steps of a run whose weights other pages show
NOBODY = ""  # whose run it is that everybody is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on what runs may take; times in seconds.

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
        overdue: after which a slice that is not back may have been lost on its way.
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
    overdue: float = 60.0


@dataclass(frozen=True, eq=False)
class Frozen:
    """The weights of a run at one step. What is built of them is kept no longer than they are (run_models.py)."""

    spec: LabSpec
    state: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen(Snapshot):
    """A run at this moment.

    Args:
        others: while it waits: how many are training.
        shared: it is shown to everybody, and nobody may stop it.
        away: a slice of it is still being trained, though it may be paused.
    """

    name: str
    spec: LabSpec
    step: int
    curves: Curves | None
    look: Evaluation | None
    others: int
    shared: bool
    away: bool

    @property
    def moving(self) -> bool:
        """Whether there is more to come by itself: also the last slice of a run that was just paused."""
        return self.active or self.away


@dataclass(slots=True, eq=False, kw_only=True)
class Run(Record):
    """A run, as the server keeps it; see Seen for what a page is told.

    Args:
        turn: seconds trained since it got its place.
        allowed: steps until it pauses; None: all.
        away: a slice of it is being trained.
        given: when that was given out, by the monotonic clock.
        lost: slices in a row that did not come back.
        frozen: step -> weights that other pages show.
    """

    spec: LabSpec
    visitor: str
    step: int = 0
    kept: bytes | None = None
    curves: Curves | None = None
    look: Evaluation | None = None
    turn: float = 0.0
    allowed: int | None = None
    away: bool = False
    given: float = 0.0
    lost: int = 0
    frozen: OrderedDict[int, Frozen] = field(default_factory=OrderedDict)

    @property
    def name(self) -> str:
        """Its id, by which whoever has it may look, pause, step and stop."""
        return str(self.key)

    @property
    def yields(self) -> bool:
        """Whether the run makes way for those that somebody asked for."""
        return self.visitor == NOBODY

    @property
    def nbytes(self) -> int:
        parts = (len(self.kept or b""), self.curves.nbytes if self.curves else 0, self.look.nbytes if self.look else 0)
        return sum(parts) + sum(len(one.state) for one in self.frozen.values() if one.state is not self.kept)

    def seen(self, ahead: int, others: int) -> Seen:
        """The run as it is now."""
        return Seen(
            state=self.state,
            ahead=ahead,
            seconds=self.seconds,
            problem=self.problem,
            name=self.name,
            spec=self.spec,
            step=self.step,
            curves=self.curves,
            look=self.look,
            others=others,
            shared=self.visitor == NOBODY,
            away=self.away,
        )

    def took(self, got: Slice) -> None:
        """Keep the result of a slice."""
        self.step, self.kept, self.look, self.lost = got.step, got.state or None, got.look, 0
        self.curves = got.curves if self.curves is None else self.curves.then(got.curves)
        self.seconds, self.turn = self.seconds + got.seconds, self.turn + got.seconds

    def freeze(self) -> int | None:
        """Keep the weights, for other pages: the step they are of, None while there is more to come."""
        if self.kept is None or self.state in ACTIVE or self.away:
            return None
        if self.step not in self.frozen:
            self.frozen[self.step] = Frozen(self.spec, self.kept)
        while len(self.frozen) > FROZEN:
            self.frozen.popitem(last=False)
        return self.step
