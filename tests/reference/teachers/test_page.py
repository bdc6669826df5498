"""For teachers: what is said of a server is what was measured, and each lesson has its quiz, sheet and answers."""

import re
from pathlib import Path
from urllib.parse import parse_qs

from pages.lessons import LESSONS
from pages.ui import lesson_card
from tests.pages.visits import opened, run, said

ROOT = Path(__file__).parents[3]
FILE = "reference/teachers/page.py"


def links_of(test) -> list[tuple[str, str, dict[str, list[str]]]]:
    found = [e.proto for e in test.main if getattr(e, "type", "") == "page_link"]
    return [(link.label, link.page, parse_qs(link.query_string)) for link in found]


def test_the_load_is_the_one_that_was_measured():
    from pages.reference.teachers.page import LOAD, LOAD_MEASURED, MEMORY

    measured = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    table = measured.partition("<!-- bench load -->")[2].partition("<!-- /bench -->")[0]
    rows = {int(n): (int(half), int(most)) for n, half, most in re.findall(r"\| (\d+) \| (\d+), (\d+) \|", table)}
    assert {count: rows[count] for count in LOAD} == LOAD
    assert LOAD_MEASURED in table
    hosting = (ROOT / "deploy" / "README.md").read_text("utf-8")
    assert all(f"{size:g} GB" in hosting for size in MEMORY.values())


def test_a_class_gets_one_link_for_each_lesson():
    test = opened(FILE)
    test.slider(key="class").set_value(77)
    found = links_of(run(test))
    for lesson in LESSONS.values():
        mine = {label: view for label, _, view in found if view.get("course") == [lesson_card.title(lesson)]}
        assert list(mine) == ["Quiz", "Sheet", "With answers", "Five before and after"]
        assert all(view["round"] == ["77"] for view in mine.values())
        assert [mine["With answers"][name] for name in ("sheet", "solved")] == [["true"], ["true"]]
        assert f"{lesson.minutes} minutes" in said(test, "markdown")


def test_half_of_the_changes_are_said_in_seconds():
    assert "25 at once 1.6 s" in said(opened(FILE), "markdown")
