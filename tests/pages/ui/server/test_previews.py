"""What others show of a link: every page has a title, a description and a picture, and no visitor can write there."""

import io
from html.parser import HTMLParser

import pytest
from PIL import Image

import app as server
from pages.facts import pages
from pages.ui.server import previews

URLS = list(pages())
BASE = "https://example.org"


class Head(HTMLParser):
    """The meta elements and the title of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.meta: dict[str, str] = {}
        self.title = ""
        self.scripts = 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "meta" and (key := found.get("property") or found.get("name")):
            assert key not in self.meta, "said twice"
            self.meta[key] = found["content"]
        self.scripts += tag == "script"

    def handle_data(self, data):
        if self.lasttag == "title" and not self.title:
            self.title = data


@pytest.mark.parametrize("url", URLS)
def test_every_page_says_what_it_is(url):
    head = Head(previews.html(url, BASE))
    title = pages()[url].facts.title if url else "Inside the Transformer"
    assert head.meta["og:title"] == title
    assert head.title.startswith(title)
    assert head.meta["og:description"] == head.meta["description"]
    assert 40 < len(head.meta["description"]) < 250
    assert head.meta["og:image"] == f"{BASE}/previews/{url or previews.HOME}.png"
    assert head.meta["twitter:card"] == "summary_large_image"
    assert "og:url" not in head.meta, "it would lead to the page without its view"


def test_descriptions_differ_but_streamlits_page_stays_whole():
    assert len({page.description for page in previews.pages().values()}) == len(URLS)
    plain = "".join(previews._halves())
    for line in plain.splitlines():
        assert line in previews.html("heads", BASE)


def test_what_a_page_is_called_cannot_break_out(monkeypatch):
    page = previews.Preview('"><script>alert(1)</script>', "a & b's <i>")
    before = Head(previews.html("heads", BASE)).scripts
    monkeypatch.setattr(previews, "pages", lambda: {"heads": page})
    head = Head(previews.html("heads", BASE))
    assert head.scripts == before
    assert head.meta["og:title"] == page.title
    assert head.meta["description"] == page.description


@pytest.mark.parametrize(
    ("host", "scheme", "expected"),
    [
        ("example.org", "https", "https://example.org"),
        ("127.0.0.1:8501", "http", "http://127.0.0.1:8501"),
        ("[::1]:8501", "http", "http://[::1]:8501"),
        ("", "https", None),
        ("a b", "https", None),
        ("evil.example/x", "https", None),
        ("user@evil.example", "https", None),
        ('"><script>', "https", None),
        ("example.org:99999999", "https", None),
        ("example.org", "javascript", None),
        ("example.org", "https, http", None),
    ],
)
def test_the_host_asked_counts_only_where_it_is_one(monkeypatch, host, scheme, expected):
    monkeypatch.delenv("TFCORE_ADDRESS", raising=False)
    assert previews.base(host, scheme) == expected
    if expected is None:
        head = Head(previews.html("heads", None))
        assert "og:image" not in head.meta
        assert head.meta["twitter:card"] == "summary"


def test_a_setting_is_stronger_than_what_is_asked(monkeypatch):
    monkeypatch.setenv("TFCORE_ADDRESS", "https://teach.example/models/")
    assert previews.base("evil.example", "http") == "https://teach.example/models"


@pytest.mark.parametrize(
    "setting", ["example.org", "ftp://a.example", "https://", "https://a b", 'https://a"b', "https://a/?b"]
)
def test_a_setting_that_is_no_address_is_a_sentence_and_no_server(monkeypatch, setting):
    monkeypatch.setenv("TFCORE_ADDRESS", setting)
    with pytest.raises(ValueError, match=r"TFCORE_ADDRESS=.* is no address: use for example https://example\.org"):
        server.check_settings()


def test_pictures_are_small_and_of_the_size_that_previews_want():
    found = previews.pictures()
    assert set(found) == {url or previews.HOME for url in URLS}
    assert sum(map(len, found.values())) <= 16_000 * len(found)
    for name, data in found.items():
        assert Image.open(io.BytesIO(data)).size == (1200, 630), name
        assert len(data) <= 60_000, name


def test_a_page_without_a_picture_has_that_of_the_front_page(monkeypatch):
    monkeypatch.setattr(previews, "pictures", lambda: {previews.HOME: b""})
    said = Head(previews.tags("heads", BASE)).meta
    assert said["og:image"] == f"{BASE}/previews/home.png"
    assert said["og:image:alt"] == "The front page of Inside the Transformer"
