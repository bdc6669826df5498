"""What is drawn of a graph: groups whose members are alike, links that are sums, names, and sums that add up."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch

from tests.inside.circuits.graphs import IDS, made
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.inside.circuits.measure.diagram import (
    ALIKE,
    Links,
    Naming,
    draw,
    groups,
    links_of,
    profiles,
    strongest_links,
    written_by,
)
from tfcore.views.inside.circuits.measure.effects import total_effects
from tfcore.views.inside.circuits.measure.graph import EMBEDDING, ERROR, FEATURE, OUTPUT
from tfcore.views.inside.circuits.measure.influence import measure_influence, prune
from tfcore.views.inside.circuits.say import largest_node, node_sum


class Numbers(ByteTokenizer):
    """Every id of a small vocabulary has a visible token of its own."""

    def tokens(self, ids):
        return [f"t{int(i)}" for i in ids]


def drawn(alike=ALIKE, kept=0.8):
    model, dictionaries, graph = made()
    found = measure_influence(graph)
    pruned = prune(graph, found, kept, 0.98)
    return graph, found, pruned, draw(model, dictionaries, Numbers(), graph, found, pruned, alike)


def naming():
    model, dictionaries, graph = made()
    return Naming(model, dictionaries, Numbers(), graph, measure_influence(graph))


def test_members_of_a_group_are_alike_and_of_one_cell():
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(4, 6))
    rows = directions[rng.integers(0, 4, 30)] * rng.uniform(0.5, 2, (30, 1)) + rng.normal(size=(30, 6)) * 0.2
    cells = [(int(i), 0) for i in rng.integers(0, 3, 30)]
    found = groups(rows, cells, 0.8)
    assert sorted(i for group in found for i in group) == list(range(30))

    def cosine(a, b):
        return rows[a] @ rows[b] / np.linalg.norm(rows[a]) / np.linalg.norm(rows[b])

    for group in found:
        assert len({cells[i] for i in group}) == 1
        assert all(cosine(a, b) >= 0.8 for a, b in combinations(group, 2))
    for one, other in combinations(found, 2):  # and no two groups could be one
        if cells[one[0]] == cells[other[0]]:
            assert min(cosine(a, b) for a in one for b in other) < 0.8


def test_the_opposite_is_not_alike():
    assert groups(np.array([[1.0, 0.0], [-1.0, 0.0], [2.0, 0.1]]), [(0, 0)] * 3) == [[0, 2], [1]]
    assert groups(np.zeros((0, 2)), []) == []
    assert groups(np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0]]), [(0, 0)] * 3) == [[0, 2], [1]], "nor is nothing"
    assert groups(np.array([[1.0, 0.0], [2.0, 0.0]]), [(0, 0)] * 2, 1.0) == [[0, 1]]


def test_a_profile_is_the_part_in_each_target_times_its_influence():
    _, _, graph = made()
    found = measure_influence(graph)
    places = graph.of_kind(FEATURE)[:5]
    rows = profiles(graph, found, places)
    for row, place in zip(rows, places, strict=True):
        for target in (int(graph.of_kind(FEATURE)[-1]), len(graph.nodes) - 1):
            part = graph.edges[target, place] / np.abs(graph.edges[target]).sum()
            assert row[target] == pytest.approx(part * (found.nodes[target] + graph.weights[target]), abs=1e-7)


def test_nodes_that_are_drawn_are_sums_over_their_members():
    graph, found, pruned, diagram = drawn(alike=0.3)
    effects = total_effects(graph)
    assert max(map(len, diagram.members)) > 1
    assert sorted(i for group in diagram.members for i in group) == pruned.nodes.tolist()
    place = {node: i for i, node in enumerate(pruned.nodes.tolist())}
    for target, group in enumerate(diagram.members):
        if diagram.kind[target] != OUTPUT:
            assert diagram.influence[target] == pytest.approx(sum(found.nodes[i] for i in group))
        assert diagram.effects[target] == pytest.approx(sum(effects[i] for i in group), abs=1e-6)
        for source, other in enumerate(diagram.members):
            expected = sum(pruned.edges[place[t], place[s]] for t in group for s in other)
            assert diagram.edges[target, source] == pytest.approx(expected, abs=1e-5)
    assert (np.diff(diagram.layer) >= 0).all()


def test_without_groups_every_feature_is_drawn():
    _, _, pruned, diagram = drawn(alike=None)
    assert [len(group) for group in diagram.members] == [1] * len(pruned.nodes)


def test_names_say_what_and_where():
    graph, _, _, diagram = drawn()
    names = naming()
    token = graph.of_kind(EMBEDDING)[2]
    error = graph.of_kind(ERROR)[1]
    feature = int(graph.of_kind(FEATURE)[3])
    nodes = graph.nodes
    position = int(nodes.position[feature])
    assert names.name(int(token)) == f"token 't{IDS[2]}' (2)"
    assert names.name(int(error)) == f"error 0 at 't{IDS[1]}' (1)"
    assert names.name(feature) == f"feature 0/{nodes.feature[feature]} at 't{IDS[position]}' ({position})"
    assert [names.name(len(nodes) - i) for i in (2, 1)] == ["output t7", "output t12 − t3"]
    assert len(set(diagram.keys)) == len(diagram.keys)
    assert names.label([int(token)]) == f"t{IDS[2]}"
    assert [names.row(int(node)) for node in (token, error)] == [names.name(int(node)) for node in (token, error)]
    row = f"0/{nodes.feature[feature]} at t{IDS[position]} → {names.promotes([feature])[0]}"
    assert names.row(feature) == row


def test_what_a_feature_promotes_is_read_through_norm_and_unembedding():
    model, dictionaries, graph = made()
    feature = int(graph.of_kind(FEATURE)[-1])
    row = dictionaries[2].W_dec[int(graph.nodes.feature[feature])]
    logits = [float((row * model.decoder.ln_final.weight) @ vector) for vector in model.embed.weight]
    best = sorted(range(len(logits)), key=lambda token: -logits[token])[:4]
    assert naming().promotes([feature]) == [f"t{token}" for token in best]
    pair = graph.of_kind(FEATURE)[-2:].tolist()
    rows = [dictionaries[2].W_dec[int(graph.nodes.feature[i])] * float(graph.nodes.activation[i]) for i in pair]
    torch.testing.assert_close(written_by(dictionaries, graph, pair), rows[0] + rows[1])


def test_the_strongest_token_of_a_feature_is_that_of_a_loop():
    model, dictionaries, graph = made()
    read = model(torch.tensor([IDS]), capture=("blocks.1.ln2.normalized",)).activations["blocks.1.ln2.normalized"]
    active = dictionaries[1].encode(read)[0]
    for feature in graph.of_kind(FEATURE).tolist():
        if graph.nodes.layer[feature] == 1:
            position = int(active[:, int(graph.nodes.feature[feature])].argmax())
            assert naming().strongest(feature) == f"'t{IDS[position]}' ({position})"


def test_links_of_a_group_add_up_to_its_activation():
    graph, _, _, diagram = drawn(alike=0.3)
    names = naming()
    group = max(diagram.members, key=len)
    incoming, outgoing = links_of(names, group, 3)
    activation = float(graph.nodes.activation[list(group)].sum())
    assert incoming.total == pytest.approx(activation, abs=1e-4)
    assert sum(value for _, value in incoming.rows) == pytest.approx(incoming.total, abs=1e-4)
    assert [name for name, _ in incoming.rows][-2:][1] == "biases"
    most = max((abs(float(one)) for one in graph.edges[list(group)].sum(0)), default=0)
    assert abs(incoming.rows[0][1]) == pytest.approx(most, rel=1e-5)
    assert sum(value for _, value in outgoing.rows) == pytest.approx(graph.edges[:, list(group)].sum(), abs=1e-3)
    said = node_sum(names, group, incoming).values
    assert said["value"] == pytest.approx(activation)
    assert abs(said["part"]) == max(abs(part) for _, part in incoming.rows[:-2])
    largest, part = incoming.rows[0]
    assert str(node_sum(names, group, incoming)) == (
        f"{len(group)} features with {names.name(group[0])}: all contributions and biases add up to "
        f"{incoming.total:.3f}, its activation {activation:.3f}. Largest: {largest}, {part:+.2f}."
    )
    every = int(np.count_nonzero(graph.edges[:, list(group)].sum(1)))
    assert len(links_of(names, group, every)[1].rows) == every, "no others are left"
    token = [int(graph.of_kind(EMBEDDING)[0])]
    assert links_of(names, token)[0] == Links((), 0.0)
    begins = node_sum(names, token, links_of(names, token)[0])
    assert str(begins) == f"Token 't{IDS[0]}' (0): paths begin here, it reads nothing."


def test_the_output_is_the_sum_of_its_links():
    graph, _, _, _ = drawn()
    output = [len(graph.nodes) - 2]
    incoming, outgoing = links_of(naming(), output)
    assert incoming.total == pytest.approx(float(graph.nodes.activation[-2]), abs=1e-4)
    assert outgoing == Links((), 0.0)
    assert ", its logit " in str(node_sum(naming(), output, incoming))


def test_the_strongest_links_keep_their_nodes_and_the_outputs():
    _, _, _, diagram = drawn()
    few = strongest_links(diagram, 3)
    assert np.count_nonzero(few.edges) == 3
    assert sorted(few.strength[few.edges != 0]) == pytest.approx(sorted(diagram.strength.ravel())[-3:])
    ends = few.kind == OUTPUT
    assert all(few.edges[:, node].any() or few.edges[node].any() for node in np.flatnonzero(~ends))
    assert ends.sum() == (diagram.kind == OUTPUT).sum()
    for name, sources in zip(few.keys, few.edges, strict=True):
        whole = diagram.edges[diagram.keys.index(name)]
        assert set(sources[sources != 0]) <= set(whole)
    every = strongest_links(diagram, 10**6)
    assert np.count_nonzero(every.edges) == np.count_nonzero(diagram.edges)


def test_the_node_with_the_most_influence_is_named():
    _, found, _, diagram = drawn()
    features = [i for i in range(len(diagram.kind)) if diagram.kind[i] == FEATURE]
    best = max(features, key=lambda i: diagram.influence[i])
    share = float(diagram.influence[best] / found.nodes.sum())
    effect = float(diagram.effects[best])
    begins = f"Strongest of {np.count_nonzero(diagram.edges)} links in the picture: {diagram.keys[best]}"
    ends = (
        f", towards '{diagram.labels[best]}'; with all that follows, it {'raises' if effect > 0 else 'lowers'} what is "
        f"explained by {abs(effect):.2f} logits, with {share:.1%} of the influence."
    )
    lone = replace(diagram, members=tuple(one[:1] for one in diagram.members))
    assert str(largest_node(lone, found)) == begins + ends
    three = replace(diagram, members=tuple(one[:1] * 3 for one in diagram.members), effects=-diagram.effects)
    said = str(largest_node(three, found))
    assert f"{diagram.keys[best]} and 2 like it, towards " in said
    assert ("lowers" if effect > 0 else "raises") in said
    _, found, _, empty = drawn(kept=0.0)
    assert FEATURE not in empty.kind
    assert str(largest_node(empty, found)) == "No feature is left in the picture: keep more of the influence."
