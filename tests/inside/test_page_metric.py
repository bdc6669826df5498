"""The metric is one choice on all pages of the chapter: in the address, in links between them, and in old links."""

import pytest

from pages.inside import metric
from pages.ui import cache, links
from tests.pages import visits
from tests.pages.visits import opened, run
from tfcore.measures.effect_metric import Quantity

TEXT = "There was a little boy. One day, Sam said that"
FILES = {url: f"inside/{url}/page.py" for url in ("stream", "interventions", "flow", "circuits")}
CHOSEN = {"by": "two tokens", "word": metric.ANOTHER, "own": " dog", "against": metric.ANOTHER, "own_against": " cat"}


def token(piece: str) -> int:
    [found] = cache.model("stories")[1].encode(piece)
    return int(found)


@pytest.fixture
def chosen(monkeypatch) -> list[Quantity]:
    """What pages explain."""
    found: list[Quantity] = []
    real = metric.choose_tokens

    def note(*given):
        found.append(real(*given))
        return found[-1]

    monkeypatch.setattr(metric, "choose_tokens", note)
    return found


@pytest.mark.parametrize(
    ("url", "show"), [("stream", "who"), ("stream", "skip"), ("interventions", "patch"), ("flow", "")]
)
@pytest.mark.parametrize(
    ("said", "explained"),
    [
        (CHOSEN, Quantity("difference", 1, 2)),
        ({**CHOSEN, "by": "the next token"}, Quantity("prediction", 1)),
        ({**CHOSEN, "own_against": " dog"}, Quantity("prediction", 1)),
    ],
)
def test_one_address_means_the_same_on_every_page(url, show, said, explained, chosen):
    test = opened(FILES[url], model="stories", text=TEXT, **({"show": show} if show else {}), **said)
    dog, cat = token(" dog"), token(" cat")
    expected = Quantity("prediction", dog) if explained.kind == "prediction" else Quantity("difference", dog, cat)
    assert set(chosen) == {expected}
    assert "Corrected" not in visits.said(test, "caption")


def test_the_graph_of_features_explains_he_against_she_at_first(chosen):
    """As in the first release, whose links leave that out; of another text, the prediction."""
    opened(FILES["circuits"])
    assert set(chosen) == {Quantity("difference", token(" he"), token(" she"))}
    chosen.clear()
    opened(FILES["circuits"], story="Max had a red ball. One day Max lost the red")
    assert {one.kind for one in chosen} == {"prediction"}


@pytest.mark.parametrize("said", [CHOSEN, {**CHOSEN, "by": "the next token"}])
def test_the_graph_of_features_explains_what_a_link_of_another_page_says(said, chosen, monkeypatch):
    made: dict[str, dict[str, str]] = {}
    with monkeypatch.context() as links_of_stream:
        links_of_stream.setattr(links, "to", lambda _, view, label, *__: made.update({str(label): view}))
        opened(FILES["stream"], model="stories", text=TEXT, **said)
        to_graph = made.pop(metric.GRAPH)
        opened(FILES["stream"], model="stories", text="one two " * 20, **said)
        assert metric.GRAPH not in made  # it would be cut there
    chosen.clear()
    test = opened(FILES["circuits"], **to_graph)
    kind = "difference" if said == CHOSEN else "prediction"
    expected = Quantity(kind, token(" dog"), token(" cat") if kind == "difference" else 0)
    assert set(chosen) == {expected}
    assert "Corrected" not in visits.said(test, "caption")


def test_edges_between_heads_explain_two_tokens_against_the_mean(chosen):
    """Where the link of another page leads: no other text is needed."""
    place = metric.PLACES["circuits"][0]
    test = opened(FILES["circuits"], model="stories", text=TEXT, **place.view, **CHOSEN)
    assert set(chosen) == {Quantity("difference", token(" dog"), token(" cat"))}
    assert "Corrected" not in visits.said(test, "caption")
    assert any(shown.label == "Faithfulness" for shown in test.metric)


@pytest.mark.parametrize("url", ["interventions", "flow"])
def test_the_loss_of_the_text_is_explained_where_it_can_be(url, chosen):
    opened(FILES[url], model="stories", text=TEXT, by="the whole text")
    assert set(chosen) == {Quantity("text")}


@pytest.mark.parametrize(
    ("url", "address", "kind"),
    [
        ("stream", {"token": "4: ·she", "against": "1: ·he"}, "difference"),
        ("stream", {"token": "4: ·she", "against": "nothing: the plain logit"}, "prediction"),
        ("stream", {"token": "4: ·she", "against": "the mean of all tokens", "v": "1"}, "prediction"),
        ("interventions", {"by": "two tokens", "token": "4: ·she", "against": "1: ·he"}, "difference"),
        (
            "interventions",
            {"show": "patch", "answers": "two tokens", "token": "4: ·she", "against": "1: ·he"},
            "difference",
        ),
        ("flow", {"word": "4: ·she", "against": "1: ·he", "v": "2"}, "difference"),
        ("flow", {"word": "4: ·she"}, "prediction"),
        ("circuits", {"word": "4: ·she", "against": "1: ·he", "v": "2"}, "difference"),
        ("circuits", {"word": "4: ·she", "against": "another token", "own_against": " he"}, "difference"),
        ("circuits", {"word": "4: ·she", "against": "the mean of all logits"}, "prediction"),
    ],
)
def test_links_of_earlier_releases_explain_what_they_did(url, address, kind, chosen):
    test = opened(FILES[url], model="stories", text=TEXT, **address)
    assert "Corrected" not in visits.said(test, "caption")
    she = token(" she")
    assert set(chosen) == {
        Quantity("prediction", she) if kind == "prediction" else Quantity("difference", she, token(" he"))
    }


def test_both_predictions_are_compared_until_somebody_chooses(chosen):
    test = opened(FILES["interventions"], model="stories", text=TEXT)
    assert set(chosen) == {Quantity("prediction", token(" he"))}
    chosen.clear()
    test.segmented_control(key="show").set_value("patch")
    assert not chosen
    assert run(test).segmented_control(key="by").value == "found"
    test.segmented_control(key="by").set_value("difference")
    run(test)
    test.segmented_control(key="show").set_value("switch")
    assert run(test).segmented_control(key="by").value == "difference"


def test_a_reference_is_no_second_token():
    test = opened(FILES["stream"], model="stories", text=TEXT, against="nothing: the raw logit")
    assert test.segmented_control(key="by").value == "prediction"
    test.segmented_control(key="by").set_value("difference")
    test = run(test)
    assert test.selectbox(key="against").value == 1
    test.segmented_control(key="by").set_value("prediction")
    test = run(test)
    assert test.selectbox(key="against").value == metric.MEAN
    assert "Corrected" not in visits.said(test, "caption")


def test_links_to_the_other_pages_carry_text_and_metric(monkeypatch):
    made: dict[str, dict[str, str]] = {}
    monkeypatch.setattr(links, "to", lambda file, view, label, *_: made.update({str(label): {"": file, **view}}))
    opened(FILES["stream"], model="stories", text=TEXT, position="4", bos="with", **CHOSEN)
    assert {"ablation", "activation patching", "the flow of information", "the logit lens"} <= made.keys()
    view = made["ablation"]
    assert view[""] == FILES["interventions"]
    assert {key: view[key] for key in CHOSEN} == CHOSEN
    assert view["text"] == "There was a little"  # BOS, then these: the text ends at the position
    assert (view["model"], view["bos"]) == ("stories", "with")
    made.clear()
    opened(FILES["interventions"], model="stories", text=TEXT, by="the whole text")
    assert made["the flow of information"]["by"] == "the whole text"
    assert "direct logit attribution" not in made  # a logit is no loss


def test_a_token_that_no_typing_gives_is_left_to_the_page():
    view = metric.told(metric._reading.read("stories", TEXT, 128), Quantity("prediction", token(" he")))
    assert view == {"model": "stories", "text": TEXT, "by": "the next token", "word": metric.ANOTHER, "own": " he"}
    begin = cache.model("stories")[1].special_tokens
    for special in begin.values():
        assert "own" not in metric.told(metric._reading.read("stories", TEXT, 128), Quantity("prediction", special))
