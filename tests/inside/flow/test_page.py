"""The page on the flow of information: what it draws is the model's, and what a browser sends is never trusted."""

import re
from functools import partial

import numpy as np
import pytest
import torch

from pages.ui import cache, flow
from pages.ui.components import scene
from pages.ui.head_links import HeadOfText
from tests.nightly import nightly
from tests.pages import visits
from tests.pages.figures import scenes
from tests.pages.visits import press, run
from tests.pages.waiting import wait_for_jobs
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.heads.part_texts import text_ids
from tfcore.measures.knock_outs import all_effects, knock_out_each
from tfcore.views.inside import flow as views
from tfcore.views.inside.flow.measure.passages import of_ids
from tfcore.views.inside.flow.measure.routes import layer_guesses, trace

opened = partial(visits.opened, "inside/flow/page.py")
TEXT = "Sam was a little boy. One day, Sam said that"


def river(test):
    """What the component is given."""
    [found] = scenes(test, "river")
    return found


def ids(text: str = TEXT) -> list[int]:
    return list(cache.model("stories")[1].encode(text))


def token(word: str) -> int:
    return ids(f"said {word}")[-1]


def test_what_is_drawn_is_the_models():
    test = opened()
    said, model = river(test), cache.model("stories")[0]
    passage = of_ids(ids(), len(ids()) - 1)
    found, guesses = trace(model, passage), layer_guesses(model, passage)
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
    assert said["caption"].startswith("'·he', 69%: the widest ribbon of one head comes from")


def test_a_head_in_the_address_is_changed_and_given_back():
    test = opened(heads="2.5*0 9.9*1")
    said = river(test)
    assert said["factors"] == {"2.5": 0.0}
    assert said["next"][0] == ["·he", pytest.approx(0.42, abs=0.02)]
    assert "head 2.5 × 0" in said["caption"]
    assert visits.address(test, "heads") == "2.5*0"
    assert "heads" in visits.said(test, "caption", "info", "warning", "markdown")  # of what was no head
    test = press(test, "whole")
    assert river(test)["factors"] == {}
    assert not [button for button in test.button if button.key == "whole:button"]


def test_the_former_chances_stand_beside_those_of_a_changed_model():
    own = layer_guesses(cache.model("stories")[0], of_ids(ids(), len(ids()) - 1)).final
    said = river(opened(heads="2.5*0"))
    tokens = [token(word.removeprefix("·")) for word, _ in said["next"]]
    assert said["former"] == pytest.approx([own[i] for i in tokens], abs=1e-4)
    assert said["former"][0] > said["next"][0][1] + 0.2
    assert river(opened())["former"] is None
    assert river(opened(temperature="0.5"))["former"][0] == pytest.approx(own.max(), abs=1e-4)


def test_a_token_that_was_first_is_last_where_it_fell_out():
    reading = flow.read("stories", "Max lost his red ball. One day Max found the red").reading
    [ball] = views.guesses_of(reading, None, "").ranked(1)
    assert views.following(reading, None, "")[0] == views.following(reading, None, "3.5*0")[0] == ball
    lost = views.following(reading, None, "3.0*-2")
    assert (lost[-1], len(lost)) == (ball, views.NEXT)
    assert lost[:-1] == views.guesses_of(reading, None, "3.0*-2").ranked(views.NEXT - 1)


def test_white_space_alone_is_said_in_words():
    assert river(opened(text="Max ran.\n\nMax  sat"))["tokens"][4:9] == ["new line", "new line", "M", "ax", "space"]


def test_heads_are_measured_on_another_token():
    test = opened(word="2: ·his")
    said = river(test)
    assert said["word"] == 1
    assert said["measure"] == "log-probability of '·his' after the last token"
    network = cache.model("stories")[0]
    effects = all_effects(list(knock_out_each(network, ids(), Quantity("prediction", token("his")), "zero")), 4)
    np.testing.assert_allclose(said["effects"], effects[:, :6], atol=2e-3)


def test_heads_are_measured_on_the_difference_of_two_tokens():
    test = opened(against="2: ·his")
    said = river(test)
    assert said["measure"] == "logit of '·he' less that of '·his' after the last token"
    quantity = Quantity("difference", token("he"), token("his"))
    effects = all_effects(list(knock_out_each(cache.model("stories")[0], ids(), quantity, "zero")), 4)
    np.testing.assert_allclose(said["effects"], effects[:, :6], atol=2e-3)
    words = visits.said(test, "markdown")
    assert "of the logit of '·he' above that of '·his' itself" in words
    assert "that difference falls most, by" in words
    assert river(opened(against="1: ·he"))["measure"].startswith("log-probability")  # of itself: nothing


def test_widths_of_a_token_and_of_two():
    network = cache.model("stories")[0]
    passage = of_ids(ids(), len(ids()) - 1)
    test = opened(word="2: ·his", widths="word")
    said = river(test)
    expected = trace(network, passage, toward=(token("his"),))
    np.testing.assert_allclose(said["stream"], expected.stream, atol=1e-4)
    assert (said["word"], said["traced"], said["tracing"]) == (1, True, True)
    assert said["whole"] == "what raises the logit of '·his'"
    assert "Widths are shares of what raises the logit of '·his': the widest" in said["caption"]
    assert visits.address(test, "widths") == "word"
    assert "carries most of the state" in visits.said(test, "markdown")  # the three measures are those of the state
    two = river(opened(against="2: ·his", widths="word"))
    expected = trace(network, passage, toward=(token("he"), token("his")))
    np.testing.assert_allclose(two["stream"], expected.stream, atol=1e-4)
    assert (two["word"], two["against"]) == (0, 1)
    for address in ({"widths": "nonsense"}, {"by": "the whole text", "widths": "word"}):
        assert not river(opened(**address))["traced"]
    other = river(opened(model="fill", widths="word"))
    assert (other["traced"], other["tracing"], other["whole"]) == (False, False, "the state")


def test_a_click_on_a_next_token_traces_it_and_a_second_one_the_state(monkeypatch):
    """And what heads were measured on before comes back, too."""
    now = {"by": "difference", "word": 0, "against": 3}
    monkeypatch.setattr(flow.st, "session_state", now)
    monkeypatch.setattr(flow.controls, "set_values", lambda **values: now.update(values))
    drawn = flow.read("stories", TEXT)
    he, _, the = drawn.ranked[:3]
    flow._explain(drawn, the, lambda rank: now.update(word=rank, by="prediction"))
    assert (now["widths"], now["word"], now["by"]) == ("word", 2, "prediction")
    drawn = flow.toward(drawn, Quantity("prediction", the))
    assert drawn.flow.toward == (the,)
    flow._compare(drawn, the, he, lambda rank: now.update(against=rank, by="difference"))
    assert (now["widths"], now["word"], now["against"]) == ("word", 2, 0)
    drawn = flow.toward(drawn, Quantity("difference", the, he))
    assert drawn.flow.toward == (the, he)
    flow._explain(drawn, the, lambda _: pytest.fail("the second click"))
    assert [now[key] for key in ("by", "word", "against", "widths")] == ["difference", 0, 3, "state"]
    flow._compare(drawn, the, the, lambda _: pytest.fail("of a token with itself"))
    flow._explain(drawn, -1, lambda _: pytest.fail("no token that was offered"))


def test_an_encoder_explains_a_masked_token_and_any_other(monkeypatch):
    test = opened(model="fill")
    said = river(test)
    assert (said["tokens"][said["target"]], said["choosing"], said["linked"]) == ("___", True, False)
    assert said["next"][0][0] == "·sad"
    assert [probability for _, probability in said["guesses"]][-1] == pytest.approx(said["next"][0][1], abs=1e-4)
    assert said["exact"] == [True] * 4
    assert said["measure"] == "log-probability of '·sad' at place 5"
    assert not [button for button in test.button if button.key == "write:button"]
    assert "both sides" in visits.said(test, "markdown")
    moved = river(opened(model="fill", token="2: ·dog"))
    assert (moved["target"], moved["tokens"][2]) == (2, "·dog")


def test_a_decoder_explains_the_token_that_is_chosen():
    test = opened(model="stories", text="Sam was a little boy. One day, Sam said that", token="4: ·little")
    said = river(test)
    assert (said["tokens"][said["target"]], said["choosing"], said["next"][0][0]) == ("·little", True, "·girl")
    assert "after '·little' (4)" in said["measure"]
    assert said["caption"].startswith("After '·little' (4): '·girl'")
    [write] = [button for button in test.button if button.key == "write:button"]
    assert write.disabled
    test.text_area(key="text").set_value("Once upon a time there was a big")
    said = river(visits.run(test))  # a new text: its end
    assert said["tokens"][said["target"]] == "·big"
    assert "token" not in test.query_params


@nightly
def test_an_encoder_decoder_explains_a_token_of_its_translation():
    test = opened(model="translate")
    said = river(test)
    assert said["layers"][:5] == ["encoder 0", "encoder 1", "encoder 2", "decoder 0", "cross 0"]
    assert said["tokens"][9:] == ["<start>", "Elle", "·me", "·donna", "·un"]
    assert (said["target"], said["next"][0][0], said["choosing"]) == (13, "·livre", False)
    assert [one is None for one in said["guesses"]] == [True] * 4 + [False, True] * 2 + [False]
    assert said["caption"].startswith(
        "'·livre', 94%: the widest ribbon of one head comes from '·book' through head cross 2."
    )
    first = river(opened(model="translate", token="0: Elle", heads="8.0*0"))
    assert (first["tokens"][-1], first["factors"]) == ("<start>", {"8.0": 0.0})
    assert "head cross 2.0 × 0" in first["caption"]


def test_the_next_token_joins_the_text():
    test = press(opened(temperature="0.0"), "write")
    assert test.text_area(key="text").value == f"{TEXT} he"
    assert river(test)["tokens"][-1] == "·he"
    test = opened(text="a dog " * 40)
    assert test.button(key="write:button").disabled
    assert len(river(test)["tokens"]) == flow.TOKENS
    assert "40" in visits.said(test, "caption", "info", "warning", "markdown")


def test_bars_are_the_chances_of_what_is_written():
    own = layer_guesses(cache.model("stories")[0], of_ids(ids(), len(ids()) - 1)).final.astype(np.float64)
    said = river(opened(temperature="0.5"))
    expected = np.sort(own**2 / (own**2).sum())[::-1][: views.NEXT]
    assert [one for _, one in said["next"]] == pytest.approx(expected, abs=1e-4)
    assert said["drawing"] == "temperature 0.5"
    assert said["caption"].startswith("'·he', 69%")  # the model's own
    few = river(opened(top_p="0.7"))
    assert [one > 0 for _, one in few["next"]] == [True] * 2 + [False] * 5
    assert few["drawing"] == "temperature 1.0, top-p 0.70"
    assert river(opened())["drawing"] == ""


def test_a_large_model_folds_and_is_estimated_until_it_is_measured(monkeypatch):
    monkeypatch.setattr(views, "ALL_OPEN", 2)
    monkeypatch.setattr(views, "OPEN", 1)
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


def test_a_layer_and_a_head_are_enlarged():
    assert river(opened())["zoom"] is None
    assert river(opened(zoom="2"))["zoom"] == {"layer": 2, "head": None, "weights": None, "pair": None}
    test = opened(zoom="2.5")
    found = river(test)["zoom"]
    assert (found["layer"], found["head"], visits.address(test, "zoom")) == (2, 5, "2.5")
    model = cache.model("stories")[0]
    pattern = attention_maps(model, ids()).patterns[2, 5]
    for query, key, weight in found["weights"]:
        assert weight == pytest.approx(float(pattern[query, key]), abs=1e-3)
    assert len(found["weights"]) == int((pattern >= 0.01).sum())
    for nonsense in ("9", "2.9", "x", "2.5.1", "-1", "2.5.1.99", "2.5.1.1.1"):
        assert river(opened(zoom=nonsense))["zoom"] is None


def test_a_cell_of_a_head_is_enlarged():
    test = opened(zoom="2.5.6.3")
    found = river(test)["zoom"]
    assert (found["pair"], visits.address(test, "zoom")) == ([6, 3], "2.5.6.3")
    cell, model = found["cell"], cache.model("stories")[0]
    run = model(torch.tensor([ids()]), capture=["blocks.2.attn.scores", "blocks.2.attn.pattern"]).activations
    score = cell["scale"] * sum(q * k for q, k in zip(cell["q"], cell["k"], strict=True))
    assert score == pytest.approx(float(run["blocks.2.attn.scores"][0, 5, 6, 3]), abs=1e-2)
    assert cell["weight"] == pytest.approx(float(run["blocks.2.attn.pattern"][0, 5, 6, 3]), abs=1e-3)
    behind = opened(zoom="2.5.3.6")  # a token that the query comes before: its head is enlarged
    assert river(behind)["zoom"]["pair"] is None
    assert river(behind)["zoom"]["head"] == 5


@nightly
def test_an_enlarged_head_of_a_translation_has_the_places_of_its_tokens():
    said = river(opened(model="translate", zoom="4.1"))  # cross-attention: from what is written to what was read
    assert said["layers"][4].startswith("cross")
    assert {query >= 9 > key for query, key, _ in said["zoom"]["weights"]} == {True}


RIBBON = {"layer": 0, "head": 1, "query": 3, "key": 1}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (["word", 1], {"word": 1}),
        (["word", 99], {}),
        (["word", "x"], {}),
        (["word", {}], {}),
        (["word", True], {}),
        (["token", 1], {"token": 1}),
        (["token", 99], {}),
        (["against", 1], {}),  # of a model whose logits cannot be traced
        (["whole", 0], {"widths": "state"}),
        (["open", 0], {"open": "1 2 3"}),
        (["open", 99], {}),
        (["zoom", "2.5"], {"zoom": "2.5"}),
        (["zoom", "2.99"], {"zoom": ""}),
        (["zoom", "2.5.6.3"], {"zoom": "2.5.6.3"}),
        (["zoom", "2.5.3.99"], {"zoom": ""}),
        (["zoom", 3], {}),
        (["moved", {"heads": "2.5*0", "seq": 1, "final": True}], {"heads": "2.5*0"}),
        (["moved", {"heads": "7.7*0", "seq": 1, "final": True}], {"heads": ""}),
        (["moved", {"heads": None, "seq": 1, "final": True}], {"heads": ""}),
        (["moved", "nonsense"], {}),
        (["moved", {"heads": "2.5*0 " * 1_000, "seq": 1}], {}),
        (["nonsense", 1], {}),
        (["word"], {}),
        ("nonsense", {}),
    ],
)
def test_what_a_browser_sends(told, expected, monkeypatch):
    sent, handlers = {}, {}
    monkeypatch.setattr(scene, "_component", lambda **given: handlers.update({given["key"]: given}) or {})
    opened(model="fill")
    monkeypatch.setattr(flow.controls, "set_values", lambda **values: sent.update(values))
    monkeypatch.setattr(flow.dragging, "heard", lambda _, said: said if isinstance(said, dict) else None)
    monkeypatch.setattr(scene.st, "session_state", {"river:scene": {"told": told}})
    handlers["river:scene"]["on_told_change"]()
    assert sent == expected


@pytest.mark.parametrize(
    ("model", "ribbon", "leads"),
    [
        ("stories", RIBBON, True),
        ("fill", RIBBON, False),  # the page on heads reads no masked tokens
        ("stories", {**RIBBON, "head": 99}, False),
        ("stories", {**RIBBON, "query": -1}, False),
        ("stories", {**RIBBON, "key": "x"}, False),
        ("stories", {"layer": 0}, False),
        ("stories", "nonsense", False),
    ],
)
def test_a_click_on_a_ribbon_leads_to_its_head(model, ribbon, leads, monkeypatch):
    led = []
    monkeypatch.setattr(HeadOfText, "open", lambda *where: led.append(where[1:]))
    monkeypatch.setattr(scene, "_component", lambda **_: {"told": ["ribbon", ribbon]})
    opened(model=model)
    assert led == ([(3, 1)] if leads else [])


@nightly
def test_a_ribbon_of_a_translation_leads_to_the_same_tokens_of_its_attention(monkeypatch):
    led = []
    monkeypatch.setattr(HeadOfText, "open", lambda *given: led.append(given))
    sentence = "She gave me a red book yesterday."
    drawn = flow.read("translate", sentence, 4)
    model, tokenizer = cache.model("translate")
    assert flow._is_linked(drawn.passage)
    for place, layer in enumerate(drawn.layers):
        queries, keys = drawn.passage.places(layer)
        flow._see(drawn, {"layer": place, "head": 2, "query": queries[1], "key": keys[1]})
        at, query, key = led[-1]
        read = text_ids(model, tokenizer, sentence, at.part)
        assert (at.pasted, at.layer, at.head) == (sentence, layer.block, 2)
        assert layer.name.startswith(at.part)
        assert read.queries[query] == drawn.passage.tokens[queries[1]]
        assert read.keys[key] == drawn.passage.tokens[keys[1]]


@pytest.mark.parametrize("text", ["a", "😀שלום\u202e <b>$x$ %{y} :red[a]</b>\0" + "word " * 90])
def test_any_text(text):
    test = opened()
    test.text_area(key="text").set_value(text)
    assert river(run(test))["tokens"]


def test_no_text_is_said_so():
    test = opened(text="")
    assert "There is no text yet" in test.info[0].value


@pytest.mark.parametrize("text", ["A", "The big dog ran home.", "图书馆不开门", "word word word word"])
def test_what_is_said_of_a_text_is_in_its_numbers(text):
    """One token, no repeat, a script that stories never read, nothing but a repeat."""
    test = opened(text=text)
    found = trace(cache.model("stories")[0], of_ids(ids(text), len(ids(text)) - 1))
    between = [route for route in found.routes if route.query != route.key]
    told = river(test)["caption"]
    assert ("the widest ribbon of one head" in told) == bool(between)
    if between:
        first = max(between, key=lambda route: route.share)
        assert f"through head {found.head(first.layer, first.head)}, {first.share:.1%} of the state" in told
    said = visits.said(test, "markdown")
    if head := re.search(r"Head (\S+) carries most of the state from token to token, (\d+)%", said):
        layer, place = np.unravel_index(int(found.carried.argmax()), found.carried.shape)
        assert head.groups() == (f"{layer}.{place}", f"{100 * found.carried.max():.0f}")
