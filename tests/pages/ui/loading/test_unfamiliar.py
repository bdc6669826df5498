"""A text that stories cannot know brings one click to the real model."""

import pytest

from pages.ui.loading.unfamiliar import STORIES
from tests.nightly import often
from tests.pages.visits import opened, run, said
from tests.views.test_familiarity import NEWS, STORY

PAGES = {
    "foundations/heads/page.py": {},
    "foundations/masks/page.py": {},
    "inside/stream/page.py": {},
    "inside/interventions/page.py": {},
    "training/information/page.py": {"show": "A text in bits"},
    "start/walkthrough/page.py": {},
    "inference/generation/page.py": {},
}


def offered(test) -> list[str]:
    return [button.label for button in test.button if button.label.startswith("Open this text in")]


@pytest.mark.parametrize("file", often(PAGES, ["training/information/page.py"]))
def test_one_click_opens_the_text_in_the_real_model(file, real_models):
    test = opened(file, model="stories", text=NEWS, **PAGES[file])
    assert offered(test) == ["Open this text in smollm2"]
    assert "stories needs 2.32 bits per byte" in said(test, "caption")
    next(button for button in test.button if button.label.startswith("Open this text in")).click()
    run(test)
    assert test.selectbox(key="model").value == "smollm2"
    assert test.text_area(key="text").value == NEWS
    assert offered(test) == []


def test_nothing_is_offered_for_a_story(real_models):
    assert offered(opened("foundations/heads/page.py", model="stories", text=STORY)) == []


def test_stories_are_offered_too_and_alone_where_there_is_no_real_model():
    test = opened("foundations/heads/page.py", model="stories", text=NEWS)
    assert offered(test) == []
    assert "It only knows children's stories" in said(test, "caption")
    for name, story in STORIES.items():
        run(test.button(key=f"story {name}:button").click())
        assert test.text_area(key="text").value == story
        assert "only knows" not in said(test, "caption")
        test = opened("foundations/heads/page.py", model="stories", text=NEWS)
