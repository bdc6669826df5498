"""Widgets of a notebook: clicks change their values, values redraw them, and both say what the view of the app says."""

import json
import sys

import pytest
import torch
import traitlets

import tfcore
from tests import small
from tfcore import views
from tfcore.charts import bundle, scenes
from tfcore.tokenizers.tokenizer import CharacterTokenizer
from tfcore.views import widgets
from tfcore.views.foundations.heads.measure.attention import Order
from tfcore.views.inside import flow
from tfcore.views.sources import Reading
from tfcore.views.start import walkthrough

TEXT = "Sam was a little boy. One day, Sam said that"


def told(widget, name, value):
    """What the browser sends after a click."""
    widget.told = [widget.told[0] + 1, name, value]


@pytest.fixture(scope="module")
def loaded():
    return tfcore.load("stories", device="cpu")


@pytest.fixture
def river(loaded):
    return widgets.RiverWidget(*loaded, TEXT)


def tiny(n_layers):
    """A model whose river takes no time."""
    return small.model(n_layers=n_layers, vocab_size=260), CharacterTokenizer("abc ")


@pytest.fixture(scope="module")
def tiny_river():
    return widgets.RiverWidget(*tiny(4), "abc abc abcab")


def moved(heads, seq=1):
    return {"heads": heads, "final": True, "seq": seq}


def test_a_click_on_a_head_switches_it_off_as_the_view_does(river):
    assert (river.off, river.heads, river.drawn) == ([], "", 1)
    told(river, "moved", moved("2.5*0"))
    assert (river.off, river.heads, river.drawn, river.data["seq"]) == ([[2, 5]], "2.5*0", 2, 1)
    expected = flow.river(Reading("stories", TEXT), heads="2.5*0")
    assert river.shown["caption"] == expected.caption
    assert river.data["factors"] == expected.chart.data["factors"] == {"2.5": 0.0}
    assert river.view.result.flow.carried.tolist() == expected.result.flow.carried.tolist()


def test_what_is_set_redraws(river):
    river.off = [(1, 3)]
    assert (river.off, river.heads, river.drawn) == ([[1, 3]], "1.3*0", 2)
    assert river.data["factors"] == {"1.3": 0.0}
    river.heads = "2.5*-1 1.3*0"
    assert (river.off, river.heads, river.drawn) == ([[1, 3]], "1.3*0 2.5*-1", 3)
    river.off = []
    assert (river.heads, river.drawn) == ("2.5*-1", 4)
    river.token = 3
    assert river.data["target"] == 3


def test_a_click_on_a_next_token_traces_its_logit(river):
    following = flow.following(river.reading, None, "")
    told(river, "word", 1)
    assert (river.toward, river.data["traced"], river.data["word"]) == ([following[1]], True, 1)
    told(river, "against", 0)
    assert (river.toward, river.data["against"]) == ([following[1], following[0]], 0)
    told(river, "whole", 0)
    assert (river.toward, river.data["traced"]) == ([], False)


def test_layers_are_enlarged_and_ribbons_are_told(river):
    told(river, "zoom", "2.5")
    assert river.zoom == [2, 5]
    assert river.data["zoom"]["head"] == 5
    told(river, "zoom", "2.5.6.3")
    assert river.zoom == [2, 5, 6, 3]
    assert river.data["zoom"]["cell"]["weight"] > 0
    told(river, "zoom", "2.5.3.6")  # a token that comes later
    assert river.zoom == [2, 5, 6, 3]
    told(river, "zoom", "")
    assert river.zoom == []
    before = river.drawn
    ribbon = {"layer": 1, "head": 3, "query": 4, "key": 2}
    told(river, "ribbon", ribbon)
    assert river.ribbon == ribbon
    assert river.drawn == before + 1, "the scene may wait for an answer"


def test_layers_of_a_deep_model_are_folded_and_opened():
    river = widgets.RiverWidget(*tiny(10), "abc abc")
    assert river.data["foldable"]
    columns = river.data["columns"]
    wide = [i for i, one in enumerate(columns) if one["open"]]
    told(river, "open", wide[0])
    assert columns[wide[0]]["first"] not in river.layers
    assert len(river.layers) == len(wide) - 1
    river.layers = [4]
    assert [one["first"] for one in river.data["columns"] if one["open"]] == [4]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("moved", moved("9.9*0")),
        ("moved", moved("<script>" * 9_999)),
        ("moved", {"heads": 1, "seq": 1}),
        ("moved", moved("2.5*0", seq=-1)),
        ("word", 99),
        ("word", "1"),
        ("open", -1),
        ("token", 99),
        ("zoom", "99"),
        ("ribbon", {"layer": "1"}),
        ("nothing", None),
    ],
)
def test_what_is_nonsense_changes_nothing(tiny_river, name, value):
    before = [getattr(tiny_river, one) for one in tiny_river.values()]
    told(tiny_river, name, value)
    assert [getattr(tiny_river, one) for one in tiny_river.values()] == before
    tiny_river.told = ["nonsense"]
    tiny_river.told = [0, "", None]
    assert tiny_river.ribbon == {}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("heads", "x", "it is layer.head.factor, as in '2.5.0 1.3.-1', of 4 layers with 6 heads"),
        ("off", [(4, 0)], "off=.4, 0. is not in this model or text, which has 0 to 3 and 0 to 5"),
        ("off", [3], "must be a list of .layer, head."),
        ("layers", [4], "has 0 to 3"),
        ("zoom", [1, 6], "has 0 to 3 and 0 to 5"),
        ("zoom", [1, 2, 3], "is no cell: it is layer, head, query and key"),
        ("token", 99, "has 0 to 12"),
        ("toward", [-1], "is not in this model or text"),
    ],
)
def test_values_that_are_not_there_are_refused_and_change_nothing(tiny_river, name, value, message):
    before = tiny_river.drawn
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(tiny_river, name, value)
    assert tiny_river.drawn == before
    assert getattr(tiny_river, name) in ([], "", None)


def test_results_of_a_model_in_memory_are_kept_until_it_is_changed():
    model, tokenizer = tfcore.load("stories", device="cpu")
    runs: list[object] = []
    model.decoder.blocks[-1].register_forward_hook(lambda *_: runs.append(1))
    river = widgets.RiverWidget(model, tokenizer, TEXT)
    plain, caption = len(runs), river.view.caption
    river.off = [(2, 5)]
    changed = len(runs) - plain
    river.off = []
    assert 0 < changed < plain
    assert len(runs) == plain + changed
    assert river.view.caption == caption
    with torch.no_grad():
        model.embed.weight[:] = model.embed.weight.flip(0)
    river.redraw()
    assert len(runs) > plain + changed
    assert river.view.caption != caption


def test_effects_of_a_large_model_are_estimates_until_they_are_measured(loaded, monkeypatch):
    monkeypatch.setattr(widgets, "QUICK", 0)
    river = widgets.RiverWidget(*loaded, TEXT)
    assert not any(river.data["exact"])
    assert river.data["largest"] > 0
    river.measure()
    assert all(river.data["exact"])


def test_a_click_on_the_map_of_heads_chooses_one(loaded):
    heads = widgets.HeadMapWidget(*loaded, TEXT)
    told(heads, "click", {"x": 2, "y": 1, "customdata": None})
    assert (heads.layer, heads.head, heads.drawn) == (1, 2, 2)
    expected = views.heads.head_map("stories", TEXT, Order(), 1, 2)
    assert heads.data["figure"] == json.loads(expected.chart.to_json())
    told(heads, "click", {"x": 6, "y": 1, "customdata": None})
    assert (heads.layer, heads.head) == (1, 2)
    with pytest.raises(traitlets.TraitError, match=r"layer=\[4\] is not in this model or text, which has 0 to 3"):
        heads.layer = 4


def test_a_click_on_a_word_follows_it(loaded):
    arcs = widgets.PortraitWidget(*loaded, TEXT, layer=3, head=0)
    told(arcs, "click", {"x": 0, "y": 0, "customdata": 4})
    assert (arcs.token, arcs.drawn) == (4, 2)
    arcs.head = 1
    assert str(arcs.view) == str(views.heads.portrait("stories", TEXT, 3, 1, 4))
    told(arcs, "click", {"x": 0, "y": 0, "customdata": 99})
    assert arcs.token == 4


def test_a_walk_goes_from_stop_to_stop(loaded):
    walk = widgets.WalkWidget(*loaded, TEXT, stage="softmax")
    expected = walkthrough.overview("stories", TEXT, "softmax", walk.layer)
    assert walk.data["value"] == expected.chart.data["value"] == walk.stages.index("softmax")
    told(walk, "to", 0)
    assert (walk.stage, walk.data["value"]) == ("characters", 0)
    told(walk, "to", 99)
    assert walk.stage == "characters"
    with pytest.raises(traitlets.TraitError, match="stage='x' is not there; there are characters, tokens"):
        walk.stage = "x"


def test_a_head_goes_step_by_step(loaded):
    head = widgets.HeadWidget(*loaded, TEXT)
    assert (head.layer, head.head) == walkthrough.first_head_of("stories", TEXT, walkthrough.TOKENS)
    told(head, "to", 0)
    assert (head.step, head.data["at"]) == (head.steps[0], 0)
    told(head, "cell", {"query": 5, "key": 2})
    assert head.cell == [5, 2]
    head.layer, head.head = 1, 2
    assert head.shown["alt"] == walkthrough.head("stories", TEXT, head.steps[0], 1, 2).alt
    with pytest.raises(traitlets.TraitError, match=r"head=\[6\] is not in this model or text"):
        head.head = 6


def test_the_parts_of_a_model_can_be_clicked():
    boxes = widgets.PartsWidget("stories", "")
    told(boxes, "part", 2)
    assert boxes.part in boxes.data["urls"]
    told(boxes, "part", 99)
    assert boxes.part


SCENES = (widgets.RiverWidget, widgets.WalkWidget, widgets.HeadWidget, widgets.PartsWidget)


@pytest.mark.parametrize("kind", [*SCENES, widgets.HeadMapWidget, widgets.PortraitWidget])
def test_it_is_drawn_by_the_scripts_of_the_app(kind):
    plotly = {} if kind in SCENES else {"plotly.js": bundle.CARTESIAN.read_text("utf-8")}
    script, style = scenes.widget(kind.module, "".join(plotly.values()))
    made = kind("stories", TEXT)
    assert (made._esm, made._css) == (script, style)
    modules, _ = json.JSONDecoder().raw_decode(script.split("Object.entries(", 1)[1])
    assert {f"{kind.module}.js", "widget.js"} <= modules.keys()
    assert all(modules[name] == (scenes.files() | plotly)[name] for name in modules)
    assert plotly.keys() <= modules.keys()
    json.dumps(made.get_state())  # which is what is sent


def test_a_value_that_a_widget_lacks_is_refused(loaded):
    with pytest.raises(TypeError, match="unexpected keyword argument 'of'"):
        widgets.RiverWidget(*loaded, TEXT, of=[])
    with pytest.raises(ValueError, match="after a model comes its text"):
        widgets.RiverWidget(*loaded)


def test_without_anywidget_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "tfcore.views.widgets")
    with pytest.raises(ImportError, match="widgets need anywidget: python -m pip install anywidget"):
        __import__("tfcore.views.widgets")
