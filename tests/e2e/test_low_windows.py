"""On a laptop and a projector, 1280 x 720, pictures stand whole in their columns."""

import pytest

from pages.facts import pages
from tests.nightly import nightly

BY_DAY = ("heads", "modern")
GROWING = {"routing": "overview"}  # pictures that are as wide as the text is long
CUT = """() => [...document.querySelectorAll(".tf-scroll")].filter(box => box.scrollWidth > box.clientWidth + 1)
  .map(box => `${box.closest('[class*="st-key-"]')?.className.match(/st-key-(\\S+?)-figure/)?.[1]}: ${box.scrollWidth}
  pixels in ${box.clientWidth}`)"""


def cut(visit, server, key):
    visitor = visit(server, viewport={"width": 1280, "height": 720})
    visitor.open(f"/{key}")
    found = visitor.page.evaluate(CUT)
    return [one for one in found if not one.startswith(f"{GROWING.get(key)}:")]


@pytest.mark.parametrize("key", BY_DAY)
def test_pictures_fit_their_columns(visit, server, key):
    assert cut(visit, server, key) == []


@nightly
@pytest.mark.parametrize("key", sorted({*pages()} - {*BY_DAY}))
def test_all_of_them_do(visit, server, key):
    assert cut(visit, server, key) == []
