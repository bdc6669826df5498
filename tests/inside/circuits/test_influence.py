"""Influence against a walk along all paths, and pruning against circuit-tracer's rule written out."""

from dataclasses import replace

import numpy as np
import pytest

from tests.inside.circuits.graphs import made
from tfcore.views.inside.circuits.measure.graph import EMBEDDING, ERROR, FEATURE, OUTPUT, Graph, Nodes, Output
from tfcore.views.inside.circuits.measure.influence import Pruned, measure_influence, prune, threshold
from tfcore.views.inside.circuits.say import graph_scores


def by_inverse(graph):
    """w ((I - A)^-1 - I), and A."""
    size = np.abs(graph.edges.astype(np.float64))
    total = size.sum(1, keepdims=True)
    shared = np.divide(size, total, out=np.zeros_like(size), where=total > 0)
    return graph.weights @ (np.linalg.inv(np.eye(len(shared)) - shared) - np.eye(len(shared))), shared


def by_hand():
    """Two embeddings, a feature and an error of one layer, one output: numbers that can be followed."""
    nodes = Nodes(
        kind=np.array([EMBEDDING, EMBEDDING, FEATURE, ERROR, OUTPUT]),
        layer=np.array([-1, -1, 0, 0, 1]),
        position=np.array([0, 1, 1, 1, 1]),
        feature=np.array([4, 5, 9, -1, 6]),
        activation=np.ones(5),
    )
    edges = np.zeros((5, 5))
    edges[2, :2] = [3.0, -1.0]
    edges[4] = [1.0, 0.0, -6.0, 1.0, 0.0]
    return Graph((4, 5), nodes, edges, np.zeros(5), (Output(6),))


def test_influence_is_the_sum_over_all_paths():
    _, _, graph = made()
    expected, _ = by_inverse(graph)
    np.testing.assert_allclose(measure_influence(graph).nodes, expected, atol=1e-6)


def test_influence_and_scores_by_hand():
    found = measure_influence(by_hand())
    assert found.nodes == pytest.approx([1 / 8 + 6 / 8 * 3 / 4, 6 / 8 / 4, 6 / 8, 1 / 8, 0])
    assert found.replacement == pytest.approx(7 / 8)
    through = found.nodes + np.array([0, 0, 0, 0, 1])
    assert found.completeness == pytest.approx((through.sum() - 1 / 8) / through.sum())


def test_paths_begin_at_tokens_and_errors():
    found, graph = measure_influence(made()[2]), made()[2]
    begins = np.isin(graph.nodes.kind, (EMBEDDING, ERROR))
    assert found.nodes[begins].sum() == pytest.approx(1, abs=1e-5)  # the weights of the outputs


@pytest.mark.parametrize(("nodes", "edges"), [(0.3, 0.9), (0.6, 0.98), (0.8, 0.8), (1.0, 1.0)])
def test_pruning_is_circuit_tracers(nodes, edges):
    _, _, graph = made()
    influence, _ = by_inverse(graph)
    kind = graph.nodes.kind

    def least(values, kept):
        summed = 0.0
        for value in sorted(values.tolist(), reverse=True):
            summed += value
            if summed / values.sum() >= kept - 1e-12:
                return value
        return min(value for value in values.tolist() if value > 0)

    stays = {i for i in range(len(kind)) if influence[i] >= least(influence, nodes) - 1e-12}
    stays |= {i for i in range(len(kind)) if kind[i] in (EMBEDDING, OUTPUT)}
    places = sorted(stays)
    cut = graph.edges[np.ix_(places, places)].astype(np.float64)
    size = np.abs(cut)
    shared = size / np.maximum(size.sum(1, keepdims=True), 1e-10)
    weights = graph.weights[places]
    through = weights @ np.linalg.inv(np.eye(len(places)) - shared)
    score = shared * through[:, None]
    limit = least(score.ravel(), edges)
    kept = {(t, s) for t, s in np.argwhere(score >= limit * (1 - 1e-6)).tolist()}
    left = set(range(len(places)))
    while True:
        kept = {(t, s) for t, s in kept if t in left and s in left}
        gone = {
            i
            for i in left
            if (kind[places[i]] in (FEATURE, ERROR) and not any(s == i for _, s in kept))
            or (kind[places[i]] == FEATURE and not any(t == i for t, _ in kept))
        }
        if not gone:
            break
        left -= gone
    found = prune(graph, measure_influence(graph), nodes, edges)
    assert found.nodes.tolist() == [places[i] for i in sorted(left)]
    order = sorted(left)
    expected = np.array([[cut[t, s] if (t, s) in kept else 0 for s in order] for t in order])
    np.testing.assert_allclose(found.edges, expected)


def test_most_of_the_influence_is_kept_if_nothing_is_said():
    _, _, graph = made()
    found = measure_influence(graph)
    usual, same = prune(graph, found), prune(graph, found, 0.8, 0.98)
    assert usual.nodes.tolist() == same.nodes.tolist()
    assert np.array_equal(usual.edges, same.edges)
    assert (prune(graph, found, 0.8, 0.5).edges != 0).sum() < (usual.edges != 0).sum()


@pytest.mark.parametrize(("nodes", "edges", "named"), [(0.5, 1.5, r"edges=1\.5"), (-0.5, 0.5, r"nodes=-0\.5")])
def test_a_share_is_between_nothing_and_all(nodes, edges, named):
    graph = by_hand()
    with pytest.raises(ValueError, match=f"{named} must be between 0 and 1"):
        prune(graph, measure_influence(graph), nodes, edges)


def test_scores_are_those_of_shares():
    """However little an output weighs; one that nothing adds to has no influence to share."""
    graph = replace(by_hand(), outputs=(Output(6, None, 0.125),))
    found, whole = measure_influence(graph), measure_influence(by_hand())
    assert found.total == pytest.approx(whole.total / 8) == pytest.approx(found.nodes.sum())
    assert (found.replacement, found.completeness) == pytest.approx((whole.replacement, whole.completeness))
    found = measure_influence(replace(graph, edges=np.zeros((5, 5))))
    assert (found.replacement, found.completeness) == (0, 1)
    assert found.total > found.nodes.sum() == 0


def test_nothing_that_counts_leaves_no_threshold():
    assert threshold(np.zeros(3), 0.8) == np.inf
    assert threshold(np.array([0.0, 2.0, 1.0, 1.0]), 0.5) == 2.0
    assert threshold(np.array([0.0, 2.0, 1.0, 1.0]), 1.0) == 1.0
    tenths = np.array([0.1] * 10 + [0.0])
    assert np.cumsum(tenths)[-1] < tenths.sum(), "rounding takes the sum beyond what the values come to one by one"
    assert threshold(tenths, 1.0) == 0.1


def test_what_is_said_of_a_graph():
    graph = by_hand()
    found = replace(measure_influence(graph), replacement=0.92, completeness=0.961)
    said = graph_scores(graph, found, prune(graph, found, 1.0, 1.0))
    assert [one.value for one in said] == ["0.92", "0.96", "1 of 1"]
    assert said[-1].note == "100% of the influence"
    fewer = Pruned(np.array([0, 1, 4]), np.zeros((3, 3)))
    said = graph_scores(graph, found, fewer)
    assert said[-1].value == "0 of 1"
    assert said[-1].note == f"{found.nodes[[0, 1, 4]].sum() / found.nodes.sum():.0%} of the influence"
