"""The page on the flow of information: what it draws is the model's, and what a browser sends is never trusted."""

import json
from functools import partial

import numpy as np
import pytest

from pages.ui import cache, flow
from tests.pages import visits
from tests.pages.visits import press, run
from tests.pages.waiting import wait_for_jobs
from tfcore.analysis.inside.information_flow import layer_guesses, trace
from tfcore.analysis.inside.knock_outs import all_effects, knock_out_each
from tfcore.analysis.inside.quantities import Quantity

opened = partial(visits.opened, "inside/flow/page.py")
TEXT = "Sam was a little boy. One day, Sam said that"


def river(test):
    """What the component is given."""
    [element] = [one for one in test.get("bidi_component") if one.proto.component_name == "tf_river"]
    return json.loads(element.proto.json)


def ids(text: str = TEXT) -> list[int]:
    return list(cache.model("stories")[1].encode(text))


def token(word: str) -> int:
    return ids(f"said {word}")[-1]


def test_what_is_drawn_is_the_models():
    test = opened()
    said, model = river(test), cache.model("stories")[0]
    found, guesses = trace(model, ids(), len(ids()) - 1), layer_guesses(model, ids())
    np.testing.assert_allclose(said["stream"], found.stream, atol=1e-4)
    np.testing.assert_allclose(said["feedforward"], found.feedforward, atol=1e-4)
    assert said["tokens"][-2:] == ["·said", "·that"]
    assert [one["open"] for one in said["columns"]] == [True] * 4
    assert [probability for _, probability in said["guesses"]] == pytest.approx(guesses.probability, abs=1e-4)
    assert said["next"][0] == ["·he", pytest.approx(guesses.final.max(), abs=1e-4)]
    best = int(guesses.final.argmax())
    effects = all_effects(list(knock_out_each(model, ids(), Quantity("prediction", best), "zero")), 4)
    np.testing.assert_allclose(said["effects"], effects[:, :6], atol=2e-3)
    assert said["exact"] == [True] * 4
    assert said["largest"] == pytest.approx(abs(effects[:, :6]).max(), abs=1e-3)
    assert (said["word"], said["foldable"], said["factors"]) == (0, False, {})
    assert said["story"].startswith("'·he', 69%: the widest ribbon comes from")


def test_a_head_in_the_address_is_changed_and_given_back():
    test = opened(heads="2.5*0 9.9*1")
    said = river(test)
    assert said["factors"] == {"2.5": 0.0}
    assert said["next"][0] == ["·he", pytest.approx(0.42, abs=0.02)]
    assert "head 2.5 × 0" in said["story"]
    assert visits.address(test, "heads") == "2.5*0"
    assert "heads" in visits.said(test, "caption", "info", "warning", "markdown")  # of what was no head
    test = press(test, "whole")
    assert river(test)["factors"] == {}
    assert not [button for button in test.button if button.key == "whole"]


def test_heads_are_measured_on_another_token():
    test = opened(word="2: ·his")
    said = river(test)
    assert said["word"] == 1
    assert said["measure"] == "log-probability of '·his' after the last token"
    network = cache.model("stories")[0]
    effects = all_effects(list(knock_out_each(network, ids(), Quantity("prediction", token("his")), "zero")), 4)
    np.testing.assert_allclose(said["effects"], effects[:, :6], atol=2e-3)


def test_the_next_token_joins_the_text():
    test = press(opened(), "write")
    assert test.text_area(key="text").value == f"{TEXT} he"
    assert river(test)["tokens"][-1] == "·he"
    test = opened(text="a dog " * 40)
    assert test.button(key="write").disabled
    assert len(river(test)["tokens"]) == flow.TOKENS
    assert "40" in visits.said(test, "caption", "info", "warning", "markdown")


def test_a_large_model_folds_and_is_estimated_until_it_is_measured(monkeypatch):
    monkeypatch.setattr(flow, "ALL_OPEN", 2)
    monkeypatch.setattr(flow, "OPEN", 1)
    monkeypatch.setattr(flow, "FEW", 0.0)
    test = opened(open="1 7 x")
    said = river(test)
    assert [(one["first"], one["last"], one["open"]) for one in said["columns"]] == [
        (0, 0, False),
        (1, 1, True),
        (2, 3, False),
    ]
    assert said["foldable"]
    assert visits.address(test, "open") == "1"
    wait_for_jobs()
    assert river(run(test))["exact"] == [True] * 4
    assert sum(one["open"] for one in river(opened())["columns"]) == 1


@pytest.mark.parametrize(
    ("event", "key", "value"),
    [
        ({"word": 1}, "word", 1),
        ({"word": 99}, "word", 0),
        ({"word": "x"}, "word", 0),
        ({"moved": {"heads": "2.5*0", "seq": 1, "final": True}}, "heads", "2.5*0"),
        ({"moved": {"heads": "7.7*0", "seq": 1, "final": True}}, "heads", ""),
        ({"moved": {"heads": None, "seq": 1, "final": True}}, "heads", ""),
        ({"moved": "nonsense"}, "heads", ""),
        ({"ribbon": [0, 99, 0, 0]}, "heads", ""),
        ({"ribbon": "nonsense"}, "heads", ""),
    ],
)
def test_what_a_browser_sends(event, key, value, monkeypatch):
    sent = []
    monkeypatch.setattr(flow.river.dragging, "take", lambda key, now: sent.append((key, now)))
    monkeypatch.setattr(flow.controls, "set_values", lambda **values: sent.extend(values.items()))
    monkeypatch.setattr(flow.links, "go", lambda *where: sent.append(where))
    handlers = {}
    monkeypatch.setattr(flow.river, "_component", lambda **given: handlers.update(given) or event)
    opened()
    monkeypatch.setattr(flow.river.st, "session_state", {"heads:river": event})
    moved = event.get("moved")
    monkeypatch.setattr(flow.river.dragging, "heard", lambda *_: moved if isinstance(moved, dict) else None)
    for name in ("moved", "word", "open"):
        handlers[f"on_{name}_change"]()
    expected = [(key, value)] if (value or "heads" in str(event.get("moved"))) else []
    assert sent == expected


@pytest.mark.parametrize("text", ["a", "😀שלום\u202e <b>$x$ %{y} :red[a]</b>\0" + "word " * 90])
def test_any_text(text):
    test = opened()
    test.text_area(key="text").set_value(text)
    assert river(run(test))["tokens"]


def test_no_text_is_said_so():
    test = opened(text="")
    assert "There is no text yet" in test.info[0].value
