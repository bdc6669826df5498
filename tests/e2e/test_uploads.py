"""A visitor's own picture or sound in a real browser is shown; what is too large or none is refused in a sentence."""

import io

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.nightly import nightly
from tfcore import load


def picture(side: int, kind: str = "PNG") -> bytes:
    """Pixels drawn at random, which no format makes smaller."""
    pixels = np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


@pytest.fixture
def give(visitor):
    """Puts a file of these bytes into the place for pictures."""
    visitor.open("/tokens?part=image", last="A question.")

    def given(content: bytes) -> None:
        file = {"name": "own.png", "mimeType": "image/png", "buffer": content}
        visitor.page.locator('input[type="file"]').set_input_files(file)

    return given


def test_a_picture_takes_the_place_of_the_example(give, visitor):
    before = visitor.names()
    give(picture(64))
    visitor.settle()
    visitor.page.get_by_text("How it is computed").click()
    visitor.page.get_by_text("signals.read_picture").wait_for(state="attached")  # the code that made what is shown
    visitor.settle()
    assert visitor.names() == before


@nightly
def test_a_patch_of_ones_own_picture_is_asked_from(visitor):
    visitor.open("/pictures?vit=colours", last="A question.")
    before = visitor.drawn("head")
    file = {"name": "own.webp", "mimeType": "image/webp", "buffer": picture(64, "WEBP")}
    visitor.page.locator('input[type="file"]').set_input_files(file)
    of_class = visitor.expect_drawing("head", unlike=before)
    visitor.click_cell("head", 3, 1)
    model, _ = load("colours")
    patches = model.config.patches
    assert patches is not None
    visitor.wait_for_address(token=str(len(patches.tokens) + patches.rows + 3))
    visitor.expect_drawing("head", unlike=of_class)
    caption = visitor.page.locator(".st-key-head-figure").locator("xpath=..")
    expect(caption).to_contain_text("patch 1, 3 attends most to")


@nightly
def test_what_is_no_picture_is_refused_in_a_sentence(give, visitor):
    give(b"no picture at all")
    expect(visitor.page.get_by_role("alert").filter(has_text="Until then, the example is shown")).to_be_visible()


@nightly
def test_what_is_too_large_is_refused_before_it_is_sent(give, visitor):
    give(picture(1_700))
    expect(visitor.page.get_by_text("File must be 8.0MB or smaller")).to_be_visible()


@nightly
def test_what_is_recorded_takes_the_place_of_the_example(visitor):
    visitor.open("/sound", last="A question.")
    before = visitor.drawn("head")
    visitor.page.get_by_text("Your own sound", exact=True).click()
    recorder = visitor.page.get_by_test_id("stAudioInput")
    recorder.get_by_role("button", name="Record").click()
    expect(recorder).to_contain_text("00:02")
    recorder.get_by_role("button", name="Stop recording").click()
    expect(visitor.page.get_by_text("A recording is not part of the link")).to_be_visible()
    visitor.expect_drawing("head", unlike=before)
