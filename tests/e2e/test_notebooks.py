"""Widgets in a real JupyterLab and a real marimo: a click reaches Python, and what Python sets is drawn."""

import re
import sys
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.serving import ROOT, SECONDS, serve
from tests.nightly import nightly
from tfcore.views.programs import book

LAB = """
import ipywidgets
import tfcore
from tfcore.views import widgets

model, tokenizer = tfcore.load("stories")
w = widgets.RiverWidget(model, tokenizer, "Sam was a little boy. One day, Sam said that")
off = ipywidgets.Label()
ipywidgets.dlink((w, "off"), (off, "value"), "off: {}".format)
again = ipywidgets.Button(description="All on")
again.on_click(lambda _: setattr(w, "off", []))
heads = widgets.HeadMapWidget(model, tokenizer, "Sam was a little boy. One day, Sam said that")
arcs = widgets.PortraitWidget(model, tokenizer, "Sam was a little boy. One day, Sam said that")
ipywidgets.link((heads, "layer"), (arcs, "layer"))
ipywidgets.link((heads, "head"), (arcs, "head"))
ipywidgets.VBox([w, off, again, heads, arcs])
"""
VIEWS = (
    'from tfcore import views\n\nviews.heads.portrait(model, tokenizer, "The cat sat down", layer=1, head=2)',
    'views.flow.river(model, tokenizer, "The cat sat down")',
)
MARIMO = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import tfcore
    from tfcore.views import widgets

    model, tokenizer = tfcore.load("stories")
    w = mo.ui.anywidget(widgets.RiverWidget(model, tokenizer, "Sam was a little boy. One day, Sam said that"))
    w
    return mo, w


@app.cell
def _(mo, w):
    mo.md(f"off: {w.value['off']}")
    return


if __name__ == "__main__":
    app.run()
"""
HEAD = ".tf-river [role=slider][aria-label^='head 0.3,']"  # the one with the largest dot


@pytest.fixture
def notebook(tmp_path) -> Iterator[str]:
    """The address of a JupyterLab with a notebook of widgets, of a figure and of a scene."""
    pytest.importorskip("jupyterlab", reason="make oracles installs it")
    (tmp_path / "river.ipynb").write_text(book("A river.", [LAB.strip(), *VIEWS]), "utf-8")
    homes = {f"JUPYTER_{one}_DIR": str(tmp_path / one) for one in ("CONFIG", "DATA", "RUNTIME")}
    options = ("--no-browser", "--ip=127.0.0.1", "--port=0", "--allow-root", f"--ServerApp.root_dir={tmp_path}")
    with serve(
        *(sys.executable, "-m", "jupyterlab", *options, "--IdentityProvider.token="),
        health="/api",
        PYTHONPATH=str(ROOT),
        IPYTHONDIR=str(tmp_path),
        **homes,
    ) as address:
        yield f"{address}/lab/tree/river.ipynb"


@pytest.fixture
def marimo(tmp_path) -> Iterator[str]:
    """The address of a marimo app of one widget."""
    pytest.importorskip("marimo", reason="make oracles installs it")
    (path := tmp_path / "app.py").write_text(MARIMO.lstrip(), "utf-8")
    options = ("--headless", "--no-token", "--host", "127.0.0.1", "--port", "0")
    command = (sys.executable, "-m", "marimo", "run", str(path), *options)
    with serve(*command, health="/health", PYTHONPATH=str(ROOT), HOME=str(tmp_path)) as address:
        yield address


@pytest.fixture
def page(browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    context.set_default_timeout(1000 * SECONDS)
    yield context.new_page()
    context.close()


def click_a_head(page: Page) -> None:
    """Wait for the river, whose chance for this token is 69 %, and click the head that it rests on."""
    expect(page.locator(".tf-river svg")).to_contain_text("69.3 %")
    page.locator(HEAD).click()


def run_all(page: Page, address: str) -> None:
    """Open a notebook in JupyterLab, and run its cells."""
    page.goto(address)
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible()  # before, it asks for a kernel
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()


@nightly
def test_a_click_in_jupyterlab_reaches_python_and_back(notebook, page):
    run_all(page, notebook)
    click_a_head(page)
    expect(page.get_by_text("off: [[0, 3]]")).to_be_visible()
    expect(page.locator(".tf-river svg")).to_contain_text("69.3 → 0.8 %")
    expect(page.locator(".tf-widget figcaption").first).to_contain_text("with head 0.3 × 0")
    page.get_by_role("button", name="All on").click()
    expect(page.get_by_text("off: []")).to_be_visible()
    expect(page.locator(HEAD)).to_have_attribute("aria-valuenow", "1")
    expect(page.locator(".tf-river svg")).not_to_contain_text("→")

    cell = page.locator(".tf-widget .nsewdrag").first  # the map: 6 heads a layer, 4 layers
    cell.scroll_into_view_if_needed()
    box = cell.bounding_box()
    assert box is not None
    place = box["x"] + 2.5 / 6 * box["width"], box["y"] + 1.5 / 4 * box["height"]
    hovered = page.locator(".hovertext").filter(has_text="layer 1, head 2")  # plotly clicks what it has under the mouse
    end = time.monotonic() + SECONDS
    while not hovered.count() and time.monotonic() < end:  # it may still be drawn when the mouse comes
        page.mouse.move(place[0] - 3, place[1])
        page.mouse.move(*place)
        page.evaluate("() => new Promise(requestAnimationFrame)")
    page.mouse.click(*place)
    expect(page.locator(".tf-widget figcaption").last).to_contain_text("Head 1.2. ")


@nightly
def test_below_a_view_in_jupyterlab_stands_a_link_into_the_app(notebook, page):
    run_all(page, notebook)
    cells = page.locator(".jp-Notebook .jp-CodeCell")
    link = cells.nth(1).locator(".gtitle a")  # below the figure, drawn by plotly
    cells.nth(1).scroll_into_view_if_needed()
    expect(link).to_contain_text("Open ")
    expect(link).to_have_attribute("xlink:href", re.compile(r"^http://localhost:8501/heads\?(?=.*layer=1)(?=.*head=2)"))
    cells.nth(2).scroll_into_view_if_needed()
    scene = cells.nth(2).frame_locator("iframe").locator(".tf-river svg, svg.tf-river").first
    expect(scene).to_be_visible()
    link = cells.nth(2).locator(".jp-RenderedHTMLCommon > p a")
    expect(link).to_have_attribute("href", re.compile(r"^http://localhost:8501/\?(?=.*text=The)"))


@nightly
def test_a_click_in_marimo_reaches_python_and_back(marimo, page):
    page.goto(marimo)
    click_a_head(page)
    expect(page.get_by_text("off: [[0, 3]]")).to_be_visible()
    expect(page.locator(".tf-river svg")).to_contain_text("69.3 → 0.8 %")
