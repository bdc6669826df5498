"""The page on heads: defaults, every slider end, damaged addresses, hostile texts - and true numbers in the figures."""

from functools import partial

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import cache, controls, frame
from tests.nightly import nightly, often
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import run
from tfcore.measures.heads.maps import attention_maps
from tfcore.views.foundations import heads as views
from tfcore.views.foundations.heads.draw import maps
from tfcore.views.foundations.heads.measure.attention_maps import head_mean, pool, read_attention, rollout
from tfcore.views.foundations.heads.measure.head_ranking import standard_kinds
from tfcore.views.sources import Reading

opened = partial(visits.opened, "foundations/heads/page.py")
HOSTILE = {
    "spaces": "   \n\n\t ",
    "one token": "a",
    "emoji": "😀👩‍👩‍👧‍👦🏳️‍🌈",
    "right to left": "שלום עולם \u202eمرحبا",
    "controls": "a\0b\x07\x1b[0m\x7f",
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "markdown": "$x$ :red[x] *b* `c` [l](http://x) :smile: %{x} &lt;",
    "lone combining mark": "\u0301\u0301",
}


def said(test: AppTest) -> str:
    return visits.said(test, "caption", "info")


def closer(test: AppTest) -> np.ndarray:
    """The map that is shown: the trace with the weights."""
    _, spec = figures(test)["closer"]
    return array(next(t["z"] for t in spec["data"] if t.get("colorscale") == "@weights"))


def caption(test: AppTest) -> str:
    return figures(test)["closer"][0]["caption"]


def truth(text: str, layer: int, head: int) -> np.ndarray:
    model, tokenizer = cache.model("stories")
    return attention_maps(model, tokenizer.encode(text)[-model.config.max_seq_len :]).patterns[layer, head]


def test_default_view_is_a_whole_page():
    test = opened()
    assert set(figures(test)) == {"portrait", "map", "mosaic", "closer", "one-token"}
    assert all(head["alt"] and head["csv"] for head, _ in figures(test).values())
    assert test.text_area(key="text").value
    assert "arXiv:1706.03762" in visits.said(test, "markdown")
    assert test.dataframe[0].value.shape[0] == cache.model("stories")[0].config.n_layers * 6
    assert "Corrected" not in said(test)
    assert "Adjusted" not in said(test)


def test_the_map_is_the_models_own_pattern():
    test = opened(text="A cat and a cat and a cat.", layer="2", head="4")
    np.testing.assert_array_equal(closer(test), truth("A cat and a cat and a cat.", 2, 4))
    test.slider(key="head").set_value(1)
    np.testing.assert_array_equal(closer(run(test)), truth("A cat and a cat and a cat.", 2, 1))


def test_every_slider_at_both_ends():
    test = opened()
    for end in ("min", "max"):
        for key in ("layer", "head", "token"):
            test.slider(key=key).set_value(getattr(test.slider(key=key), end))
        run(test)
        layer, head = (test.slider(key=key).value for key in ("layer", "head"))
        assert test.subheader[0].value.startswith(f"Layer {layer}, head {head}: ")
        np.testing.assert_array_equal(closer(test), truth(test.text_area(key="text").value, layer, head))


def test_every_order_and_view():
    test = opened()
    before = figures(test)["mosaic"][1]["data"][1]["customdata"]
    for sort in ("by kind", "by score", "by layer"):
        test = opened(sort=sort)
        shown = figures(test)["mosaic"][1]["data"][1]["customdata"]
        assert sorted(shown) == sorted(before)
    assert shown == before
    lines = figures(opened(view="lines"))["closer"][1]["data"]
    assert {trace["type"] for trace in lines} == {"scatter"}


def test_every_example_works_and_is_different():
    test = opened()
    names = [button.key for button in test.button if (button.key or "").startswith("try ")]
    assert len(names) >= 3
    shown = set()
    for name in names:
        test.button(key=name).click()
        run(test)
        assert "Adjusted" not in said(test), name
        places = [test.slider(key=key).value for key in ("layer", "head")]
        shown.add((test.selectbox(key="model").value, test.text_area(key="text").value, *places))
    assert len(shown) == len(names)


def test_a_shorter_text_moves_the_token_into_it():
    test = opened(token="20")
    assert test.slider(key="token").value == 20
    test.text_area(key="text").set_value("One two three.")
    run(test)
    assert test.slider(key="token").value == test.slider(key="token").max < 20


@pytest.mark.parametrize(
    ("address", "notice"),
    [
        ({"layer": "99", "head": "-5"}, "layer 99 → 3, head -5 → 0"),
        ({"head": "99", "token": "10000"}, "head 99 → 5"),
        ({"layer": "one", "head": "", "token": "1e999"}, "layer one → "),
        ({"layer": "NaN", "head": "0x3", "token": "2.5"}, "Corrected from the link"),
        ({"sort": "by size", "view": "<b>", "model": "../../etc"}, "Corrected from the link"),
        ({"z": "not zlib"}, "damaged"),
        ({"v": "77"}, "version 77"),
    ],
)
def test_damaged_addresses_are_corrected_with_a_quiet_word(address, notice):
    assert notice in said(opened(**address))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("way", often(["typed", "from the address"], ["from the address"]))
def test_any_text_is_shown(text, way):
    test = opened(text=text) if way == "from the address" else opened()
    if way == "typed":
        test.text_area(key="text").set_value(text)
        run(test)
        test.toggle(key="hide").set_value(False)  # on where the page begins with a link between words
        run(test)
    assert test.text_area(key="text").value == text
    layer, head = (test.slider(key=key).value for key in ("layer", "head"))
    np.testing.assert_array_equal(closer(test), truth(text, layer, head))


def test_no_text_at_all_is_a_sentence():
    test = opened()
    test.text_area(key="text").set_value("")
    assert "no text yet" in said(run(test))
    assert not figures(test)


def test_much_text_is_cut_and_the_page_says_so():
    test = opened()
    test.text_area(key="text").set_value("A cat sat. " * 9_091)  # 100,001 characters
    words = said(run(test))
    assert "3,000" in words
    assert "tokens; the last 256 are used here" in words
    test.toggle(key="hide").set_value(False)  # on, as the page begins with a link between words
    run(test)
    layer, head = (test.slider(key=key).value for key in ("layer", "head"))
    pattern = truth(("A cat sat. " * 9_091)[-3_000:], layer, head)
    np.testing.assert_array_equal(closer(test), pool(pattern, 128))
    assert "pooled: a cell shows the largest weight of 2 by 2" in caption(test)
    test.selectbox(key="range").set_value(128)
    run(test)
    np.testing.assert_array_equal(closer(test), pattern[128:, 128:])
    outside = 1 - pattern[128:, 128:].sum() / pattern[128:].sum()
    assert f"tokens 128 to 255; {outside:.0%} of their weight lies outside" in caption(test)
    test.text_area(key="text").set_value("A cat sat.")
    words = said(run(test))
    assert "3,000" not in words
    assert "at once" not in words


def test_another_model_takes_the_place_of_the_first_and_its_heads_too():
    test = opened(model="induction", layer="3", text="zab mip tol zab mip tol")
    assert not test.exception
    assert test.slider(key="layer").value == 1  # it has two layers
    assert test.slider(key="layer").max == 1


def test_the_mean_of_a_layer_and_the_rollout_are_drawn():
    found = attention_maps(*given())
    for of, of_layers in (("layer mean", head_mean), ("rollout", rollout)):
        np.testing.assert_allclose(closer(opened(of=of, layer="2")), of_layers(found.patterns)[2], atol=1e-6)


def given():
    model, tokenizer = cache.model("stories")
    return model, tokenizer.encode(opened().text_area(key="text").value)


@pytest.mark.parametrize(("token", "chosen"), [(1, None), (2, 0), (4, 2), (5, None)])
def test_of_lines_the_token_in_the_window_is_the_chosen_one(monkeypatch, token, chosen):
    seen, draw = [], maps.lines
    noted = lambda *given, **more: seen.append((len(given[1]), given[3])) or draw(*given, **more)  # noqa: E731
    monkeypatch.setattr(maps, "lines", noted)
    views.head(Reading("stories", "One two three four five six"), 0, 0, token, "lines", (2, 5))
    assert seen == [(3, chosen)]


def test_heads_can_be_filtered_by_kind():
    kinds = standard_kinds(*cache.model("stories")).kind
    for kind in set(kinds.ravel()):
        _, spec = figures(opened(kind=kind))["mosaic"]
        places = [tuple(place) for trace in spec["data"] for place in trace.get("customdata") or []]
        assert places == [tuple(place) for place in np.argwhere(kinds == kind).tolist()]


def test_cuts_keep_parameters_and_merging_heads_costs_loss():
    metrics = {}
    for heads in ("1", "16"):
        test = opened(show="how heads are cut", n_heads=heads)
        metrics[heads] = [metric.value for metric in test.metric]
        assert set(figures(test)) == {"product", "cuts", "sharing", "shared-maps"}
    assert metrics["1"][1] == metrics["16"][1]
    assert (metrics["1"][0], metrics["16"][0]) == ("192", "12")
    loss = test.dataframe[0].value["loss on this text (nats per token)"]
    assert loss.is_monotonic_increasing


def clicked(monkeypatch, name, **address):
    """What a click on a figure does: a function of the event, and the values it sets."""
    handlers, values = {}, {}
    original = frame.figure

    def noted(*args, key, on_click=None, **options):
        handlers[key] = on_click
        original(*args, key=key, on_click=on_click, **options)

    monkeypatch.setattr(frame, "figure", noted)
    opened(**address)
    monkeypatch.setattr(controls, "set_values", values.update)
    return handlers[name], values


def test_a_click_on_a_tile_chooses_its_layer_and_head(monkeypatch):
    click, values = clicked(monkeypatch, "mosaic")
    click({"customdata": [2, 5]})
    assert values == {"layer": 2, "head": 5}
    click({"customdata": None})
    assert values == {"layer": 2, "head": 5}


def test_a_click_on_a_cell_of_the_map_chooses_its_layer_and_head(monkeypatch):
    click, values = clicked(monkeypatch, "map")
    click({"x": 4, "y": 1})
    assert values == {"layer": 1, "head": 4}
    click({"x": "<b>", "y": 1})
    assert values == {"layer": 1, "head": 4}


def test_a_click_on_a_cell_of_two_maps_asks_why(monkeypatch):
    click, values = clicked(monkeypatch, "one", show="side by side", layer="1", head="2")
    click({"x": 4, "y": 1})  # after the query: there is no weight
    assert values == {}
    click({"x": 1, "y": 4})
    assert (values["show"], values["layer"], values["head"], values["token"], values["key"]) == ("why", 1, 2, 4, 1)


@pytest.mark.parametrize(("token_range", "row", "token"), [("-1", 5, 10), ("128", 5, 133), ("-1", 127, 254)])
def test_a_click_on_a_row_chooses_its_query_token(monkeypatch, token_range, row, token):
    long = "A cat sat. " * 150
    click, values = clicked(monkeypatch, "closer", text=long, range=token_range)
    click({"y": row})
    assert values == {"token": token}
    click({"y": "·cat"})
    assert values == {"token": token}


def test_the_map_ranks_heads_by_a_pair_of_tokens_and_the_tiles_follow():
    test = opened(text="One two three one two three.", rank="weight from a token to a token", sort="by score")
    test.slider(key="from").set_value(4)
    test.slider(key="to").set_value(1)
    run(test)
    patterns = attention_maps(*given_text("One two three one two three.")).patterns
    expected = patterns[:, :, 4, 1]
    shown = figures(test)
    np.testing.assert_allclose(array(shown["map"][1]["data"][0]["z"]), expected, atol=1e-6)
    places = [tuple(place) for place in shown["mosaic"][1]["data"][1]["customdata"]]
    assert [expected[place] for place in places] == sorted(expected.ravel(), reverse=True)
    layer, head = places[0]
    expected_words = f"Of 24 heads, the largest weight from '·two' (4) to '·two' (1): {layer}.{head}"
    assert expected_words in shown["map"][0]["caption"]


def given_text(text, before=()):
    model, tokenizer = cache.model("stories")
    return model, [*before, *tokenizer.encode(text)]


def test_the_sink_is_hidden_everywhere_and_the_captions_say_so():
    text = "One two three one two three."
    test = opened(text=text, hide="true", layer="1", head="2")
    patterns = attention_maps(*given_text(text)).patterns
    expected = patterns[1, 2].copy()
    expected[:, 0] = 0
    rows = expected.sum(-1, keepdims=True)
    expected = np.where(rows > 0, expected / np.maximum(rows, 1e-9), 0)
    np.testing.assert_allclose(closer(test), expected, atol=1e-5)
    share = patterns[1, 2, 1:, 0].mean()
    assert f"Hidden: 'One' (0), with {share:.0%} of the weight of head 1.2" in caption(test)
    assert f"{patterns[:, :, 1:, 0].mean():.0%} of the weight of all heads" in figures(test)["mosaic"][0]["caption"]
    assert "Hidden" not in caption(opened(text=text))
    for of, whose in (("layer mean", "the heads of layer 1"), ("rollout", "all heads")):
        assert f"of the weight of {whose}" in caption(opened(text=text, hide="true", layer="1", of=of))
    both = opened(text=text, hide="true", show="side by side", layer="1", head="2")
    assert all("Hidden" in figures(both)[name][0]["caption"] for name in ("one", "other"))


def test_the_token_that_begins_a_text_is_in_the_link():
    text = "One two three one two three."
    test = opened(text=text, bos="with", layer="2", head="1")
    expected = attention_maps(*given_text(text, before=[0])).patterns[2, 1]
    np.testing.assert_allclose(closer(test), expected, atol=1e-6)
    assert "BOS token" not in [group.label for group in opened(model="fill").button_group]


def test_colours_by_the_logarithm_change_no_weight():
    plain, logarithmic = (figures(opened(log=on))["closer"][1]["data"][1] for on in ("false", "true"))
    assert (plain["colorscale"], logarithmic["colorscale"]) == ("@weights", "@logweights")
    np.testing.assert_array_equal(array(plain["z"]), array(logarithmic["z"]))
    tiles = [array(figures(opened(log=on))["mosaic"][1]["data"][0]["z"]) for on in ("false", "true")]
    assert (tiles[1].astype(int) >= tiles[0]).all()
    assert tiles[1].mean() > tiles[0].mean()


@nightly
@pytest.mark.parametrize(
    ("model", "layers", "heads", "tiles"), [("smollm2", 30, 9, 36), pytest.param("minilm", 6, 12, 36, marks=nightly)]
)
def test_of_a_real_model_a_part_of_the_heads_has_tiles(real_models, model, layers, heads, tiles):
    test = opened(model=model, layer="4", text="The quick brown fox jumps over the lazy dog, and it runs away.")
    shown = figures(test)
    places = [tuple(place) for place in shown["mosaic"][1]["data"][1]["customdata"]]
    rows = tiles // heads
    first = 4 // rows * rows
    assert places == [(layer, head) for layer in range(first, first + rows) for head in range(heads)]
    assert f"Shown are {tiles} of {layers * heads} heads, of layers {first} to {first + rows - 1}" in said_of(shown)
    assert len(shown["one-token"][1]["layout"]["yaxis"]["ticktext"]) == tiles
    assert sum(len(str(spec)) for _, spec in shown.values()) < 400_000
    assert all(head["height"] <= 900 for head, _ in shown.values())
    test = opened(model=model, sort="by score", kind="duplicate", rank="entropy")
    chosen = [tuple(place) for place in figures(test)["mosaic"][1]["data"][1]["customdata"]]
    kinds = standard_kinds(*cache.model(model)).kind
    assert chosen
    assert all(kinds[place] == "duplicate" for place in chosen)


def said_of(shown):
    return shown["mosaic"][0]["caption"]


@nightly
def test_512_tokens_of_a_real_model_fit_and_little_is_sent(real_models):
    text = "The quick brown fox jumps over the lazy dog, and it runs away. " * 45
    test = opened(model="smollm2", text=text)
    assert "tokens; the last 512 are used here" in said(test)
    shown = figures(test)
    assert sum(len(str(spec)) for _, spec in shown.values()) < 400_000
    assert closer(test).shape == (128, 128)
    assert "pooled: a cell shows the largest weight of 4 by 4" in caption(test)


@nightly
def test_a_real_model_begins_with_its_own_strongest_induction_head(real_models):
    test = opened(model="smollm2")
    layer, head = (test.slider(key=key).value for key in ("layer", "head"))
    kinds = standard_kinds(*cache.model("smollm2"))
    induction = {place: kinds.score[place] for place in zip(*np.nonzero(kinds.kind == "induction"), strict=True)}
    assert induction[layer, head] == max(induction.values())
    assert figures(test)["map"][0]["alt"].startswith("Kinds of the 270 heads: ")


@nightly
def test_where_nothing_is_repeated_it_begins_with_the_strongest_look_of_the_text(real_models):
    text = "The bank raised its rate on Thursday, as inflation could stay too high."
    test = opened(model="smollm2", text=text)
    layer, head, token = (test.slider(key=key).value for key in ("layer", "head", "token"))
    reading = read_attention(*cache.model("smollm2"), text)
    weights = reading.maps.patterns[layer, head, token]
    key = int(weights.argmax())
    assert 0 < key < token - 1
    assert weights[key] > 0.8
    assert reading.keys[key].strip().isalpha()
    assert reading.queries[token].strip().isalpha()
