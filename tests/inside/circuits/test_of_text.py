"""The graph of a text of the shipped model, drawn with and without groups, and its strongest features taken off; a
graph as JSON."""

import json

import numpy as np
import pytest

from tests.inside.circuits.test_influence import by_hand
from tfcore.loading.checkpoints import load
from tfcore.views.inside.circuits.measure.diagram import Diagram
from tfcore.views.inside.circuits.measure.effects import strongest
from tfcore.views.inside.circuits.measure.export import node_id, to_json
from tfcore.views.inside.circuits.measure.graph import Output
from tfcore.views.inside.circuits.measure.influence import measure_influence, prune
from tfcore.views.inside.circuits.measure.of_text import draw_traced, take_strongest_off, trace_text

TEXT = "Once upon a time there was a little girl"


def test_nodes_are_called_as_by_circuit_tracer():
    assert [node_id(by_hand(), node) for node in range(5)] == ["E_4_0", "E_5_1", "0_9_1", "0_0_1", "1_6_1"]


def test_the_json_of_a_graph_by_hand():
    graph, found = by_hand(), measure_influence(by_hand())
    pruned = prune(graph, found, 1.0, 1.0)
    members, first = ((0,), (1,), (2, 3), (4,)), [0, 1, 2, 4]
    nodes, none, square = graph.nodes, np.zeros(4), np.zeros((4, 4))
    kind, layer, position = (one[first] for one in (nodes.kind, nodes.layer, nodes.position))
    labels, blank = tuple("abcd"), ("",) * 4
    diagram = Diagram(members, kind, layer, position, none, none, square, square, blank, labels, blank)
    said = json.loads(to_json(graph, found, pruned, diagram, ["x", " y"], "m"))
    assert said["metadata"] == {
        "slug": "m-attribution-graph",
        "scan": "m",
        "prompt_tokens": ["x", " y"],
        "prompt": "x y",
        "replacement_score": found.replacement,
        "completeness_score": found.completeness,
    }
    ids = ["E_4_0", "E_5_1", "0_9_1", "0_0_1", "1_6_1"]
    assert said["qParams"]["supernodes"] == [["c", "0_9_1", "0_0_1"]]
    assert said["qParams"]["pinnedIds"] == [node["node_id"] for node in said["nodes"]] == ids
    columns = [[node[key] for node in said["nodes"]] for key in ("feature", "layer", "ctx_idx", "feature_type")]
    kinds = ["embedding", "embedding", "cross layer transcoder", "mlp reconstruction error", "logit"]
    assert columns == [[4, 5, 9, -1, 6], ["E", "E", "0", "0", "1"], [0, 1, 1, 1, 1], kinds]
    assert [node["influence"] for node in said["nodes"]] == pytest.approx(found.nodes)
    assert [node["clerp"] for node in said["nodes"]] == list("abccd")
    assert [node["is_target_logit"] for node in said["nodes"]] == [False] * 4 + [True]
    assert [node.get("activation") for node in said["nodes"]] == [None, None, 1, None, None]
    assert [node.get("token_prob") for node in said["nodes"]] == [None] * 4 + [1]
    links = {(link["source"], link["target"]): link["weight"] for link in said["links"]}
    assert links == {(ids[s], ids[t]): graph.edges[t, s] for t, s in ((2, 0), (2, 1), (4, 0), (4, 2), (4, 3))}


def test_a_text_is_traced_and_drawn():
    model, tokenizer = load("stories", device="cpu")
    found = trace_text(model, tokenizer, "stories", TEXT, 6, 7, 30)
    assert found.graph.ids == tuple(tokenizer.encode(TEXT)[-6:])
    assert found.graph.outputs == (Output(7, 30),)
    alone, joined = (draw_traced(model, tokenizer, "stories", found, 0.6, 0.9, grouped) for grouped in (False, True))
    assert alone.pruned.nodes.tolist() == joined.pruned.nodes.tolist()
    assert sorted(alone.diagram.members) == [(node,) for node in alone.pruned.nodes]
    assert max(map(len, joined.diagram.members)) > 1
    assert sorted(node for group in joined.diagram.members for node in group) == joined.pruned.nodes.tolist()
    taken = take_strongest_off(model, "stories", found)
    assert taken.nodes.tolist() == strongest(found.graph, found.influence).tolist()
    assert taken.output == Output(7, 30)
