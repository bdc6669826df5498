"""Files of a figure, each opens in what it is for; a video of what moves; all figures of a page on one sheet."""

import base64
import io
import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import expect

from pages.ui import links
from tests.e2e.checks import truth
from tests.e2e.visitor import DRAWN
from tests.nightly import nightly

TEXT = "One two, one two."
# Width and seconds of a film that is played to its end.
PLAYED = """film => new Promise((resolve, reject) => {
  const player = document.createElement("video")
  Object.assign(player, { muted: true, src: film, onended: () => resolve([player.videoWidth, player.currentTime]) })
  player.onerror = () => reject(new Error(player.error.message))
  player.play().catch(reject)
})"""


@pytest.fixture
def save(visitor, tmp_path):
    """Chooses an entry of the menu of the closer head's figure."""
    visitor.open("/heads?layer=1&head=2&text=One+two%2C+one+two.")

    def saved(kind: str) -> Path:
        visitor.figure("closer").get_by_text("Save", exact=True).click()
        with visitor.page.expect_download() as download:
            visitor.figure("closer").get_by_role("button", name=kind).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        assert path.name == f"closer.{kind.lower()}"
        return path

    return saved


def test_a_picture_carries_its_words_and_has_two_pixels_for_one(save, visitor):
    svg = ElementTree.parse(save("SVG")).getroot()
    words = " ".join(svg.itertext())
    assert all(chip in words for chip in truth.chips(TEXT))
    title = visitor.page.get_by_role("heading", name=re.compile("^Layer 1, head 2")).inner_text()
    address = f"{visitor.address}/heads?layer=1&head=2&text=One+two%2C+one+two.&v={links.VERSION}"
    assert all(said in words for said in (title, "model stories", f'text "{TEXT}"'))
    assert address in [one.get("href") for one in svg.iter()]
    visitor.figure("closer").get_by_role("button", name="Keep it").click()  # the address with the text
    data = save("PNG").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">II", data[16:24]) == tuple(2 * int(svg.attrib[side]) for side in ("width", "height"))
    assert len(data) > 5_000, "an empty picture"
    with visitor.page.expect_download() as download:
        visitor.figure("closer").get_by_role("button", name="Save without the text").click()
    assert download.value.suggested_filename == "closer.png"


def test_a_recording_is_stopped_and_saved(visitor, tmp_path):
    visitor.open("/walkthrough?stage=softmax")
    scene = visitor.page.locator(".tf-scene:has(.tf-attention-stage)")
    scene.get_by_text("Save", exact=True).click()
    with visitor.page.expect_download() as download:
        scene.get_by_role("button", name="Video").click()
        expect(scene.get_by_role("status")).to_have_text(re.compile(r"^Recording \d\.\d of \d s Stop$"))
        scene.get_by_role("button", name="Stop").click()
    download.value.save_as(tmp_path / "film")
    assert (tmp_path / "film").read_bytes().startswith(b"\x1a\x45\xdf\xa3"), "no WebM"
    expect(scene.get_by_role("status")).to_be_empty()


@nightly
def test_the_river_is_recorded_to_its_end(visitor, tmp_path):
    visitor.open("/flow?model=stories")
    scene = visitor.page.locator(".tf-scene:has(.tf-river)")
    scene.get_by_text("Save", exact=True).click()
    with visitor.page.expect_download() as download:
        scene.get_by_role("button", name="Video").click()
    download.value.save_as(tmp_path / "film")
    film = "data:video/webm;base64," + base64.b64encode((tmp_path / "film").read_bytes()).decode()
    width, seconds = visitor.page.evaluate(PLAYED, film)
    assert width >= visitor.page.locator(".tf-river svg").bounding_box()["width"]
    assert seconds > 3


@nightly
def test_the_sheet_has_every_figure_of_the_page(visitor, visit, tmp_path):
    visitor.open("/attention")
    visitor.page.get_by_role("button", name="More about this view").click()
    with visitor.page.expect_download() as download:
        visitor.page.get_by_role("button", name="Save all figures").click()
    download.value.save_as(tmp_path / "sheet.html")
    assert download.value.suggested_filename == "attention-figures.html"
    alone = visit("", offline=True).page
    alone.goto((tmp_path / "sheet.html").as_uri())
    assert alone.locator("script").count() == 0
    assert alone.locator("img").count() == visitor.page.locator(".tf-figure:visible, .tf-scene:visible").count()
    assert alone.locator("h2").all_inner_texts()[:2] == [
        "Queries, keys, values and outputs in the plane",
        "The steps of attention",
    ]
    alone.wait_for_function("[...document.images].every(one => one.complete && one.naturalWidth > 100)")
    assert alone.get_by_role("link").get_attribute("href") == f"{visitor.address}/attention?v={links.VERSION}"


@nightly
def test_a_sheet_of_a_dark_page_is_printed_on_light_paper(visit, server, tmp_path):
    visitor = visit(server, color_scheme="dark")
    visitor.open("/attention")
    visitor.page.get_by_role("button", name="More about this view").click()
    with visitor.page.expect_download() as download:
        visitor.page.get_by_role("button", name="Save all figures").click()
    download.value.save_as(tmp_path / "sheet.html")
    alone = visit("", offline=True).page
    alone.goto((tmp_path / "sheet.html").as_uri())
    alone.wait_for_function("[...document.images].every(one => one.complete && one.naturalWidth > 100)")
    shades = []
    for medium in ("screen", "print"):
        alone.emulate_media(media=medium)
        seen = np.asarray(Image.open(io.BytesIO(alone.locator("img").first.screenshot())).convert("L"))
        shades.append(np.median(seen))
    assert shades[0] < 50
    assert shades[1] > 230


@nightly
def test_html_stands_alone(save, visitor, visit):
    path = save("HTML")
    page = path.read_text(encoding="utf-8")
    assert not re.search(r"<script[^>]+src|<link|@import", page.split("<script>")[0] + page.split("</script>")[-1])
    drawn = visitor.drawn("closer")
    alone = visit("", offline=True)
    alone.page.goto(path.as_uri())
    alone.page.wait_for_selector(".js-plotly-plot .main-svg")
    assert alone.page.locator("script[src]").count() == 0
    assert path.stat().st_size < 2_000_000
    assert alone.page.locator("figcaption").inner_text() == visitor.figure("closer").locator("figcaption").inner_text()
    assert alone.page.locator(".js-plotly-plot").evaluate(DRAWN) == drawn


def test_csv_has_every_weight(save):
    table = pd.read_csv(save("CSV"), encoding="utf-8-sig")
    pattern = truth.patterns(TEXT)[1, 2]
    rebuilt = np.zeros_like(pattern)
    rebuilt[table["query"], table["key"]] = table["weight"]
    np.testing.assert_allclose(rebuilt, pattern, atol=1e-5)
    assert set(table["key token"]) == set(truth.model()[1].tokens(truth.model()[1].encode(TEXT)))
