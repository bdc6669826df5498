"""The page on circuits: what it draws is the graph of the text, and nodes can be chosen by click and by keyboard."""

import json
from functools import partial

import numpy as np
import pytest

from pages.inside.circuits import features
from pages.ui import cache
from tests.pages import visits
from tests.pages.visits import run, said
from tfcore.measures.one_text import one_text
from tfcore.views.inside.circuits.features import Detail, drawn, graph_json, link_table, node_title, taken_off, traced
from tfcore.views.inside.circuits.measure.graph import EMBEDDING, FEATURE, OUTPUT, Output
from tfcore.views.sources import Reading

opened = partial(visits.opened, "inside/circuits/page.py")


def token(word: str) -> int:
    return int(cache.model("stories")[1].encode(word)[0])


def begun():
    given = Reading("stories", features.TEXT), Output(token(" he"), token(" she"))
    return traced(*given), drawn(*given, Detail(most=features.FEW))


def test_the_output_is_the_difference_of_two_logits():
    found, _ = begun()
    model = cache.model("stories")[0]
    logits = model(one_text(model, found.graph.ids)).logits[0, -1]
    expected = float(logits[token(" he")] - logits[token(" she")])
    assert found.graph.nodes.activation[-1] == pytest.approx(expected, abs=1e-4)
    total = found.graph.edges[-1].sum() + found.graph.biases[-1]
    assert total == pytest.approx(expected, abs=1e-4)


def test_most_of_the_prediction_is_explained_and_what_is_predicted_holds():
    found, _ = begun()
    assert found.influence.replacement > 0.8
    assert found.influence.completeness > 0.9
    tested = taken_off(Reading("stories", features.TEXT), Output(token(" he"), token(" she")))
    assert np.corrcoef(tested.predicted, tested.frozen)[0, 1] > 0.9
    assert np.corrcoef(tested.predicted, tested.measured)[0, 1] > 0.4


def test_the_page_says_it():
    test = opened()
    words = visits.said(test, "markdown", "caption")
    assert "What to see." in words
    assert test.selectbox(key="node").value == "output ·he − ·she"


def test_a_node_in_the_address_is_chosen():
    _, left = begun()
    place = int(np.flatnonzero(left.diagram.kind == FEATURE)[0])
    test = opened(node=node_title(left.diagram, place))
    assert test.selectbox(key="node").value == left.diagram.keys[place]


@pytest.mark.parametrize(("sent", "known"), [(0, True), (10**6, False), ("0", False), (None, False)])
def test_a_click_chooses_a_node(sent, known, monkeypatch):
    _, left = begun()
    chosen = []
    monkeypatch.setattr(features.controls, "set_values", lambda **values: chosen.append(values))
    features.click(left.diagram, {"curve": 0, "point": 0, "x": 0, "y": 0, "customdata": sent})
    assert chosen == ([{"node": left.diagram.keys[0]}] if known else [])


def test_the_table_has_every_link():
    _, left = begun()
    table = link_table(left.diagram)
    assert len(table) == np.count_nonzero(left.diagram.edges)
    assert table["contribution"].sum() == pytest.approx(float(left.diagram.edges.sum()), abs=1e-3)


def test_the_json_is_circuit_tracers():
    found, left = begun()
    given = Reading("stories", features.TEXT), Output(token(" he"), token(" she"))
    said = json.loads(graph_json(*given, Detail()))
    assert said["metadata"]["prompt"] == features.TEXT
    ids = [node["node_id"] for node in said["nodes"]]
    assert len(set(ids)) == len(ids) == len(left.pruned.nodes)
    kinds = found.graph.nodes.kind[left.pruned.nodes]
    types = [node["feature_type"] for node in said["nodes"]]
    assert types.count("cross layer transcoder") == (kinds == FEATURE).sum()
    assert types.count("embedding") == (kinds == EMBEDDING).sum()
    assert types.count("logit") == (kinds == OUTPUT).sum()
    assert {end for link in said["links"] for end in (link["source"], link["target"])} <= set(ids)
    assert len(said["links"]) == np.count_nonzero(left.pruned.edges)
    assert all(set(group[1:]) <= set(ids) for group in said["qParams"]["supernodes"])


@pytest.mark.parametrize("text", ["a", "😀שלום\u202e <b>$x$ %{y} :red[a]</b>\0" + "word " * 60])
def test_any_text(text):
    test = opened()
    test.text_area(key="story").set_value(text)
    assert run(test).selectbox(key="node").value.startswith("output")


def test_no_text_is_said_so():
    assert "There is no text yet" in opened(story="").info[0].value


def test_one_token_has_no_edge_that_its_mean_would_change():
    test = opened(show="edges between heads", base="mean over the tokens", text="a")
    assert "A text of one token is its own mean" in said(test, "info")


@pytest.mark.parametrize("base", ["zero", "another text"])
def test_an_other_text_that_is_cut_is_said_to_be(base):
    test = opened(show="edges between heads", base=base, other="1 2 3 4 5 6 7 8 9 " * 20)
    assert "tokens; the last" in said(test, "caption")
