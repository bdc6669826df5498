"""Charts as files: what the browser draws is the chart, and without one a sentence says what to install."""

import io
import os
import stat
import sys
from xml.etree import ElementTree

import pytest
from PIL import Image

from tests.nightly import nightly
from tfcore.charts import stills
from tfcore.charts.theme import Figure, colour

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</script><b>&amp; é\x01"
# A browser that writes down what it was asked and leaves a picture of its own in the page.
STAND_IN = """#!{python}
import pathlib, sys
pathlib.Path({asked!r}).write_text("\\n".join(sys.argv[1:]))
print("<html><body><pre>{address}</pre></body></html>")
"""


def bars(*heights: float, name: str = "bars") -> Figure:
    layout = {"height": 200, "paper_bgcolor": "#102030", "title": {"text": name}}
    return Figure({"data": [{"type": "bar", "x": [*range(len(heights))], "y": heights}], "layout": layout})


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Makes a browser that leaves an address; returns the file with its arguments."""

    def made(address: str):
        program, asked = tmp_path / "browser", tmp_path / "asked"
        program.write_text(STAND_IN.format(python=sys.executable, asked=str(asked), address=address), "utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("CHROMIUM", str(program))
        return asked

    return made


def test_a_figure_is_drawn_by_a_browser_as_svg_and_every_text_in_it_is_text():
    root = ElementTree.fromstring(stills.figure_file(bars(1, 2, 4, name=HOSTILE), 300, "svg"))
    assert (root.tag, root.get("width"), root.get("height")) == (f"{SVG}svg", "300", "200")
    assert len(root.findall(f".//{SVG}g[@class='point']")) == 3
    assert any("</script>" in "".join(text.itertext()) for text in root.iter(f"{SVG}text"))
    assert not list(root.iter(f"{SVG}script"))


@nightly
def test_a_png_has_the_colour_of_the_paper_and_two_pixels_for_one():
    image = Image.open(io.BytesIO(stills.figure_file(bars(1, 2), 300, "png"))).convert("RGB")
    assert image.size == (600, 400)
    assert image.getpixel((2, 2)) == (0x10, 0x20, 0x30)


@nightly
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_scene_of_elements_is_drawn_on_its_paper(theme):
    box = {"label": "Words of a box", "note": "and more", "role": "query"}
    data = {"label": "a map", "stacks": [{"title": "", "groups": [{"title": "", "rows": [[box]]}]}]}
    whole = stills.scene_file("parts_map", data, 500, 100, theme, "svg").decode()
    root = ElementTree.fromstring(whole)
    assert (root.tag, root.get("width")) == (f"{SVG}svg", "500")
    assert root[0].get("fill") == colour("@paper", theme)
    image = Image.open(io.BytesIO(stills.scene_file("parts_map", data, 500, 100, theme, "png"))).convert("RGB")
    assert image.size[0] == 1000
    assert "#{:02x}{:02x}{:02x}".format(*image.getpixel((1, 1))) == colour("@paper", theme)


def test_an_svg_has_no_signs_that_xml_does_not_know(stand_in):
    asked = stand_in("data:image/svg+xml,%3Csvg%3E%01%C3%A9&amp;%3C/svg%3E")
    assert stills.figure_file(bars(1), 300, "svg").decode() == "<svg>\ufffdé&</svg>"
    given = asked.read_text("utf-8").splitlines()
    assert {"--headless", "--dump-dom", "--force-prefers-reduced-motion"} <= set(given)
    assert given[-1].startswith("file:///")
    assert ("--no-sandbox" in given) is (os.geteuid() == 0)
    assert not os.path.exists(given[-1].removeprefix("file://")), "nothing is left behind"


def test_a_browser_that_draws_nothing_is_named(stand_in):
    stand_in("nothing")
    with pytest.raises(stills.BrowserError, match=r"browser did not draw the picture \(nothing\); CHROMIUM can name"):
        stills.figure_file(bars(1), 300, "png")


def test_without_a_browser_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(stills.BrowserError, match=r"install one .*or set CHROMIUM to the path of one; \.html"):
        stills.figure_file(bars(1), 300, "svg")
    monkeypatch.setenv("CHROMIUM", "/nowhere/chrome")
    with pytest.raises(stills.BrowserError, match="CHROMIUM=/nowhere/chrome is no program"):
        stills.find_browser()


def test_where_windows_has_its_programs_a_browser_is_found(monkeypatch, tmp_path):
    for name in ("CHROMIUM", *stills.FOLDERS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(stills, "WINDOWS", ("Edge/msedge.exe",))
    monkeypatch.setenv("PROGRAMFILES", str(tmp_path))
    (tmp_path / "Edge").mkdir()
    (tmp_path / "Edge" / "msedge.exe").touch()
    assert stills.find_browser() == str(tmp_path / "Edge" / "msedge.exe")
