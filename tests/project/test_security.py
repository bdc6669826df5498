"""What SECURITY.md promises is held by tests that are there."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
PROMISES = [line.strip("| ").split(" | ") for line in TEXT.splitlines() if line.startswith("| ")][1:]


def named(text: str) -> list[str]:
    """The files that a text names."""
    return re.findall(r"`((?:[\w.@-]+/)+[\w.@-]+\.\w+)`", text)


def test_every_file_that_is_named_is_there():
    found = named(TEXT)
    assert len(found) > 20
    assert [name for name in found if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise[0])
def test_a_promise_names_the_tests_that_hold_it(promise):
    against, how, where = promise
    assert against
    assert how
    tests = named(where)
    assert tests
    assert re.sub(r"`[^`]+`", "", where).strip(", ") == "", "nothing but files"
    for name in tests:
        assert name.startswith("tests/")
        assert re.search(r"^def test_", (ROOT / name).read_text("utf-8"), re.MULTILINE), name


def test_a_visitor_sees_no_traceback_and_no_words_of_an_error():
    def broken() -> None:
        raise ValueError("the secret of /home/somebody")

    (shown,) = AppTest.from_function(broken).run().exception
    assert "secret" not in shown.message + "".join(shown.stack_trace)
    assert "broken" not in "".join(shown.stack_trace)
    assert "This app has encountered an error" in shown.message


def test_under_systemd_the_app_is_a_user_of_its_own_that_may_write_nowhere_else():
    unit = (ROOT / "deploy" / "transformer-explorer@.service").read_text("utf-8").splitlines()
    wanted = (
        "DynamicUser=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
    )
    assert [line for line in wanted if line not in unit] == []
    assert not [line for line in unit if line.startswith(("User=", "ReadWritePaths=", "AmbientCapabilities="))]
