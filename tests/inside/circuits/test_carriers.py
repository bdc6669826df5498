"""Attention's part in an edge: all heads and what was there add up to it, and one head is what its removal takes."""

from dataclasses import replace

import numpy as np
import pytest

from tests.inside.circuits.graphs import made
from tfcore.views.inside.circuits.measure import graph as graph_module
from tfcore.views.inside.circuits.measure.carriers import Carried, carriers, link_from_elsewhere
from tfcore.views.inside.circuits.measure.graph import EMBEDDING, ERROR, FEATURE, attribution_graph, frozen_run


def targets(graph):
    """A feature of the middle layer and one of the last, both late in the text, and an output."""
    features = graph.of_kind(FEATURE)
    late = features[graph.nodes.position[features] >= 8]
    return [int(late[graph.nodes.layer[late] == layer][0]) for layer in (1, 2)] + [len(graph.nodes) - 1]


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("most", [None, 20])
def test_heads_and_what_was_there_add_up_to_each_edge(which, most):
    model, dictionaries, graph = made()
    if most is not None:  # other features are parts of errors
        graph = attribution_graph(model, dictionaries, graph.ids, graph.outputs, most)
    target = targets(graph)[which]
    sources = np.flatnonzero(graph.edges[target])
    assert set(graph.nodes.kind[sources].tolist()) == {EMBEDDING, FEATURE, ERROR}
    found = carriers(model, dictionaries, graph, sources.tolist(), [target])
    total = found.heads.sum((1, 2)) + found.direct
    assert np.abs(total - graph.edges[target, sources]).max() < 2e-5
    elsewhere = graph.nodes.position[sources] != graph.nodes.position[target]
    assert not found.direct[elsewhere].any()
    assert found.direct[~elsewhere].any()


def test_the_part_of_a_head_is_what_its_removal_takes(monkeypatch):
    """In the layer of the target itself no later head can pass on what it brought."""
    model, dictionaries, graph = made()
    target, head = targets(graph)[0], 1
    layer = int(graph.nodes.layer[target])
    sources = np.flatnonzero(graph.edges[target]).tolist()
    found = carriers(model, dictionaries, graph, sources, [target])
    run = frozen_run(model, dictionaries, graph.ids)
    patterns = run.patterns.clone()
    patterns[layer, head] = 0
    monkeypatch.setattr(graph_module, "frozen_run", lambda *_: replace(run, patterns=patterns))
    without = attribution_graph(model, dictionaries, graph.ids, graph.outputs)
    taken = graph.edges[target, sources] - without.edges[target, sources]
    assert np.abs(taken).max() > 1e-3
    assert np.abs(taken - found.heads[:, layer, head]).max() < 2e-5


def test_a_group_is_the_sum_of_its_members():
    model, dictionaries, graph = made()
    first = targets(graph)[0]
    same = (graph.nodes.layer == graph.nodes.layer[first]) & (graph.nodes.position == graph.nodes.position[first])
    group = np.flatnonzero(same & (graph.nodes.kind == FEATURE)).tolist()
    assert len(group) > 1
    source = link_from_elsewhere(graph, group)
    far = graph.nodes.position != graph.nodes.position[first]
    assert source == int((np.abs(graph.edges[group].sum(0)) * far).argmax())
    found = carriers(model, dictionaries, graph, [source], group)
    assert found.heads.sum() + found.direct[0] == pytest.approx(graph.edges[group, source].sum(), abs=2e-5)
    assert link_from_elsewhere(graph, [0]) is None  # a token reads nothing


def test_the_heads_that_carry_most_come_first():
    heads = np.array([[[0.1, -0.5], [0.3, 0.0]]])
    assert Carried(heads, np.zeros(1)).largest(0, 2) == [(0, 1, -0.5), (1, 0, 0.3)]


def test_what_reads_nothing_is_refused():
    model, dictionaries, graph = made()
    with pytest.raises(ValueError, match="read nothing"):
        carriers(model, dictionaries, graph, [0], [1])
