"""The figure that is sent ahead of a page: what whoever came first was sent, and nothing of a visitor's."""

import gzip
import json
from typing import Any

import pytest
from starlette.requests import Request

import app as server
from pages.ui import session
from pages.ui.server import first_figures, first_pictures
from pages.ui.work import live
from tests.pages.visits import opened, press, run

FILE = "foundations/masks/page.py"


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch):
    monkeypatch.setattr(first_figures, "_kept", {})


def head_of(url: str) -> dict[str, Any]:
    kept = first_figures.kept(url)
    assert kept is not None
    found: dict[str, Any] = json.loads(gzip.decompress(kept.packed).split(b"\n")[0])
    return found


def test_the_first_visit_without_a_view_is_kept():
    assert first_figures.address("masks") == ""
    opened(FILE)
    assert head_of("masks")["key"] == first_pictures.places()["masks"].figure
    address = first_figures.address("masks")
    assert f'data-figure="{address}"' in first_pictures.html("masks", address)
    assert "data-figure" not in first_pictures.html("masks")


def test_a_view_is_not_kept():
    opened(FILE, kind="window")
    assert first_figures.kept("masks") is None


def test_what_somebody_moves_is_not_kept():
    test = opened(FILE)
    before = first_figures.kept("masks")
    test.selectbox(key="kind").select_index(1)
    run(test)
    assert first_figures.kept("masks") == before


def test_what_a_browser_tells_a_server_that_was_restarted_is_not_kept(monkeypatch):
    test = opened(FILE)
    test.session_state[session.KEY].page = None  # as in a new session; the browser tells it what its controls hold
    monkeypatch.setattr(first_figures, "_kept", {})
    run(test)
    assert first_figures.kept("masks") is None


def test_a_page_that_is_opened_second_is_not_kept():
    test = opened(FILE)
    test.switch_page("block/residuals/page.py")
    run(test)
    assert first_figures.kept("residuals") is None


@pytest.mark.usefixtures("patience")
def test_work_that_goes_on_is_not_kept(monkeypatch):
    begin = live.begin
    monkeypatch.setattr(live, "begin", lambda *given, stored=(), **more: begin(*given, **more))  # noqa: ARG005
    opened("block/pitfalls/page.py")
    assert first_figures.kept("pitfalls") is None
    follow = live.follow
    monkeypatch.setattr(live, "follow", lambda look, draw, _, every: follow(look, draw, False, every))  # it has ended
    press(opened("block/pitfalls/page.py"), "stop")
    assert head_of("pitfalls")["key"] == first_pictures.places()["pitfalls"].figure


def test_large_figures_are_not_kept(monkeypatch):
    monkeypatch.setattr(first_figures, "LARGEST", 100)
    opened(FILE)
    assert first_figures.kept("masks") is None


def test_every_picture_that_plotly_draws_names_its_figure():
    drawn = {url for url, place in first_pictures.places().items() if place.drawn == ".tf-picture .main-svg"}
    assert {url for url, place in first_pictures.places().items() if place.figure} == drawn


def test_it_is_served_at_an_address_that_changes_with_it():
    opened(FILE)
    _, place, digest, name = first_figures.address("masks").split("/")
    assert place == "begin"
    found = served(digest, name)
    assert found.status_code == 200
    assert "immutable" in found.headers["Cache-Control"]
    assert gzip.decompress(bytes(found.body)).startswith(json.dumps(head_of("masks")).encode())
    assert served("00000000", name).status_code == served(digest, "heads").status_code == 404


def served(digest: str, name: str) -> Any:
    return server.first_figure(Request({"type": "http", "path_params": {"digest": digest, "name": name}}))
