"""A view writes itself to a file by the ending of its name."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageColor

from tests.nightly import nightly
from tfcore.charts import scenes, stills
from tfcore.charts.theme import colour
from tfcore.views.foundations import attention
from tfcore.views.inside import flow
from tfcore.views.model import parts
from tfcore.views.sources import Reading
from tfcore.views.start import walkthrough

READ = Reading("stories", "Once upon a time")
CORNERS = ((1.0, 0.5), (-0.5, 2.0))
# scene -> a view that is one, and words in it
SCENES = {
    "line_map": lambda: (walkthrough.overview("stories", READ.text, "scores", 1), ("scores", "softmax", "layer 1")),
    "parts_map": lambda: (parts.parts("stories"), ("RMSNorm", "block, 4 times")),
    "planes": lambda: (
        attention.planes(CORNERS, CORNERS, CORNERS, ("cat", "dog"), 1, 2.0, 0.1, 0.5),
        ("cat", "queries"),
    ),
    "river": lambda: (flow.river(READ), ("Once", "layer 0")),
    "stage": lambda: (walkthrough.head("stories", READ.text, "softmax", 1, 2), ()),  # drawn with pixels
}
SHOWN = attention.temperature((1.0, 2.0, 3.0), 0.7)


def test_texts_are_written_as_the_view_has_them(tmp_path):
    for ending, content in {"csv": SHOWN.csv(), "txt": SHOWN.text(), "html": SHOWN.html("dark")}.items():
        SHOWN.save(tmp_path / f"a.{ending}", theme="dark")
        made = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # plotly's own id for each page
        written = (tmp_path / f"a.{ending}").read_bytes().decode()
        assert made.sub("", written) == made.sub("", content)
    SHOWN.save(str(tmp_path / "A.JSON"))
    assert json.loads((tmp_path / "A.JSON").read_text("utf-8"))["key"] == SHOWN.key


@pytest.mark.parametrize(("shown", "drawn"), [(SHOWN, "figure_file"), (parts.parts("stories"), "scene_file")])
def test_pictures_are_as_wide_as_asked_or_as_they_need(shown, drawn, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(stills, drawn, lambda *given: asked.append(given) or b"picture")
    for need in (0, 700):
        replace(shown, min_width=need).save(tmp_path / "a.png", width=500)
    assert (tmp_path / "a.png").read_bytes() == b"picture"
    assert [(500 in given, 700 in given, given[-1]) for given in asked] == [(True, False, "png"), (False, True, "png")]


@nightly
@pytest.mark.parametrize("module", scenes.NAMES)
def test_each_scene_is_drawn_into_files(module, tmp_path):
    """Its words are in the SVG, and the PNG has more than paper on it."""
    shown, words = SCENES[module]()
    assert shown.chart.module == module
    shown.save(tmp_path / "a.svg")
    shown.save(tmp_path / "a.png", theme="dark")
    said = "".join(ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
    assert [one for one in words if one not in said] == []
    image = Image.open(tmp_path / "a.png").convert("RGB")
    assert len(image.getcolors(maxcolors=1 << 24)) > 20
    assert image.getpixel((1, 1)) == ImageColor.getrgb(colour("@paper", "dark"))


def test_another_ending_is_refused_with_those_that_are_written(tmp_path):
    for name in ("a.pdf", "a", ".svg"):
        with pytest.raises(ValueError, match=r"says no kind of file; these are written: \.svg, \.png, \.html, \.csv"):
            SHOWN.save(tmp_path / name)
    assert not list(tmp_path.iterdir())
