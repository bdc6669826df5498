"""Every page under an address and in boxes full of what strangers send: no traceback, nothing of it interpreted.

`HYPOTHESIS_PROFILE=nightly python -m pytest tests/pages/test_hostile.py` does the same for hours, each time otherwise.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.ui import links
from pages.ui.work import jobs
from tests import hostile
from tests.nightly import nightly, often
from tests.pages.test_every_page import FILES
from tests.pages.visits import opened, run

VISITS = settings.default.max_examples // 20
SECONDS = 60  # of this process; a usual visit takes less than one
# Trainings of earlier visits go on meanwhile, and hypothesis notices when they draw.
pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning")
few = settings(max_examples=VISITS, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def asked(monkeypatch) -> set[str]:
    """The keys that a page asked its address for."""
    found: set[str] = set()
    original = links.asked
    monkeypatch.setattr(links, "asked", lambda key: (found.add(key), original(key))[1])
    return found


@cache
def panels(file: str) -> list[dict[str, str]]:
    """What a page can be asked to show, as addresses."""
    rows = [row for row in opened(file).segmented_control if row.key in hostile.PANELS]
    return [{row.key: option} for row in rows for option in row.options] or [{}]


def visited(file: str, address: dict) -> AppTest:
    jobs.JOBS.close()  # trainings of the visit before
    with quick():
        test = opened(file, **address)
    look(test)
    return test


def typed(test: AppTest, texts: list[str]) -> None:
    """Every box says one of these."""
    boxes = [*test.text_area, *test.text_input]
    for i, box in enumerate(boxes):
        box.set_value(texts[i % len(texts)])
    if boxes:
        with quick():
            run(test)
        look(test)


@contextmanager
def quick() -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


def look(test: AppTest) -> None:
    """Nothing is interpreted, the page is no larger than pages are, and every control holds a value it may hold."""
    assert hostile.interpreted(test) == []
    assert hostile.size(test) < hostile.LARGEST_PAGE
    for slider in test.slider:
        ends = slider.value if isinstance(slider.value, list | tuple) else [slider.value]
        assert all(slider.min <= end <= slider.max for end in ends), slider.key
    for row in (*test.selectbox, *test.select_slider):
        assert str(row.format_func(row.value)) in row.options, row.key


@pytest.mark.parametrize("which", [slice(1), pytest.param(slice(1, None), marks=nightly)], ids=["first", "others"])
@pytest.mark.parametrize("file", often(FILES, FILES[::4]))
def test_markup_in_every_value_of_an_address_and_in_every_box(file, which, asked):
    """Each panel of each page once; then with the keys that only it asks for, and markup in its boxes."""
    known = set(hostile.written_keys())
    for shown in panels(file)[which]:
        address = {**hostile.spread(hostile.MARKUP, known), **shown}
        asked.clear()
        test = visited(file, address)
        if late := {key for key in asked if not key.endswith("z")} - known:
            known |= late
            test = visited(file, {**hostile.spread(hostile.MARKUP, known), **shown})
        if any(not slider.disabled and slider.key in known for slider in test.slider):
            assert any("Corrected from the link" in caption.value for caption in test.caption)
        typed(test, [hostile.MARKUP[len(known) % 7], " ".join(hostile.MARKUP), "$x$ <b>hack</b>"])


@nightly
@pytest.mark.parametrize("file", FILES)
@few
@given(
    panel=st.integers(0, 20),
    values=st.lists(hostile.address_values, min_size=5, max_size=12),
    packed=st.sets(st.sampled_from(["z", "numbers_z", "sentence_z", "words_z"])),
    texts=st.lists(hostile.typed_texts, min_size=1, max_size=4),
)
def test_any_address_opens_and_any_text_can_be_typed(file, panel, values, packed, texts):
    shown = panels(file)[panel % len(panels(file))]
    typed(visited(file, {**hostile.spread(values, hostile.written_keys() | packed), **shown}), texts)
