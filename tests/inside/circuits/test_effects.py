"""Features taken off in the real model against runs one by one, and forecasts against a walk along all paths."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.inside.circuits.graphs import IDS, OUTPUTS, made
from tests.inside.circuits.test_influence import by_hand
from tfcore.inspection.edits import Edit
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.inside.circuits.measure.effects import TakenOff, strongest, take_off, total_effects
from tfcore.views.inside.circuits.measure.graph import FEATURE, Output, attribution_graph
from tfcore.views.inside.circuits.measure.influence import measure_influence
from tfcore.views.inside.circuits.say import forecast_details, measure_name, predicted_against_measured


def along_paths(graph, source, target):
    """The effect of losing all of `source` on what `target` reads, path by path."""
    effect = float(graph.edges[target, source])
    for middle in graph.of_kind(FEATURE).tolist():
        if source < middle < target and graph.edges[middle, source] and graph.edges[target, middle]:
            lost = float(graph.edges[middle, source]) / float(graph.nodes.activation[middle])
            effect += lost * along_paths(graph, middle, target)
    return effect


def test_forecasts_are_the_sum_over_all_paths():
    graph = by_hand()
    found = total_effects(graph)
    assert found[:4] == pytest.approx([1 + 3 * -6, -1 * -6, -6, 1])
    _, _, graph = made()
    found, first = total_effects(graph), len(graph.nodes) - 2
    late = [i for i in range(first) if graph.nodes.layer[i] >= 1]  # paths from layer 0 are too many to walk
    for source in [*late[:6], *late[-6:]]:
        assert found[source] == pytest.approx(along_paths(graph, source, first), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("without", [(), (2,)], ids=["every layer", "a layer without a transcoder"])
def test_taking_off_is_a_run_of_the_real_model(without):
    model, dictionaries, graph = made()
    if without:
        dictionaries = {layer: one for layer, one in dictionaries.items() if layer not in without}
        graph = attribution_graph(model, dictionaries, IDS, OUTPUTS)
    places = strongest(graph, measure_influence(graph), 9)
    found = take_off(model, dictionaries, graph, places)
    run = model(torch.tensor([IDS]), capture=["*.scale", "*.pattern", *(f"blocks.{i}.mlp_out" for i in without)])
    plain = run.logits[0, -1]
    value = plain[7] - plain.mean()
    assert found.value == pytest.approx(float(value), abs=1e-4)
    held = [Edit.replace(name, activation) for name, activation in run.activations.items()]
    for place, measured, frozen in zip(places.tolist(), found.measured, found.frozen, strict=True):
        layer, position = int(graph.nodes.layer[place]), int(graph.nodes.position[place])
        wrote = dictionaries[layer].W_dec[int(graph.nodes.feature[place])] * float(graph.nodes.activation[place])
        edit = Edit.add(f"blocks.{layer}.mlp_out", -wrote, positions=[position])
        for fall, edits in ((measured, [edit]), (frozen, [edit, *held])):
            logits = model(torch.tensor([IDS]), edits=edits).logits[0, -1]
            assert fall == pytest.approx(float(value - (logits[7] - logits.mean())), abs=1e-4)
    assert found.predicted.tolist() == total_effects(graph)[places].tolist()
    assert found.direct == pytest.approx(graph.edges[-2, places])


def test_the_strongest_features_are_those_with_most_influence():
    _, _, graph = made()
    influence = measure_influence(graph)
    features = sorted(graph.of_kind(FEATURE).tolist(), key=lambda i: -influence.nodes[i])
    assert strongest(graph, influence, 7).tolist() == sorted(features[:7])


def test_what_is_said_of_forecasts():
    graph = by_hand()
    found = TakenOff(
        np.array([2, 2, 2]),
        np.array([2.0, -1.0, 0.5]),
        np.array([1.0, 0.0, 0.0]),
        np.array([1.0, -1.0, -0.25]),
        np.array([1.9, -1.0, 0.5]),
        Output(6),
        3.0,
    )
    whole = predicted_against_measured(found, ByteTokenizer())
    said = whole.values
    assert said["correlation"] == pytest.approx(np.corrcoef(found.predicted, found.measured)[0, 1])
    assert said["frozen"] == pytest.approx(np.corrcoef(found.predicted, found.frozen)[0, 1])
    assert str(whole) == (
        f"3 features are taken off in the real model, one at a time. Forecast and fall of the {said['measure']}: "
        f"correlation {said['correlation']:.2f}, {said['frozen']:.2f} where attention and the norms' scales are held "
        "(hollow). Dotted: as predicted."
    )
    direct = np.corrcoef(found.direct, found.measured)[0, 1]
    details = forecast_details(graph, found, ByteTokenizer())
    assert [one.value for one in details] == [
        f"{(2 + 1 - 0.125) / (4 + 1 + 0.25):.2f}",
        f"{direct:.2f}",
        "2 of 3",
        "+1.00",
    ]
    assert [one.note for one in details[2:]] == ["effects of at least 0.1 logits", "predicted +2.00"]
    falls = np.array([1.0, -0.1, 0.09])
    tenth = forecast_details(graph, replace(found, predicted=falls, measured=falls), ByteTokenizer())
    assert tenth[2].value == "2 of 2", "a tenth of the largest counts"


def test_a_forecast_says_nothing_of_what_cannot_be_compared():
    graph, same = by_hand(), np.ones(3)
    falls = np.array([1.0, -1.0, 0.5])
    found = TakenOff(np.array([2, 2, 2]), falls, same, falls, same, Output(6), 3.0)
    said = str(predicted_against_measured(found, ByteTokenizer()))
    assert said.endswith("above the mean of all: correlation 1.00. Dotted: as predicted.")
    assert [one.label for one in forecast_details(graph, found, ByteTokenizer())][1] == "Sign as predicted"
    for taken in (0, 1):
        none = np.zeros(taken)
        some = TakenOff(found.nodes[:taken], none, none, none, none, Output(6), 3.0)
        assert str(predicted_against_measured(some, ByteTokenizer())).startswith(
            f"Taken off in the real model, the {taken} features leave the logit of "
        )
        assert forecast_details(graph, some, ByteTokenizer()) == ()


def test_the_measure_in_words():
    tokenizer = ByteTokenizer()
    one, two = tokenizer.encode("ab")
    assert measure_name(Output(one), tokenizer) == "logit of 'a' above the mean of all"
    assert measure_name(Output(one, two), tokenizer) == "logit of 'a' less that of 'b'"
