"""The row of what is worth seeing in a text: buttons for what the page shows, links to the pages that show the rest."""

from urllib.parse import parse_qsl

import pytest

from pages.facts import pages
from pages.inside.interventions import switch
from pages.ui.in_your_text import in_heads, in_stream
from tests.nightly import nightly, often
from tests.pages import visits
from tests.pages.visits import plain, run
from tfcore.views import sources
from tfcore.views.highlights import Chip, chips, highlights_of
from tfcore.views.sources import Reading

DOGS = "Max had a red ball. One day the little dog lost the red"
PARK = "Tom went to the park with Lily. Tom saw a big tree. He was very"
# Pages with a row, and what their address says so that a text is read.
VIEWS = {
    "": {},
    "heads": {},
    "flow": {},
    "stream": {},
    "interventions": {},
    "induction": {"text_is": "your text, once"},
    "walkthrough": {},
}
LINK = Chip("link", "", 9, ((1, 2),), 4)
REPEATED = Chip("repeated", "", 9, ((1, 2),), 4)
DECISION = Chip("decision", "", 7, ((3, 1), (2, 0)))
SURPRISE = Chip("surprise", "", 3, key=4)


def opened(key, **view):
    return visits.opened(pages()[key].file, **{"model": "stories", "text": DOGS} | VIEWS[key] | view)


def buttons(test):
    return {plain(one.key): one for one in test.button if plain(one.key).startswith("found ")}


def links(test):
    return {one.proto.label.replace("\\", ""): one.proto for one in test.get("page_link")}


def chosen(test, *keys):
    return {key: test.session_state[key] for key in keys}


def is_as_asked(test):
    return not any(word in visits.said(test, "caption") for word in ("Adjusted", "Corrected"))


# ---- every chip opens what shows it ----


@pytest.mark.parametrize("key", often(VIEWS, ["heads", "stream"]))
def test_every_chip_opens_a_view_as_it_is_asked_for(key):
    first = opened(key)
    labels = [chip.words for chip in chips(highlights_of(Reading("stories", DOGS)))[:5]]
    shown = buttons(first)
    leading = {label: link for label, link in links(first).items() if label in labels}
    assert len(shown) + len(leading) == len(labels)
    for name in shown:
        test = opened(key)
        buttons(test)[name].click()
        assert is_as_asked(run(test))
    for link in leading.values():
        there = visits.opened(pages()[link.page].file, **dict(parse_qsl(link.query_string)))
        assert is_as_asked(there)


@nightly
@pytest.mark.parametrize("key", VIEWS)
def test_every_chip_of_a_real_model_too(key, real_models):
    text = "A green fox sang to nine ducks. Seven kings heard how the green fox"
    first = opened(key, model="smollm2", text=text)
    assert buttons(first)
    for name in buttons(first):
        test = opened(key, model="smollm2", text=text)
        buttons(test)[name].click()
        assert is_as_asked(run(test))


def test_a_link_between_words_sets_the_head_that_has_it():
    test = opened("heads")
    first = chips(highlights_of(Reading("stories", DOGS)))[0]
    assert first.kind == "link"
    buttons(test)["found 0"].click()
    run(test)
    assert chosen(test, "layer", "head", "token", "hide") == {
        "layer": first.heads[0][0],
        "head": first.heads[0][1],
        "token": first.token,
        "hide": True,
    }


def test_another_page_has_links_that_say_the_whole_view():
    test = opened("heads", bos="with")
    first = next(one for one in chips(highlights_of(Reading("stories", DOGS, bos=True))) if one.kind == "decision")
    (link,) = [proto for label, proto in links(test).items() if "leads from layer" in label]
    said = dict(parse_qsl(link.query_string))
    layer, head = first.heads[0]
    known = {"model": "stories", "text": DOGS, "bos": "with", "show": "who", "position": str(first.token)}
    known |= {"layer": str(layer), "part": f"head {head}"}
    assert {key: said[key] for key in known} == known
    assert link.page == "stream"


def test_a_page_that_reads_less_of_a_text_leads_to_the_same_tokens():
    """The river reads 40 tokens, the logit lens all 80 of this text: the position there is that of the same token."""
    text = " ".join([PARK, "happy. ", DOGS, "ball. Lily was sad. She said,", PARK])
    of_flow = highlights_of(Reading("stories", text), 40)
    assert of_flow.tokens == 40
    (link,) = [proto for label, proto in links(opened("flow", text=text)).items() if label.startswith("surprise")]
    whole = len(sources.opened("stories")[1].encode(text))
    position = int(dict(parse_qsl(link.query_string))["position"])
    assert whole - position == 40 - next(c.token for c in chips(of_flow) if c.kind == "surprise")


@pytest.mark.parametrize("text", ["<b>$x$</b> :red[a] <b>$x$</b> :red[a] *c*", "a"])
def test_hostile_words_are_shown_as_they_are(text):
    for one in buttons(opened("heads", text=text)).values():
        assert ":red[" not in one.label
        assert "$x$" not in one.label


def test_a_text_without_links_says_so():
    said = visits.said(opened("heads", text="a"), "caption")
    assert "No head of this model links words of this text above 0.2" in said


@pytest.mark.parametrize(
    ("shows", "chip", "values"),
    [
        (in_heads, LINK, {"show": "heads", "of": "head", "layer": 1, "head": 2, "token": 9, "hide": True}),
        (in_heads, REPEATED, {"show": "heads", "of": "head", "layer": 1, "head": 2, "token": 9, "hide": True}),
        (in_heads, Chip("repeated", "", 9), {"show": "heads", "of": "head", "token": 9, "hide": True}),
        (in_heads, DECISION, None),
        (in_stream, SURPRISE, {"show": "lens", "position": 3, "by": "prediction", "word": -1}),
        (
            in_stream,
            DECISION,
            {"show": "who", "position": 7, "by": "prediction", "word": 0, "layer": 3, "part": "head 1"},
        ),
        (in_stream, Chip("decision", "", 7), {"show": "lens", "position": 7, "by": "prediction", "word": 0}),
        (in_stream, LINK, None),
    ],
)
def test_each_kind_has_its_page(shows, chip, values):
    assert shows(chip) == values


def test_interventions_take_the_heads_of_the_last_prediction():
    assert switch.shows(7, DECISION)["parts"] == "2.0 3.1"
    assert switch.shows(8, DECISION) is None
    assert switch.shows(7, LINK) is None


# ---- what a page begins with ----


def typed(key, text, **view):
    """A page on which a visitor has typed a text."""
    test = visits.opened(pages()[key].file, model="stories", **view)
    test.text_area(key="text").input(text)
    return run(test)


def test_a_typed_text_begins_with_its_first_link_and_the_address_says_so():
    test = typed("heads", PARK)
    first = chips(highlights_of(Reading("stories", PARK)))[0]
    (layer, head), token = first.heads[0], first.token
    keys = ("layer", "head", "token", "hide")
    assert chosen(test, *keys) == {"layer": layer, "head": head, "token": token, "hide": True}
    said = {key: visits.address(test, key) for key in keys if key in test.query_params}
    again = visits.opened(pages()["heads"].file, model="stories", text=PARK, **said)
    assert chosen(again, *keys) == chosen(test, *keys)


def test_what_is_chosen_later_stays():
    test = typed("heads", PARK)
    test.slider(key="layer").set_value(0)
    run(test)
    assert run(test).slider(key="layer").value == 0


def test_a_text_of_a_link_begins_as_it_always_did():
    before = opened("heads", text=PARK, v="4")
    assert chosen(before, "layer", "head") == {"layer": 3, "head": 0}
    assert not before.session_state["hide"]


def test_an_example_keeps_what_it_sets():
    test = typed("heads", PARK)
    visits.press(test, "try previous token")
    assert chosen(test, "layer", "head", "token") == {"layer": 1, "head": 1, "token": 25}


def test_a_typed_text_of_the_stream_begins_where_it_is_decided():
    test = typed("stream", PARK)
    first = next(one for one in chips(highlights_of(Reading("stories", PARK))) if one.kind == "decision")
    layer, head = first.heads[0]
    values = chosen(test, "position", "layer", "part")
    assert values == {"position": first.token, "layer": layer, "part": f"head {head}"}


def test_a_section_that_is_open_stays_open():
    test = typed("stream", PARK, show="Norm and cosine")
    assert test.session_state["show"] == "shape"
