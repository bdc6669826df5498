"""Circuits of heads: what is said of them, against loops over the edges."""

import numpy as np
import pytest

from tests import small
from tests.inside.circuits.test_head_edges import DIFFERENCE, OTHER, TEXT, difference, every_edge, exact
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.inside.circuits import edges
from tfcore.views.inside.circuits.edges import Cuts, baseline_of, edge_graph, edges_left, ids_of
from tfcore.views.inside.circuits.measure.head_circuits import (
    HeadCircuit,
    by_estimate,
    circuits_alone,
    edges_of,
    find_circuit,
)
from tfcore.views.inside.circuits.measure.head_edges import CutEdges, Edge, effect_of, estimate_edges
from tfcore.views.inside.circuits.say import (
    BASELINES,
    edge_estimates,
    faithfulness,
    largest_edges,
    largest_estimates,
    share_text,
)
from tfcore.views.sources import Reading

EDGES = tuple(Edge((0, i), (1, 0), "key") for i in range(3))


def circuit(**values):
    given = {
        "edges": EDGES,
        "effects": (2.0, 0.5, -1.0),
        "estimates": (1.5, 0.25, -1.0),
        "counts": (0, 1, 3),
        "values": (1.0, 3.0, 2.5),
        "whole": 5.0,
        "possible": 1_200,
    }
    return HeadCircuit(**{**given, **values})


def test_a_circuit_is_that_of_a_loop():
    model = small.model(n_layers=3)
    estimate = estimate_edges(model, TEXT, DIFFERENCE, tuple(OTHER))
    *cuts, found = find_circuit(model, TEXT, DIFFERENCE, tuple(OTHER), estimate)
    first = sorted(every_edge(model), key=lambda edge: -abs(effect_of(estimate, edge)))[:64]
    assert sum(len(cut.edges) for cut in cuts) == 64
    known = exact(model, TEXT, DIFFERENCE, tuple(OTHER), first)
    assert list(found.edges) == sorted(first, key=lambda edge: -known[edge])
    assert found.effects == pytest.approx([known[edge] for edge in found.edges], abs=1e-4)
    assert found.estimates == pytest.approx([effect_of(estimate, edge) for edge in found.edges])
    assert found.whole == pytest.approx(difference(model), abs=1e-4)
    assert found.possible == edges_of(estimate) == len(every_edge(model))
    for count in (0, 5, 64):
        [alone] = circuits_alone(model, TEXT, DIFFERENCE, tuple(OTHER), found.edges[:count], [count])
        assert found.values[found.counts.index(count)] == pytest.approx(alone, abs=1e-4)
    edges, effects = by_estimate(estimate)
    assert list(effects) == sorted(effects, reverse=True)
    assert set(edges) == set(first)


def test_what_stands_in_the_place_of_an_edge(monkeypatch):
    monkeypatch.setattr(edges, "TOKENS", 4)
    reading = Reading((small.model(vocab_size=256), ByteTokenizer()), "abcdef")
    assert ids_of(reading) == [*b"cdef"]
    kinds = [baseline_of(reading, Cuts(DIFFERENCE, kind, "ghijkl")) for kind in BASELINES]
    assert dict(zip(BASELINES, kinds, strict=True)) == {"text": (*b"ijkl",), "mean": "mean", "zero": "zero"}


def test_edges_are_drawn_from_estimates_until_the_last_is_cut():
    reading = Reading((small.model(vocab_size=256), ByteTokenizer()), "abcdef")
    cuts = Cuts(DIFFERENCE, "mean")
    first, last = edge_graph(reading, cuts, 5, so_far=[]), edge_graph(reading, cuts, 5)
    assert str(first).startswith("Estimated fall of the logit of ")
    assert str(last).startswith("Fall of the logit of ")
    assert len(first.numbers()) == 0
    assert len(last.numbers()) == len(last.result.edges)
    for so_far in ([], [CutEdges((), ())]):
        with pytest.raises(ValueError, match="still being cut"):
            edges_left(reading, cuts, 5, so_far=so_far)
    assert edges_left(reading, cuts, 10**6).metrics[0].value == share_text(last.result, len(last.result.edges))


def test_what_is_said_of_the_edges():
    found = largest_edges(circuit(), "logit of 'a' less that of 'b'", "logits")
    assert str(found) == (
        "Fall of the logit of 'a' less that of 'b' when one edge is cut, in logits, exact for the 3 edges with the "
        "largest estimates of 1,200: 0.0 → 1.0 (K) +2.00, 0.1 → 1.0 (K) +0.50, 0.2 → 1.0 (K) -1.00. Working against "
        "it most: 0.2 → 1.0 (K), -1.00."
    )
    assert "Working" not in str(largest_edges(circuit(effects=(2.0, 0.5, 0.1)), "x", "nats"))
    none = circuit(edges=(), effects=(), estimates=(), counts=(0,), values=(1.0,))
    assert str(largest_edges(none, "x", "nats")) == "No edge between heads changes the x."
    estimate = np.zeros((3, 2, 3, 2, 3), dtype=np.float32)
    estimate[1, 1, 0, 0, :] = (0.5, 0.25, 1.0)
    estimate[2, 1, 0, 0, 0] = -0.5
    said = largest_estimates(estimate, "x", "logits")
    assert str(said) == (
        "Estimated fall of the x when one edge is cut, in logits, largest of 27: 0.2 → 1.0 (K) +1.00, 0.0 → 1.0 (K) "
        "+0.50, 0.1 → 1.0 (K) +0.25; the exact effects are to come."
    )


def test_faithfulness_is_the_share_of_what_cutting_takes():
    assert circuit().share(1) == pytest.approx((3 - 1) / (5 - 1))
    assert str(faithfulness(circuit(), 1, "zero", "logits")) == (
        "With 1 edge between heads left and the other 1,199 cut (in their place: zero): 3.00 logits; with all cut "
        "1.00, the whole model 5.00. Faithfulness 50%, of the plain values 60%."
    )
    said = str(faithfulness(circuit(whole=1.0), 3, "text", "nats"))
    assert said == (
        "With 3 edges between heads left and the other 1,197 cut (in their place: what the head writes on the other "
        "text): 2.50 nats; with all cut 1.00, the whole model 1.00. Faithfulness –."
    )
    assert circuit(values=(0.0, 3.0, 2.5), whole=1e-6).share(1) is None
    assert "plain values" not in str(faithfulness(circuit(whole=0.0), 1, "mean", "logits"))


def test_the_correlation_is_that_of_the_definition():
    a, b = circuit().effects, circuit().estimates
    mean_a, mean_b = sum(a) / 3, sum(b) / 3
    cross = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    spread = (sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b)) ** 0.5
    assert edge_estimates(circuit()).values["correlation"] == pytest.approx(cross / spread)
    assert "over these 3 edges" in str(edge_estimates(circuit()))
    nothing = edge_estimates(circuit(estimates=(0.0, 0.0, 0.0)))
    assert str(nothing) == "Estimates and exact effects cannot be compared here."
