"""One figure, four files: each opens in what it is for."""

import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from tests.e2e.checks import truth
from tests.e2e.visitor import DRAWN
from tests.nightly import nightly

TEXT = "One two, one two."


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


def test_png_is_a_sharp_picture(save, visitor):
    data = save("PNG").read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    shown = visitor.plot("closer").bounding_box()
    assert (width, height) == (round(3 * shown["width"]), round(3 * shown["height"]))
    assert len(data) > 5_000, "an empty picture"


@nightly
def test_svg_has_the_tokens_as_words(save):
    svg = ElementTree.parse(save("SVG")).getroot()
    assert svg.tag.endswith("svg")
    words = " ".join(svg.itertext())
    assert all(chip in words for chip in truth.chips(TEXT))


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
    assert alone.page.locator("figcaption").inner_text() == visitor.figure("closer").locator("figcaption").inner_text()
    assert alone.page.locator(".js-plotly-plot").evaluate(DRAWN) == drawn


def test_csv_has_every_weight(save):
    table = pd.read_csv(save("CSV"), encoding="utf-8-sig")
    pattern = truth.patterns(TEXT)[1, 2]
    rebuilt = np.zeros_like(pattern)
    rebuilt[table["query"], table["key"]] = table["weight"]
    np.testing.assert_allclose(rebuilt, pattern, atol=1e-5)
    assert set(table["key token"]) == set(truth.model()[1].tokens(truth.model()[1].encode(TEXT)))
