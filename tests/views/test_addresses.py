"""The link of a view into an app: what it says of its arguments, and that it says so when these are not all."""

import inspect
from urllib.parse import parse_qsl, urlsplit

import plotly.graph_objects as go
import plotly.io as pio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcore.commands import catalogue
from tfcore.views import addresses
from tfcore.views.addresses import ShownAt, ViewLink
from tfcore.views.finding import state
from tfcore.views.model import parts
from tfcore.views.sources import Reading
from tfcore.views.view import View, view

AT = ShownAt(
    page="page",
    view={"show": "part"},
    controls={"reading.model": "model", "reading.text": "text", "reading.bos": "bos", "layer": "layer", "log": "log"},
    fixed={"reading.hide_sink": False, "shape": [1, 2]},
)
ELSEWHERE = ShownAt(page="other", controls={**AT.controls, "reading.hide_sink": "hide"}, fixed=AT.fixed)
LONG = "a text of more than two thousand characters " * 60


@view
def drawn(reading: Reading, layer: int = 0, log: bool = False, shape: tuple[int, ...] = (1, 2)) -> View:
    """Nothing."""
    return View(
        key="drawn",
        title="Drawn",
        result=layer,
        chart=go.Figure({"layout": {"height": 100}}),
        findings=(state("drawn", "Layer {layer}, {log}, {n}.", layer=layer, log=log, n=len(shape)),),
    )


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    monkeypatch.delenv(addresses.SETTING, raising=False)
    found = {"views.drawn": [AT, ELSEWHERE], **addresses.places()}
    monkeypatch.setattr(addresses, "places", lambda: found)


def said(link: ViewLink | None) -> dict[str, str]:
    assert link is not None
    return dict(parse_qsl(urlsplit(link.url).query, keep_blank_values=True))


def test_it_says_each_argument_under_the_name_of_its_control():
    link = drawn(Reading("stories", "a & b", bos=False), 3, log=True).link()
    assert link is not None
    assert link.is_exact
    assert link.url.startswith("http://localhost:8501/page?v=")
    expected = {"show": "part", "model": "stories", "text": "a & b", "bos": "without", "layer": "3", "log": "true"}
    assert said(link) == expected | {"v": addresses.VERSION}


def test_the_page_that_takes_all_arguments_goes_before_the_first():
    link = drawn(Reading("stories", "a", hide_sink=True)).link()
    assert link is not None
    assert (link.is_exact, urlsplit(link.url).path, said(link)["hide"]) == (True, "/other", "true")


@pytest.mark.parametrize(
    ("shown", "missing"),
    [
        (drawn(Reading("./my folder", "a")), "model"),
        (drawn(Reading("/home/me/model.gguf", "a")), "model"),
        (drawn(Reading("stories", "".join(map(chr, range(0x4E00, 0x4E00 + 9_000))))), "text"),
        (drawn(Reading("stories", "a"), shape=(1, 3)), "shape"),
    ],
    ids=["a folder", "a file", "a text too long for any link", "what no control takes"],
)
def test_what_cannot_be_said_is_left_out_and_the_link_is_not_exact(shown, missing):
    link = shown.link()
    assert link is not None
    assert not link.is_exact
    assert missing not in said(link)
    assert said(link)["layer"] == "0"


def test_a_long_text_is_packed_as_the_app_does():
    assert said(drawn(Reading("stories", LONG)).link())["z"] == addresses.pack(LONG)


@pytest.mark.parametrize(
    ("setting", "begins"),
    [
        ("https://teach.example/models/", "https://teach.example/models/page?"),
        ("http://[::1]:8600", "http://[::1]:8600/page?"),
    ],
)
def test_the_server_is_that_of_the_setting_or_the_argument(monkeypatch, setting, begins):
    shown = drawn(Reading("stories", "a"))
    assert shown.link(setting).url.startswith(begins)
    monkeypatch.setenv(addresses.SETTING, setting)
    assert shown.link().url.startswith(begins)
    assert shown.link("http://here.example").url.startswith("http://here.example/page?")


@given(st.text(alphabet=" \"<>'&?#/:ax", min_size=1).filter(lambda one: one.strip(" /")))
def test_a_setting_that_is_no_address_is_refused(setting):
    with pytest.raises(ValueError, match=r"is no address: use for example https://example\.org"):
        addresses.app(setting)


def test_in_a_notebook_it_stands_below_the_picture(monkeypatch):
    monkeypatch.setattr(pio.renderers, "default", "plotly_mimetype")
    shown = drawn(Reading("stories", "<b>"), shape=())
    link = shown.link()
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"].endswith(f"Open its page in the app, where some settings differ: {link.url}")
    figure = bundle["application/vnd.plotly.v1+json"]
    assert figure["layout"]["title"]["text"].startswith(f'<a href="{link.url.replace("&", "&amp;")}"')
    assert figure["layout"]["height"] == 124
    scene = parts.parts("stories")._repr_mimebundle_()["text/html"]
    url = f"http://localhost:8501/?v={addresses.VERSION}&amp;model=stories"
    assert scene.endswith(f'<p><a href="{url}" target="_blank">Open in the app</a></p>')


def test_without_a_page_there_is_none(monkeypatch):
    monkeypatch.setattr(addresses, "places", dict)
    shown = drawn(Reading("stories", "a"))
    assert shown.link() is None
    assert shown._repr_mimebundle_()["text/plain"] == str(shown)


def test_what_is_stored_are_arguments_of_views():
    for name, places in addresses.places().items():
        if name == "views.drawn":
            continue
        subject, _, own = name.partition(".")
        parameters = inspect.signature(catalogue.subject(subject)[own]).parameters
        told = {argument.partition(".")[0] for place in places for argument in {**place.controls, **place.fixed}}
        assert told <= parameters.keys(), name
