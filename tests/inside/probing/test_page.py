"""The page on probing: what is read after each layer, by class and word by word."""

from functools import partial

import pytest

from pages.inside.probing import choices
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.visits import run
from tfcore.views.inside import probing as views
from tfcore.views.inside.probing import say
from tfcore.views.inside.probing.measure import two_classes

opened = partial(visits.opened, "inside/probing/page.py")


def test_it_begins_with_parts_of_speech_in_the_middle():
    test = opened()
    assert test.slider(key="after").value == 1
    own = views.probed_of("stories", "part of speech")
    head, drawn = figures(test)["accuracy"]
    assert head["alt"] == str(say.readable(own))
    curve = next(trace["y"] for trace in drawn["data"] if trace.get("name") == "probe")
    assert curve == pytest.approx(own.accuracy(), abs=1e-4)
    assert "Layer 1: " in figures(test)["classes"][0]["caption"]
    assert "Passage 1 as it is read at layer 1" in visits.said(test, "markdown")


def test_another_property_layer_and_passage():
    test = opened(target="seen before", after="-1", passage="16")
    assert "Passage 16 as it is read at the embedding" in visits.said(test, "markdown")
    assert figures(test)["accuracy"][0]["alt"].startswith("Seen before (2 classes)")
    test.slider(key="after").set_value(3)
    assert "Layer 3: " in figures(run(test))["classes"][0]["caption"]


def test_two_classes_and_a_text_along_their_direction():
    test = opened(show="two classes of your own", after="2")
    drawn = figures(test)
    assert set(drawn) == {"accuracy", "pointed", "along"}
    assert "difference of means: " in drawn["accuracy"][0]["alt"]
    assert "at layer 2" in drawn["along"][0]["alt"]
    test.segmented_control(key="method").set_value("probe")
    assert "in turn, probe: " in figures(run(test))["accuracy"][0]["alt"]


def test_a_click_on_a_point_chooses_its_layer_the_embedding_too(monkeypatch):
    heard = []
    monkeypatch.setattr(choices.controls, "set_values", lambda **values: heard.append(values))
    for index in (0, 4, 5, -1, "2"):
        choices.click_on_layer({"customdata": index}, 5)
    assert heard == [{"after": -1}, {"after": 3}]


@pytest.mark.parametrize("show", ["two classes of your own", "steer with it"])
def test_what_is_left_out_of_a_class_is_said_until_it_fits(show):
    many = "\n".join(f"The dog saw {n} cats." for n in range(two_classes.SENTENCES + 2))
    test = opened(show=show, one=many, two="It was very, " * 20 + "sad.\nThe cat cried.")
    words = visits.said(test, "caption")
    longer, most = "class is longer than what is read", two_classes.SENTENCES
    assert f"The first {longer}: the first {most} of {most + 2} sentences are used." in words
    assert f"The second {longer}: of one sentence the first {two_classes.TOKENS} tokens are used." in words
    for key in ("one", "two"):
        test.text_area(key=key).set_value("The dog was glad.\nThe boy ran.\nHe sang." + f"\n{key}")
    assert longer not in visits.said(run(test), "caption")


@pytest.mark.parametrize("show", ["two classes of your own", "steer with it"])
def test_too_few_sentences_are_said_so(show):
    test = opened(show=show)
    test.text_area(key="one").set_value("one alone")
    assert "at least two sentences" in run(test).info[0].value
    test.text_area(key="one").set_value("a\nb")
    test.text_area(key="two").set_value("b\n\na")
    assert "the same sentences" in run(test).info[0].value


def test_steering_by_a_factor():
    test = opened(show="steer with it", factor="+8")
    drawn = figures(test)
    assert "added with factor +8" in drawn["next"][0]["alt"]
    assert "collapses at factor" in drawn["collapse"][0]["alt"]
    assert "Steered, factor +8" in visits.said(test, "markdown")
    test.segmented_control(key="source").set_value("feature")
    assert "eature stream/622" in figures(run(test))["next"][0]["alt"]


@pytest.mark.parametrize("show", ["two classes of your own", "steer with it"])
def test_any_sentences(show):
    test = opened(show=show)
    test.text_area(key="two").set_value("😀שלום\u202e <b>$x$ %{y} :red[a]</b>\0\n.\n" + "word " * 90)
    assert not run(test).exception


def test_two_sentences():
    test = opened(show="two sentences", left="The dog ran.", right="The dog ran.")
    assert test.metric[0].value == "1.000"
    assert figures(test)["pairs"][0]["alt"].startswith("Cosine similarity 1.000")
    assert "trained on masked tokens alone was not" in visits.said(test, "caption")
    test.text_area(key="right").set_value("")
    assert "at least one token" in run(test).info[0].value
