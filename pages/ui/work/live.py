"""A training, or other long work, that a page watches: it begins by itself, its pictures grow, a button stops it. What
is stored is shown at once, and made here where a button asks for it.

job = live.begin(config, lambda: train(config))
live.watch(config, draw, job)          # draw(job) runs again and again while there is more to come
live.bar(config, job, done, total)     # in draw: how far it is, and the button
live.watch_training(...)               # all of this for a training with a bar in one place and pictures in another

Other work than that of JOBS, such as a run of the lab, is watched by `follow`.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import controls, fragments, keys, streamlit_internals
from pages.ui.session import session
from pages.ui.work import jobs
from pages.ui.work.registry import Snapshot
from tfcore.views.view import View

EVERY = 0.7  # seconds between two looks at a training
FAINT = "Faint: the stored run of these settings."
FIRST = 2.0  # seconds that a page waits at most for the first look
Seen = TypeVar("Seen", bound=Snapshot | None)


def begin(
    key: Hashable, work: jobs.Work, patience: float = float("inf"), wait: float = FIRST, stored: Sequence[Any] = ()
) -> jobs.Job:
    """The job of this key: begun unless it was stopped here, or is stored and nobody asked for it here; see jobs.start.

    Args:
        wait: seconds to wait at most until there is something to show.
        stored: what it yielded elsewhere.
    """
    if stored and session().live_job != key:
        return jobs.Job("stored", items=tuple(stored))
    if session().stopped_job == key:
        return jobs.JOBS.look(key, jobs.visitor()) or jobs.Job("stopped")
    job = jobs.JOBS.start(key, work, jobs.visitor(), patience, streamlit_internals.leaving())
    if job.active and not job.items:
        jobs.JOBS.wait(key, 1, wait)
    return jobs.JOBS.look(key, jobs.visitor()) or job


def watch(key: Hashable, draw: Callable[[jobs.Job], None], job: jobs.Job, every: float = EVERY) -> None:
    """Draw the job as it is now, and again by itself, every so many seconds, while there is more to come."""
    if job.state == "stored":
        draw(job)
        return
    follow(lambda: jobs.JOBS.look(key, jobs.visitor()) or jobs.Job("refused"), draw, job.active, every)


def watch_training(
    config: Any,
    work: jobs.Work,
    step_of: Callable[[Any], int],
    again: dict[str, Any],
    places: tuple[DeltaGenerator, DeltaGenerator],
    show: Callable[[list[Any]], None],
    patience: float = float("inf"),
    stored: Sequence[Any] = (),
) -> None:
    """Begin a training and draw it as it grows: the bar in the first of the places, its pictures in the second.

    Args:
        config: the key of the job; its `steps` are how many there will be.
        step_of: how many steps were done when a result came.
        again: controls to set for another one.
        show: draws the results there are, at least one.
        stored: see begin.
    """
    beside, picture = places

    def draw(job: jobs.Job) -> None:
        items = list(job.items)
        with beside:
            bar(config, job, step_of(items[-1]) if items else 0, config.steps, again)
        with picture:
            if items:
                show(items)
            else:
                st.info("Nothing is trained yet: it begins as soon as there is room.")

    watch(config, draw, begin(config, work, patience, stored=stored))


def watch_measurement(
    key: Hashable,
    work: jobs.Work,
    total: int,
    places: tuple[DeltaGenerator, DeltaGenerator],
    show: Callable[[list[Any]], object],
    again: dict[str, Any] | None = None,
) -> None:
    """Begin a measurement of so many points and draw it as they come: the bar in the first of the places, its pictures
    in the second.

    Args:
        show: draws the points there are; none at first.
        again: controls to set for another one; None offers no other.
    """
    beside, picture = places

    def draw(job: jobs.Job) -> None:
        fresh = "Measure again" if again else ""
        with beside:
            bar(key, job, len(job.items), total, again or {}, work="measurement", step="point", fresh=fresh)
        with picture:
            show(list(job.items))

    watch(key, draw, begin(key, work))


def over_stored(make: Callable[[list[Any]], View], items: list[Any], stored: Sequence[Any], words: str = FAINT) -> View:
    """The picture of a training, over the faint lines of the stored one unless it is that one.

    Args:
        make: the picture of what there is of a training.
        items: what there is of this one.
        stored: all of the stored one; nothing where none is.
        words: what the faint lines are.
    """
    now = make(items)
    return now.over(make(list(stored)), words) if stored and items[-1] is not stored[-1] else now


def stored_or_here(
    config: Any,
    stored: Any,
    train: Callable[[Any], Iterator[Any]],
    step_of: Callable[[Any], int],
    again: dict[str, Any],
    places: tuple[DeltaGenerator, DeltaGenerator],
    show: Callable[..., None],
) -> None:
    """A training that ships, or one made here and now: the frame of every page that trains networks alike.

    Args:
        config: of the training made here; None shows the one that ships, and a sentence says why there is none.
        stored: what `show` draws of the one that ships.
        train: makes it of its config.
        step_of, again, places: see watch_training.
        show: show(stored), or show(config, results) of a training made here.
    """
    if isinstance(config, str):
        places[1].info(config)
    elif config is None:
        with places[1]:
            show(stored)
    else:
        watch_training(config, lambda: train(config), step_of, again, places, lambda results: show(config, results))


def follow(look: Callable[[], Seen], draw: Callable[[Seen], None], moving: bool, every: float) -> None:
    """Draw some work as `look` finds it, and again by itself, every so many seconds, while there is more to come.

    Args:
        look: the work as it is now; None where it is no longer known.
        moving: whether there was more to come when the page looked; once there is not, the whole page runs again.
    """
    fragments.fragment(_follow, run_every=every if moving else None)(look, draw, moving)


def _follow(look: Callable[[], Seen], draw: Callable[[Seen], None], was_moving: bool) -> None:
    seen = look()
    wanted, session().whole_run_wanted = session().whole_run_wanted, False
    if wanted or (was_moving and (seen is None or not seen.moving)):
        st.rerun()  # the whole page, which then begins something, or looks no more
    if was_moving:
        session().default_view_of = None  # what is half done is no figure for others to begin with
    draw(seen)


def bar(
    key: Hashable,
    job: jobs.Job,
    done: int,
    total: int,
    again: dict[str, Any],
    *,
    work: str = "training",
    step: str = "step",
    fresh: str = "Another seed",
    rate: bool = False,
) -> None:
    """How far the job is, and a button that stops it, begins it anew, or, once it is done, sets controls to `again`;
    it never moves.

    Args:
        work, step: what it is, and what it is made of, as single words.
        fresh: what the button says once it is done; nothing: there is none.
        rate: whether to say how many steps a second there were.
    """
    pace = f", {done / job.seconds:.1f} a second" if rate and done and job.seconds > 0 else ""
    said = {
        "waiting": f"Waiting: other work is running, {job.turn(f'this {work}')}",
        "running": f"{step.capitalize()} {done} of {total}, {job.seconds:.0f} s{pace}",
        "done": f"{done} {step}s in {job.seconds:.1f} s{pace}",
        "stopped": f"Stopped at {step} {done} of {total}",
        "failed": f"The {work} failed: {job.problem}",
        "refused": f"Too much work waits on this server; try this {work} again in a minute",
        "stored": f"A stored {work} of {total} {step}s",
    }
    st.progress(min(done / total, 1.0), said[job.state])
    if job.active:
        st.button("Stop", key=keys.own("button", "stop"), on_click=_stop, args=(key,), width="stretch")
    elif job.state == "stored":
        here = "Train it here" if work == "training" else "Run it here"
        st.button(here, key=keys.own("button", "here"), on_click=_make_here, args=(key,), width="stretch")
    elif job.state == "done" and not fresh:
        pass
    elif job.state == "done":
        st.button(fresh, key=keys.own("button", "again"), on_click=_go_on, args=(key,), kwargs=again, width="stretch")
    else:
        name = "Train again" if work == "training" else "Begin again"
        st.button(name, key=keys.own("button", "anew"), on_click=_go_on, args=(key,), width="stretch")


def _make_here(key: Hashable) -> None:
    session().live_job, session().stopped_job = key, None


def _stop(key: Hashable) -> None:
    session().stopped_job = key
    jobs.JOBS.stop(key, jobs.visitor())


def set_values(**values: Any) -> None:
    """Set controls that stand outside of what is watched, from a click inside: the whole page then runs again."""
    controls.set_values(**values)
    session().whole_run_wanted = True


def _go_on(key: Hashable, /, **values: Any) -> None:
    """Begin anew, with these values of controls."""
    jobs.JOBS.stop(key, jobs.visitor())  # one that failed before this visitor's eyes stays as it is until then
    set_values(**values)
    session().stopped_job = None
