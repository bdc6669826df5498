"""Lessons in Chromium: walked by keys alone, with what each stop speaks of ringed; presented, and on a phone."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from pages.facts import pages
from pages.lessons import FIRST, LESSONS, reading_time
from pages.lessons.lesson import Lesson
from pages.ui import lesson_card
from tests.e2e.test_every_page import PHONE
from tests.e2e.visitor import Visitor
from tests.nightly import nightly

# All that is spoken of and the ring around it. What fits is wholly in the window and not under the card, what does not
# begins there.
RINGED = """target => {
  const boxes = target.split(", ").map(one => document.querySelector(one)?.getBoundingClientRect()).filter(Boolean)
  const ring = document.querySelector(".tf-lesson-ring")?.getBoundingClientRect()
  const card = document.querySelector(".st-key-lesson_card")?.getBoundingClientRect()
  if (!boxes[0]?.width || !ring || !card) return false
  const { left, top, right, bottom } = boxes[0]
  const end = left < card.right && card.left < right ? card.top : innerHeight
  const fits = bottom - top <= end - 72
  return Math.abs(Math.min(...boxes.map(one => one.left)) - ring.left) < 12
    && Math.abs(Math.min(...boxes.map(one => one.top)) - ring.top) < 12
    && top >= 60 && (fits ? bottom <= end : top <= 73)
}"""

# The card is at the left edge, and what is spoken of right of it.
BESIDE = """target => {
  const card = document.querySelector(".st-key-lesson_card")?.getBoundingClientRect()
  const left = document.querySelector(target.split(", ")[0])?.getBoundingClientRect().left
  return card && card.left === 0 && card.right <= left
}"""
# The words of the card, and of what there is to see.
READ = """() => {
  const all = [...document.querySelectorAll('[data-testid="stMain"] p')]
  const see = all.find(one => one.innerText.startsWith("What to see."))
  const card = document.querySelector(".st-key-lesson_words")
  return [card, see].reduce((sum, one) => sum + (one?.innerText.match(/\\S+/g) ?? []).length, 0)
}"""
DESKTOP = {"viewport": {"width": 1280, "height": 720}}
CARD = ".st-key-lesson_card"


def seen(visitor: Visitor, lesson: Lesson, number: int) -> None:
    """The stop is there: its card, its page, and what it rings."""
    stop = lesson.stops[number - 1]
    expect(visitor.page.locator(CARD)).to_contain_text(f"{number} of {len(lesson.stops)}", timeout=60_000)
    visitor.settle(stop.question)
    visitor.wait_until(RINGED, stop.ringed)


def walk(visitor: Visitor, lesson: Lesson, stops: int) -> int:
    """So many stops of a lesson by keys alone: the answer to each question, and on. Returns how many words they have,
    without those that their pages begin with."""
    words = 0
    visitor.open(f"/{lesson.stops[0].page}?{urlencode(lesson_card.address(lesson, 1))}")
    for number in range(1, stops + 1):
        seen(visitor, lesson, number)
        visitor.page.keyboard.press("a")
        expect(visitor.page.locator(CARD)).to_contain_text("Here:", timeout=60_000)
        words += visitor.page.evaluate(READ)
        if number < stops:
            visitor.page.keyboard.press("ArrowRight")
    visitor.page.keyboard.press("ArrowLeft")
    seen(visitor, lesson, stops - 1)
    kept = visitor.page.evaluate("() => JSON.parse(localStorage.getItem('tf-lessons'))")
    assert kept[lesson.key] == [stops - 1, stops]
    return words


def test_a_lesson_begins_and_ends_by_keys_and_a_button(visitor):
    walk(visitor, LESSONS[FIRST], 3)
    visitor.page.get_by_role("button", name="End", exact=True).click()
    expect(visitor.page.locator(CARD)).to_have_count(0)
    expect(visitor.page.locator(".tf-lesson-ring")).to_have_count(0)
    visitor.check()


@nightly
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("lesson", LESSONS.values(), ids=lambda lesson: lesson.key)
def test_a_lesson_is_walked_by_keys_alone(visit, server, lesson, size):
    visitor = visit(server, **size)
    words = walk(visitor, lesson, len(lesson.stops))
    ways = zip(("", *(one.page for one in lesson.stops)), (one.page for one in lesson.stops), strict=False)
    begin = [pages()[there].facts for before, there in ways if there != before]
    words += sum(len(f"{one.question} {one.claim}".split()) for one in begin)
    assert words == pytest.approx(sum(reading_time.counted()[lesson.key]), rel=0.1)
    visitor.check()


@nightly
def test_where_the_list_of_pages_is_closed_the_page_makes_room_for_the_card(visit, server):
    lesson = LESSONS[FIRST]
    visitor = visit(server, **DESKTOP).open(f"/{lesson.stops[0].page}?{urlencode(lesson_card.address(lesson, 1))}")
    seen(visitor, lesson, 1)
    visitor.page.locator('[data-testid="stSidebar"]').hover()
    visitor.page.locator('[data-testid="stSidebarCollapseButton"] button').click()
    for number in range(1, 6):
        visitor.wait_until(BESIDE, lesson.stops[number - 1].ringed)
        seen(visitor, lesson, number)
        visitor.page.keyboard.press("ArrowRight")
    visitor.check()


@nightly
def test_next_stays_where_it_is_and_the_page_of_lessons_leads_back(visit, server):
    lesson = LESSONS[FIRST]
    visitor = visit(server, **DESKTOP).open("/")
    visitor.page.get_by_role("link", name="From text to next token").first.click()
    places = []
    for number in range(1, 4):
        seen(visitor, lesson, number)
        way = visitor.page.locator(CARD).get_by_text("Next", exact=True)
        box = way.bounding_box()
        assert box is not None
        places.append((box["x"], box["y"]))
        way.click()
    assert all(max(side) - min(side) < 2 for side in zip(*places, strict=True))  # pixels
    seen(visitor, lesson, 4)
    visitor.open("/lessons")
    visitor.page.get_by_role("link", name="Go on at stop 4").click()
    seen(visitor, lesson, 4)
    visitor.check()


@nightly
def test_a_lesson_is_presented(visit, server):
    lesson = LESSONS[FIRST]
    visitor = visit(server, **DESKTOP).open(f"/masks?{urlencode(lesson_card.address(lesson, 5))}")
    seen(visitor, lesson, 5)
    visitor.page.keyboard.press("p")
    words = visitor.page.locator(".tf-words")
    expect(words).to_contain_text("The grey half is blocked")
    visitor.page.keyboard.press("a")
    expect(words).to_contain_text("Here:")
    visitor.page.keyboard.press("ArrowRight")
    expect(words).to_contain_text("The logit lens", timeout=60_000)
    expect(visitor.page.locator('[class*="st-key-lens-figure"] .tf-on-stage')).to_have_count(1, timeout=60_000)
    visitor.wait_for_address(lesson=lesson.key, stop="6", present="1")
    visitor.page.keyboard.press("Escape")
    visitor.check()
