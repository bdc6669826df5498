"""The first pictures of pages: for what a page begins with, at an address that changes with them, and nowhere else."""

import base64
import hashlib
import io
import re

import pytest
from PIL import Image

import app as server
from pages.ui import streamlit_internals
from pages.ui.server import first_pictures, previews
from tools.pictures import NO_PICTURE


@pytest.mark.parametrize("url", first_pictures.places())
def test_each_place_has_its_pictures_in_both_themes(url):
    place = first_pictures.places()[url]
    assert url in previews.pages()
    for size, window in (("wide", (1440, 900)), ("narrow", (390, 844))):
        if (at := getattr(place, size)) is None:
            continue
        x, y, width, height = at
        assert 0 <= x < x + width <= window[0]
        assert 0 <= y < y + height <= window[1] + 1
        for theme in () if url in NO_PICTURE else first_pictures.THEMES:
            found = first_pictures.pictures()[f"{url or previews.HOME}-{size}-{theme}.webp"]
            shape = Image.open(io.BytesIO(found)).size
            assert shape == pytest.approx((width, height), abs=1.5)
            assert len(found) < 60_000


def test_a_page_begins_with_its_picture():
    place = first_pictures.places()["masks"]
    found = previews.html("masks", None, first_pictures.html("masks"))
    assert found.index("<body>") < found.index('<div id="tf-first"') < found.index('id="root"')
    assert f'data-from="./first/{first_pictures.digest()}/masks"' in found
    assert f'data-wide="{" ".join(map(str, place.wide))}"' in found
    assert first_pictures.html("lab") == first_pictures.html("nonsense") == ""
    seen = first_pictures.html("lab", "./begin/0/lab")  # somebody has opened it: the figure, and no picture
    assert 'data-figure="./begin/0/lab"' in seen
    assert "data-from" not in seen


def test_a_page_that_begins_with_another_model_here_has_none(monkeypatch):
    model = first_pictures.places()["flow"].model
    for there in (True, False):
        monkeypatch.setattr(first_pictures.real_models, "installed", lambda there=there: {model: None} if there else {})
        assert bool(first_pictures.html("flow")) == there


def test_the_script_is_the_one_that_the_policy_names():
    [script] = re.findall(r"<script>(.*?)</script>", first_pictures.html("masks"), re.DOTALL)
    assert script == first_pictures.SCRIPT
    named = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{named}'" in server.content_policy("'self'")


def test_the_theme_is_kept_where_the_script_looks_for_it():
    assert f'data-theme="{streamlit_internals.THEME}"' in first_pictures.html("masks")
    files = [path for path in streamlit_internals.bundles().values() if path.suffix == ".js"]
    assert any(streamlit_internals.THEME in path.read_text("utf-8", "ignore") for path in files)
