"""Links of views lead to pages that show the same: each is opened, and the arguments of what is seen there compared.

The views are those of pages whose controls were moved, so that hardly an argument is what the page begins with."""

import inspect
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from pages import facts
from tests.nightly import often
from tfcore.commands import catalogue
from tfcore.views import addresses
from tfcore.views.foundations import heads
from tfcore.views.foundations.heads.measure.attention import model_parts
from tfcore.views.view import SO_FAR, Made, View
from tools import book
from tools.addresses import Followed, controls_of, other_values

MOST = 0.6  # of the views that pages show


def stored(key: str) -> list[dict[str, str]]:
    """The addresses under which a page shows views that have a link."""
    return [
        dict(view)
        for view in dict.fromkeys(
            tuple(place.view.items()) for found in addresses.places().values() for place in found if place.page == key
        )
    ]


def moved(key: str, view: dict[str, str]) -> dict[str, str]:
    """The same with every control that some view's argument follows at another value, where the page shows it."""
    followed = {
        control
        for found in addresses.places().values()
        for place in found
        if place.page == key and dict(place.view) == view
        for control in place.controls.values()
    } - {"model"}
    controls = controls_of(book.shown(key, view).test)
    return view | {name: next(other_values(one), "") for name, one in controls.items() if name in followed}


def compared(key: str, shown: dict[str, View]) -> int:
    """Open the links of views that are exact, and find their arguments there; returns how many there were."""
    links = {name: one.link() for name, one in shown.items()}
    exact = {name: link.url for name, link in links.items() if link is not None and link.is_exact}
    for url in dict.fromkeys(exact.values()):
        said = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
        there = book.shown(urlsplit(url).path.lstrip("/"), said).views
        for name in (one for one, its in exact.items() if its == url):
            found = [meant(one.made) for one in there.values() if one.made.function is shown[name].made.function]
            assert meant(shown[name].made) in found, f"{key} {name}: {url}"
    return len(exact)


def meant(made: Made) -> dict[str, Any]:
    """The arguments of a view; where a reading names no part of its model, the last, as some pages do and some not."""
    given = addresses.arguments(made)
    last = {
        name: model_parts(given[name.replace(".part", ".model")])[-1]
        for name, value in given.items()
        if name.endswith(".part") and value is None
    }
    return given | last


@pytest.mark.parametrize("key", often([key for key, page in facts.pages().items() if not page.facts.live], ["masks"]))
def test_a_link_opens_the_same_view(key):
    for view in stored(key):
        compared(key, book.shown(key, moved(key, view)).views)


def test_a_control_that_replaces_one_that_is_followed_is_said_as_it_began():
    """Each dictionary has a control of its own for its features."""
    found = Followed(
        {"dictionary": 4, "feature": 913},
        controls={"dictionary": "dictionary", "feature": "feature4"},
        strayed={"dictionary": {"dictionary", "feature"}, "feature4": {"feature"}},
        gone={"dictionary": {"feature4", "rows"}},
    )
    view, follows = {"show": "text", "dictionary": "4"}, {"feature": "feature4"}
    place = addresses.ShownAt(page="features", view=view, controls=follows, fixed={"dictionary": 4})
    assert found.place("features", {"show": "text"}) == place
    found.gone = {"dictionary": {"rows"}}
    assert found.place("features", {"show": "text"}).controls == {"dictionary": "dictionary"} | follows


def test_the_picture_there_is_that_of_the_notebook():
    here = heads.portrait("stories", "The dog saw the cat, and the cat saw the dog.", layer=1, head=1, token=7)
    link = here.link()
    assert link is not None
    assert link.is_exact
    there = book.shown("heads", dict(parse_qsl(urlsplit(link.url).query))).views[here.key]
    without_made = [one.json().partition(', "made":')[0] for one in (here, there)]
    assert without_made[0] == without_made[1]


def test_most_views_have_a_link_that_can_tell_all_of_their_arguments():
    told = [any(is_whole(name, one) for one in found) for name, found in addresses.places().items()]
    assert sum(told) > MOST * len(told) > 100


def is_whole(name: str, place: addresses.ShownAt) -> bool:
    subject, _, own = name.partition(".")
    known = {argument.partition(".")[0] for argument in {**place.controls, **place.fixed}}
    parameters = inspect.signature(catalogue.subject(subject)[own]).parameters
    return parameters.keys() - {SO_FAR} <= known
