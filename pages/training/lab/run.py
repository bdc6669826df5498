"""A run of the lab on its page: which one a visitor looks at, its way into the link, the bar that starts, pauses, steps
and stops it, and the way of its model to the other pages."""

import re
from collections.abc import Callable
from typing import Literal

import streamlit as st

from pages.ui import keys, links, notices, text
from pages.ui.loading import models, run_models
from pages.ui.work import jobs, run_settings, runs
from pages.ui.work.run_records import ACTIVE, RefusedError, Seen
from tfcore.training.lab.model_file import packed
from tfcore.training.lab.setting_words import difference
from tfcore.training.lab.spec import LabSpec
from tfcore.views.training import lab as views

RUN = "_lab_run"  # in the session: the run that is looked at
MINE = "_lab_runs"  # in the session: the visitor's own
BEGIN = "begin"  # in the session: a button to try wants a training to begin
REFUSED = "_lab_refused"  # in the session: why none was started
FIRST = 2.5  # seconds for which the first look at a run is waited for
REMEMBERED = 6  # runs of a visitor in the comparison
WIDTH = 76  # of a button, whatever it says: four of them fit a phone
STORED = "A stored run of these settings, until the one that is trained here has something to show."
GONE = "The server no longer has the run of this link; its settings are here, and Start trains it again"
_ID = re.compile(r"[\w-]{16}", re.ASCII)


def present(now: LabSpec | str, may_wait: bool) -> Seen | None:
    """The run that is looked at: that of the link, else this visitor's last one, else the one that everybody is
    shown for these settings.

    Args:
        may_wait: for its first look, even where a stored run of these settings can be shown until then.
    """
    if links.address_decides("run") and (name := links.asked("run")) is not None:
        _open(name)
    links.mark_seen("run")
    if st.session_state.pop(BEGIN, False) and isinstance(now, LabSpec):
        begin(now)
    seen = runs.RUNS.look(st.session_state.get(RUN, ""))
    if seen is None and st.session_state.get(RUN) in st.session_state.get(MINE, []):
        notices.add("run", GONE)
    if seen is None and isinstance(now, LabSpec) and not is_closed():
        seen = _shown_to_all(now)
    stored = isinstance(now, LabSpec) and now in views.stored_runs()
    if seen is not None and seen.look is None and seen.moving and (may_wait or not stored):
        runs.RUNS.wait(seen.name, FIRST)
        seen = runs.RUNS.look(seen.name)
    _write(seen, now)
    return seen


def is_closed() -> bool:
    """Whether nothing is trained on this server."""
    return run_settings.read().runs == 0


def _open(name: str) -> None:
    """The run that a link names, and those it compares it with."""
    if _ID.fullmatch(name) and (seen := runs.RUNS.look(name)) is not None:
        st.session_state[RUN] = name
        if not seen.shared:
            remember(name)
    else:
        st.session_state.pop(RUN, None)
        notices.add("run", GONE)
    for other in (links.asked("with") or "")[:200].split("."):
        if _ID.fullmatch(other) and runs.RUNS.look(other) is not None:
            remember(other)


def _shown_to_all(now: LabSpec) -> Seen | None:
    try:
        st.session_state[RUN] = runs.RUNS.example(now)
    except RefusedError as refused:
        st.session_state[REFUSED] = str(refused)
        return None
    return runs.RUNS.look(st.session_state[RUN])


def _write(seen: Seen | None, now: LabSpec | str) -> None:
    """The link names the run, unless it is everybody's with these settings: that one follows from them."""
    name = seen.name if seen is not None and not (seen.shared and seen.spec == now) else ""
    others = [other for other in mine() if seen is None or other != seen.name]
    for key, value in (("run", name), ("with", ".".join(others))):
        if value and st.query_params.get_all(key) != [value]:
            st.query_params[key] = value
        elif not value and key in st.query_params:
            del st.query_params[key]
    if name:
        notices.drop("run")


def mine() -> list[str]:
    """Ids of this visitor's runs that the server still has, the oldest first."""
    names: list[str] = st.session_state.setdefault(MINE, [])
    names[:] = [name for name in names if runs.RUNS.look(name) is not None][-REMEMBERED:]
    return list(names)


def remember(name: str) -> None:
    names: list[str] = st.session_state.setdefault(MINE, [])
    if name not in names:
        names.append(name)


# ---- what the buttons do ----


def begin(spec: LabSpec, running: bool = True) -> None:
    """A new run with these settings."""
    before = st.session_state.get(RUN, "")
    st.session_state.pop(REFUSED, None)
    if is_closed():
        return
    try:
        name = runs.RUNS.start(spec, jobs.visitor(), instead=before, running=running)
    except RefusedError as refused:
        st.session_state[REFUSED] = str(refused)
        return
    st.session_state[RUN] = name
    remember(name)
    links.mark_seen("run")


def _press(what: str, spec: LabSpec | None, name: str) -> None:
    if what == "start" and spec is not None:
        begin(spec)
    elif what == "reset" and spec is not None:
        begin(spec, running=False)
    elif what == "first step" and spec is not None:
        begin(spec, running=False)
        runs.RUNS.one_step(st.session_state.get(RUN, ""))
    else:
        {"pause": runs.RUNS.pause, "go on": runs.RUNS.go_on, "stop": runs.RUNS.stop, "step": runs.RUNS.one_step}[what](
            name
        )


def bar(seen: Seen | None, now: LabSpec | str) -> None:
    """Start or pause, one step, stop, reset. It never moves, and stands outside of what is drawn again and again."""
    spec = now if isinstance(now, LabSpec) else None
    name = seen.name if seen is not None else ""
    own = seen is not None and not seen.shared
    same = seen is not None and spec == seen.spec
    first = "start"
    if seen is not None and own and seen.active:
        first = "pause"
    elif seen is not None and own and same and seen.state == "paused":
        first = "go on"
    words = {"start": "Start", "pause": "Pause", "go on": "Go on"}
    rests = seen is not None and own and seen.state in (*ACTIVE, "paused")
    step = "step" if rests and (same or (seen is not None and seen.active)) else "first step"
    with st.container(horizontal=True, key="lab_bar"):
        for label, key, what, off in (
            (words[first], "main", first, first == "start" and spec is None),
            ("Step", "step", step, spec is None),
            ("Stop", "stop", "stop", not rests),
            ("Reset", "reset", "reset", spec is None),
        ):
            kind: Literal["primary", "secondary"] = "primary" if key == "main" else "secondary"
            st.button(
                label,
                key=keys.own("button", f"lab {key}"),
                on_click=_press,
                args=(what, spec, name),
                disabled=off,
                type=kind,
                width=WIDTH,
            )


def state(seen: Seen | None) -> None:
    """How far the run is."""
    steps = seen.spec.steps if seen is not None else 1
    st.progress(min(1.0, seen.step / steps) if seen is not None else 0.0, progress(seen))


def progress(seen: Seen | None) -> str:
    """How far a run is, with its place in the queue."""
    if seen is None:
        return st.session_state.get(REFUSED, "") or "Nothing is trained yet"
    done = f"step {seen.step:,} of {seen.spec.steps:,}"
    states: dict[str, str] = {
        "waiting": f"Place {seen.ahead + 1} in the queue, at {done}: {seen.others} in training now, "
        f"{runs.RUNS.book.limits.turn:.0f} seconds each in turn",
        "running": f"Training: {done}, {seen.seconds:.0f} s",
        "paused": f"Paused at {done}",
        "done": f"Done: {seen.spec.steps:,} steps in {seen.seconds:.0f} s",
        "stopped": f"Stopped at {done}",
        "failed": f"Ended at {done}",
    }
    problem = f". {seen.problem}" if seen.problem else ""
    return text.escape(states[seen.state] + problem)


def whose(seen: Seen | None, now: LabSpec | str) -> str:
    """Whose run this is, and how the settings beside it differ from it."""
    if refused := st.session_state.get(REFUSED):
        return text.escape(refused)
    if isinstance(now, str):
        return f"These settings cannot be trained: {now}."
    if seen is None:
        return "Start trains a model with these settings."
    if changed := difference(seen.spec, now):
        return text.escape(f"The run shown has other settings; yours: {changed}. Start trains with yours.")
    if seen.shared:
        return "A run of these settings, trained here for everybody; Start trains your own."
    limits = runs.RUNS.book.limits
    return (
        "Your run; whoever has this link sees it and can pause and stop it. Where nobody looks, it is paused after "
        f"{limits.unwatched / 60:.0f} minutes and dropped after {limits.forgotten / 60:.0f}."
    )


# ---- the trained model ----


def keep(seen: Seen) -> None:
    """Downloads, and links to pages that show this very model."""
    step = runs.RUNS.freeze(seen.name)
    if step is None or seen.curves is None:
        gone = "Its numbers left all bounds, so there is no model to keep: take a lower learning rate."
        later = "When it pauses or ends, the model can be downloaded here and opened on the other pages."
        st.caption(gone if seen.state == "failed" else later)
        return
    name = run_models.name_of(seen.name, step)
    models.remember(name)
    tokens = run_models.model(name)
    example = "".join(tokens[1].tokens(seen.look.ids[: seen.look.start].tolist())) if tokens and seen.look else ""
    whole = "".join(tokens[1].tokens(seen.look.ids.tolist())) if tokens and seen.look else ""
    with st.container(horizontal=True, vertical_alignment="center", key="lab_keep"):
        st.caption(f"The model of step {step:,}:", width="content")
        st.download_button(
            "Download",
            _files(seen.name, step),
            "trained.zip",
            "application/zip",
            key=keys.own("download_button", "lab files"),
            on_click="ignore",
            icon=":material/download:",
            help="model.safetensors, config.json, tokenizer.json, settings.json, "
            "curves.csv: a folder that tfcore.load reads",
        )
        links.to("foundations/heads/page.py", {"model": name, "text": whole}, "its heads")
        links.to("inside/induction/page.py", {"model": name}, "its induction heads")
        links.to("inference/generation/page.py", {"model": name, "text": example}, "let it write")
    st.caption("It is on the list of models of every page that suits it, for you and for whoever has such a link.")


def _files(run: str, step: int) -> Callable[[], bytes]:
    """The files that the button gives, made when it is pressed."""

    def make() -> bytes:
        kept, seen = runs.RUNS.weights(run, step), runs.RUNS.look(run)
        if kept is None or seen is None or seen.curves is None:
            return b""
        return packed(kept.spec, kept.state, views.course(seen.spec, so_far=seen.curves).csv())

    return make
