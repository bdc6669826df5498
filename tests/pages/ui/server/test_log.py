"""Nobody words a line of the log but the app: whatever is in a message, further lines are marked and nothing moves."""

import logging
import re
import sys
import threading
from pathlib import Path

import pytest
import streamlit as st

from pages.ui.server import log
from pages.ui.work.jobs import Jobs
from tests.architecture.sources import ROOT

FORGED = "2026-11-26 12:00:00 INFO: all is well"
HOSTILE = f"no\n{FORGED}\r{FORGED}\x1b[2J\x1b]0;title\x07\x85{FORGED}\u2028{FORGED}\u202e\ud800\x00\t."


@pytest.fixture
def written(monkeypatch, capsys):
    """Tells what was written down."""
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    before = logging.getLogRecordFactory()
    log.install()
    yield lambda: capsys.readouterr().err
    logging.setLogRecordFactory(before)


def harmless(said: str) -> bool:
    lines = said.splitlines()
    return len(lines) > 1 and all(line.isprintable() and not line.startswith("2026") for line in lines)


def raising():
    raise ValueError(HOSTILE)


def by_the_app():
    log.write(HOSTILE)


def by_a_job():
    jobs = Jobs(running=1)
    jobs.start("key", lambda: (raising() for _ in "a"), "visitor")
    jobs.wait("key", 1, 10)


def by_a_thread():
    thread = threading.Thread(target=raising)
    thread.start()
    thread.join()


def by_logging(*values, **more):
    logger = logging.getLogger("test_log")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.addHandler(handler)
    logger.error(*values, **more)
    logger.removeHandler(handler)


def by_a_library():
    by_logging("failed: %s", HOSTILE)


def by_streamlit():
    """As it writes down what ends a page."""
    try:
        raising()
    except ValueError as problem:
        by_logging("Uncaught app execution", exc_info=problem)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("say", [by_the_app, by_a_job, by_a_thread, by_a_library, by_streamlit])
def test_a_message_begins_no_line_of_its_own(written, say):
    say()
    said = written()
    assert harmless(said)
    assert said.count(FORGED) >= 4, "what was said is there"


def test_a_message_has_an_end(written):
    log.write("x" * 10**7)
    assert len(written()) <= log.LONGEST + 1


def test_what_prints_stays_as_it_is():
    assert log.escaped("Ωмир 猫🐱 'a' \\n\n") == "Ωмир 猫🐱 'a' \\n"


def test_there_is_one_place_that_writes():
    sources = [ROOT / "app.py", *(ROOT / "pages").rglob("*.py")]
    writers = [path for path in sources if re.search(r"\bstderr\b|print_exc", path.read_text("utf-8"))]
    assert writers == [Path(log.__file__)]
    assert st.get_option("logger.enableRich") is False
