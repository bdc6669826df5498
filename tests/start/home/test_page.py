"""The front page: a text and its river, and the way to every page."""

from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from pages.facts import pages
from pages.ui import links
from pages.ui.components import scene
from tests.nightly import often
from tests.pages import visits
from tests.pages.figures import scenes
from tests.pages.own_models import brought
from tests.pages.visits import press, run, said
from tfcore.views.model import parts as views

ROUTER = Path(__file__).parents[3] / "pages" / "router.py"


def opened(**address: str) -> AppTest:
    test = AppTest.from_file(str(ROUTER), default_timeout=60)
    test.query_params.update(address)
    test = test.run()
    assert not test.exception, test.exception
    return test


def river(test: AppTest):
    """What the component is given; None where it is not drawn."""
    found = scenes(test, "river")
    return found[0] if found else None


def test_it_opens_with_a_text_and_its_river():
    test = opened()
    assert test.text_area(key="text").value == "Sam was a little boy. One day, Sam said that"
    assert [button.label for button in test.button if button.label == "Run"]
    said = river(test)
    assert said["next"][0] == ["·he", pytest.approx(0.69, abs=0.02)]
    assert said["caption"].startswith("'·he', 69%: the widest ribbon of one head comes from")
    assert opened(heads="2.5*0", measured="2").text_area(key="text").value


def test_its_river_can_be_changed_measured_and_written_on():
    said = river(opened(heads="2.5*0", measured="2"))
    assert (said["factors"], said["measure"]) == ({"2.5": 0.0}, "log-probability of '·the' after the last token")
    assert river(opened(measured="99"))["word"] == 0
    test = press(opened(temperature="0.0"), "write")
    assert test.text_area(key="text").value.endswith("said that he")
    for name in ("he or she?", "a red ball again"):
        assert river(press(test, f"try {name}"))["next"]


def test_a_model_that_does_not_write_has_no_river():
    test = opened(model="translate")
    assert river(test) is None
    assert "A river is drawn of decoders" in test.info[0].value


def test_it_leads_to_every_page():
    links_shown = [e.proto.page for e in opened().main if getattr(e, "type", "") == "page_link"]
    assert set(links_shown) == set(pages()) - {""}


def test_a_link_takes_the_text_to_the_page_of_the_river():
    test = opened(text="One $x$ :red[two]", heads="1.1*2")
    [link] = [e.proto for e in test.main if getattr(e, "type", "") == "page_link" and "The same on" in e.proto.label]
    said = parse_qs(link.query_string)
    assert (link.page, said["text"], said["heads"]) == ("flow", ["One $x$ :red[two]"], ["1.1*2"])


def test_its_link_can_be_copied():
    assert any(
        getattr(e, "type", "") == "bidi_component" and e.proto.component_name.endswith("copy_link")
        for e in opened().main
    )
    assert any("This link has version 99" in words.value for words in opened(v="99").caption)


def test_nothing_to_see_without_a_text():
    test = opened()
    test.text_area(key="text").set_value("")
    test = test.run()
    assert river(test) is None
    assert "There is no text yet" in test.info[0].value


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "$x$ :red[x]", "\0\x1b", "😀", "x" * 100_000])
def test_any_text(text):
    test = opened()
    test.text_area(key="text").set_value(text)
    assert not test.run().exception


@pytest.mark.parametrize("address", [{"z": "%%%"}, {"text": "x" * 5_000}, {"nonsense": "1", "head": "99"}])
def test_damaged_addresses(address):
    assert opened(**address).title[0].value


def test_it_says_which_tokens_of_a_long_text_are_shown():
    test = opened(text="A dog ran. " * 20)
    assert "The text has 81 tokens; the last 40 are used here." in said(test, "caption")
    test.text_area(key="text").set_value("A dog ran.")
    assert "are used here" not in said(run(test), "caption")


def test_a_long_text_travels_compressed():
    assert set(links.text_parameters("text", "a cat " * 300)) == {"text"}
    assert set(links.text_parameters("text", "é" * 2_000)) == {"z"}


def test_it_leads_back_to_where_one_was():
    test = visits.opened("foundations/heads/page.py", text="One two three")
    test = test.switch_page("start/home/page.py").run()
    assert not test.exception, test.exception
    back = [e.proto for e in test.main if getattr(e, "type", "") == "page_link"]
    assert any(link.page == "heads" and "text=" in link.query_string for link in back)
    assert any("Where you were" in words.value for words in test.markdown)


def test_a_part_of_the_map_leads_to_its_page_and_heads_take_the_model_along(monkeypatch):
    told, gone = [], []
    monkeypatch.setattr(scene, "_component", lambda **_: {"told": told[-1]})
    monkeypatch.setattr(links, "go", lambda file, parameters: gone.append((file, parameters)))
    parts = views.about(views.parts("stories-moe").result)
    for one in (
        ["part", parts.index("heads")],
        ["part", parts.index("experts")],
        ["part", 999],
        ["part", True],
        "part",
    ):
        told.append(one)
        opened(model="stories-moe")
    assert gone == [("foundations/heads/page.py", {"model": "stories-moe"}), ("experts/routing/page.py", {})]


def test_the_prediction_after_any_token_is_explained():
    assert river(opened(token="4"))["target"] == 4
    test = opened(token="99")
    assert river(test)["target"] == len(river(test)["tokens"]) - 1
    assert "Corrected from the link: token 99" in said(test, "caption")


@pytest.mark.parametrize("family", often(["feelings", "names", "agreement"], ["feelings"]))
def test_the_river_of_what_names_classes_ends_in_them(allowed, family):
    labels = {
        "feelings": {"sad", "glad"},
        "names": {"other", "name", "place"},
        "agreement": {"contradiction", "neutral", "entailment"},
    }[family]
    brought(f"./{family}")
    test = opened(model=f"./{family}", text="the dog sat")
    assert {name for name, _ in river(test)["next"]} == labels
    assert not [button for button in test.button if button.label == "Write the next token"]
    [link] = [e.proto for e in test.main if getattr(e, "type", "") == "page_link" and "The same on" in e.proto.label]
    assert parse_qs(link.query_string)["by"] == ["the class"]
