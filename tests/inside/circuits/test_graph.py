"""Every edge against the gradient of the frozen model, and every node the sum of its edges."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests import small
from tests.inside.circuits.graphs import IDS, OUTPUTS, WIRING, made, transcoders
from tfcore.attention import AttentionContext
from tfcore.inspection.capture import ActivationRecorder
from tfcore.inspection.edits import Edit
from tfcore.inspection.transcoders import Transcoder
from tfcore.part_configs import ExpertsConfig
from tfcore.views.inside.circuits.measure import graph as graph_module
from tfcore.views.inside.circuits.measure.graph import (
    EMBEDDING,
    ERROR,
    FEATURE,
    OUTPUT,
    Output,
    attribution_graph,
    check_graph_model,
    frozen_run,
    likely_outputs,
    output_direction,
)


def test_contributions_add_up_to_activations_and_logits():
    model, _, graph = made()
    total = graph.edges.sum(1) + graph.biases
    for kind in (FEATURE, OUTPUT):
        places = graph.of_kind(kind)
        assert np.abs(total[places] - graph.nodes.activation[places]).max() < 1e-4
    assert not graph.edges[graph.of_kind(EMBEDDING)].any()
    assert not graph.edges[graph.of_kind(ERROR)].any()
    logits = model(torch.tensor([IDS])).logits[0, -1]
    expected = [logits[7] - logits.mean(), logits[12] - logits[3]]
    assert graph.nodes.activation[-2:] == pytest.approx([float(one) for one in expected], abs=1e-4)


def frozen(model, dictionaries):
    """The local replacement model, run block by block with attention patterns and norm scales as constants; what its
    embeddings, features and errors write are leaves of autograd."""
    names = ("blocks.*.attn.pattern", "blocks.*.ln?.scale", "blocks.*.mlp_out", "ln_final.scale", "embed")
    plain = model(torch.tensor([IDS]), capture=names).activations
    leaves, reads = {"embed": plain["embed"].clone().requires_grad_()}, {}
    x = leaves["embed"]
    for i, block in enumerate(model.decoder.blocks):
        recorder = ActivationRecorder.of(
            (),
            [
                Edit.replace(f"blocks.{i}.attn.pattern", plain[f"blocks.{i}.attn.pattern"]),
                Edit.replace(f"blocks.{i}.ln1.scale", plain[f"blocks.{i}.ln1.scale"]),
            ],
            model.config,
        ).under(f"blocks.{i}.")
        mask = AttentionContext(
            mask=None, is_causal=True, bias=None, rotation=None, n_query=len(IDS), device=torch.device("cpu")
        )
        x = x + block.attn(block.ln1(x, recorder, "ln1"), mask, recorder.under("attn."))
        scale = plain[f"blocks.{i}.ln2.scale"]
        read = x / scale * block.ln2.weight
        dictionary = dictionaries[i]
        values, chosen = (read.detach() @ dictionary.W_enc.T + dictionary.b_enc).topk(dictionary.config.top_k)
        reads[i] = read @ dictionary.W_enc.T + dictionary.b_enc  # before the choice, which is frozen
        active = torch.zeros_like(reads[i].detach()).scatter(-1, chosen, values.clamp(min=0))
        leaves[f"features {i}"] = active.requires_grad_()
        wrote = leaves[f"features {i}"] @ dictionary.W_dec + dictionary.b_dec
        leaves[f"error {i}"] = (plain[f"blocks.{i}.mlp_out"] - wrote.detach()).requires_grad_()
        x = x + wrote + leaves[f"error {i}"]
    final = (x / plain["ln_final.scale"] * model.decoder.ln_final.weight)[0, -1]
    table = model.embed.weight
    outputs = [final @ (table[7] - table.mean(0)), final @ (table[12] - table[3])]
    return leaves, reads, outputs


def contribution(leaves, target, name):
    """Leaf times gradient of the target."""
    gradient = torch.autograd.grad(target, leaves[name], retain_graph=True, allow_unused=True)[0]
    return torch.zeros_like(leaves[name]) if gradient is None else (gradient * leaves[name]).detach()


def test_edges_are_gradients_of_the_frozen_model_times_what_was_written():
    model, dictionaries, graph = made()
    with torch.enable_grad():
        leaves, reads, outputs = frozen(model, dictionaries)
    nodes = graph.nodes
    columns = (nodes.kind, nodes.layer, nodes.position, nodes.feature)
    some = np.random.default_rng(0).permutation(graph.of_kind(FEATURE))[:40]
    for target in [*some.tolist(), len(nodes) - 2, len(nodes) - 1]:
        if nodes.kind[target] == OUTPUT:
            read = outputs[target - len(nodes) + 2]
        else:
            read = reads[int(nodes.layer[target])][0, nodes.position[target], nodes.feature[target]]
        found = {name: contribution(leaves, read, name)[0] for name in leaves}
        for source in range(len(nodes)):
            expected = written(found, *(int(one[source]) for one in columns))
            assert graph.edges[target, source] == pytest.approx(expected, abs=2e-5)


def written(found, kind, layer, position, number):
    """The contribution of one node, from those of everything of its kind."""
    if kind == EMBEDDING:
        return float(found["embed"][position].sum())
    if kind == FEATURE:
        return float(found[f"features {layer}"][position, number])
    return float(found[f"error {layer}"][position].sum()) if kind == ERROR else 0.0


def test_nodes_are_every_active_feature_in_the_order_of_computation():
    model, dictionaries, graph = made()
    found = model(torch.tensor([IDS]), capture=("blocks.*.ln2.normalized",)).activations
    expected = []
    for layer, dictionary in dictionaries.items():
        active = dictionary.encode(found[f"blocks.{layer}.ln2.normalized"])[0]
        expected += [(layer, p, f, float(active[p, f])) for p, f in active.nonzero().tolist()]
    nodes, places = graph.nodes, graph.of_kind(FEATURE)
    columns = (nodes.layer, nodes.position, nodes.feature, nodes.activation)
    got = [tuple(one[place].item() for one in columns) for place in places]
    assert sorted((*key, pytest.approx(value, abs=1e-5)) for *key, value in expected) == sorted(got)
    assert (np.diff(nodes.layer) >= 0).all()
    assert np.triu(graph.edges).any() is np.False_  # nothing reads what comes after it


def test_errors_make_up_what_transcoders_miss():
    model, dictionaries, _ = made()
    run = frozen_run(model, dictionaries, IDS)
    written = model(torch.tensor([IDS]), capture=("blocks.1.mlp_out", "blocks.1.ln2.normalized")).activations
    predicted = dictionaries[1](written["blocks.1.ln2.normalized"])
    torch.testing.assert_close(predicted[0] + run.errors[1], written["blocks.1.mlp_out"][0])


def test_likely_outputs_have_most_of_the_probability():
    model = small.model(**WIRING)
    found = likely_outputs(model, IDS)
    probability = model(torch.tensor([IDS])).logits[0, -1].softmax(-1).tolist()
    order = sorted(range(len(probability)), key=lambda token: -probability[token])[: len(found)]
    assert [output.token for output in found] == order
    assert [output.weight for output in found] == pytest.approx([probability[token] for token in order])
    assert len(found) == 10 or sum(output.weight for output in found) >= 0.95
    assert sum(output.weight for output in found[:-1]) < 0.95
    assert attribution_graph(model, transcoders(model), IDS).outputs == found


@pytest.mark.parametrize(
    "other",
    [
        {"architecture": "encoder", "head": "none"},
        {"head": "none", "tie_embeddings": False},
        {"norm": "layernorm"},
        {"norm_placement": "sandwich"},
        {"parallel": True},
        {"bias": True, "qkv_bias": False, "out_bias": False},
        {"qkv_bias": True},
        {"out_bias": True},
        {"positions": "learned"},
        {"embed_norm": True},
        {"experts": ExpertsConfig(n_experts=4)},
        {"d_ff": 0},
    ],
    ids=str,
)
def test_other_wirings_are_refused(other):
    check_graph_model(small.config(**WIRING))
    with pytest.raises(ValueError, match="needs a decoder with a language head, RMSNorm"):
        frozen_run(small.model(**{**WIRING, **other}), {}, IDS)


def test_the_fewest_outputs_that_have_95_percent(monkeypatch):
    shares = torch.tensor([0.04, 0.5, 0.03, 0.42, 0.01])
    monkeypatch.setattr(graph_module, "next_logits", lambda *_: shares.log())
    found = likely_outputs(small.model(**WIRING), IDS)
    assert [(one.token, round(one.weight, 4)) for one in found] == [(1, 0.5), (3, 0.42), (0, 0.04)]


def test_the_direction_of_an_output_gives_its_logit():
    model = small.model(**WIRING, logit_scale=0.5)
    output = model(torch.tensor([IDS]))
    logits, hidden = output.logits[0, -1], output.hidden[0, -1]
    assert hidden @ output_direction(model, Output(7)) == pytest.approx(float(logits[7] - logits.mean()), abs=1e-5)
    assert hidden @ output_direction(model, Output(7, 3)) == pytest.approx(float(logits[7] - logits[3]), abs=1e-5)


def test_what_is_not_active_is_no_node():
    """Of dictionaries that may have more active features than are above 0."""
    model = small.model(**WIRING)
    dictionaries = transcoders(model, top_k=40)
    graph = attribution_graph(model, dictionaries, IDS, OUTPUTS)
    features = graph.of_kind(FEATURE)
    assert (graph.nodes.activation[features] > 0).all()
    assert len(features) == int((frozen_run(model, dictionaries, IDS).activations > 0).sum())


def test_layers_without_a_transcoder_and_first_positions_are_error_as_a_whole():
    """Sums hold all the same, and no feature stands where its transcoder was not trained."""
    model, every, _ = made()
    late = Transcoder(replace(every[1].config, first=2), 1).requires_grad_(False)
    late.load_state_dict(every[1].state_dict())
    graph, run = (make(model, {1: late}, IDS) for make in (attribution_graph, frozen_run))
    features = graph.of_kind(FEATURE)
    assert set(graph.nodes.layer[features].tolist()) == {1}
    assert graph.nodes.position[features].min() == 2
    assert len(graph.of_kind(ERROR)) == 3 * len(IDS)
    written = model(torch.tensor([IDS]), capture=("blocks.*.mlp_out",)).activations
    for layer in (0, 2):
        torch.testing.assert_close(run.errors[layer], written[f"blocks.{layer}.mlp_out"][0])
    torch.testing.assert_close(run.errors[1, :2], written["blocks.1.mlp_out"][0, :2])
    total = graph.edges.sum(1) + graph.biases
    for places in (features, graph.of_kind(OUTPUT)):
        assert np.abs(total[places] - graph.nodes.activation[places]).max() < 1e-4


def test_only_the_features_with_most_influence_are_nodes_and_sums_hold():
    model, dictionaries, whole = made()
    graph = attribution_graph(model, dictionaries, IDS, OUTPUTS, most=6)
    features = graph.of_kind(FEATURE)
    assert [int((graph.nodes.layer[features] == layer).sum()) for layer in range(3)] == [6, 6, 6]
    total = graph.edges.sum(1) + graph.biases
    for places in (features, graph.of_kind(OUTPUT)):
        assert np.abs(total[places] - graph.nodes.activation[places]).max() < 1e-4
    last = whole.of_kind(FEATURE)[whole.nodes.layer[whole.of_kind(FEATURE)] == 2]
    share = np.abs(whole.edges) / np.maximum(np.abs(whole.edges).sum(1, keepdims=True), 1e-10)
    read = last[(whole.weights @ share)[last] > 0]  # above the last layer there are outputs alone
    own = features[graph.nodes.layer[features] == 2]
    wanted = set(zip(whole.nodes.position[read].tolist(), whole.nodes.feature[read].tolist(), strict=True))
    assert 0 < len(wanted) <= 6
    assert wanted <= set(zip(graph.nodes.position[own].tolist(), graph.nodes.feature[own].tolist(), strict=True))
    every = attribution_graph(model, dictionaries, IDS, OUTPUTS, most=1_000)
    assert np.array_equal(every.edges, whole.edges)


def test_a_transcoder_of_a_layer_that_is_not_there():
    model, dictionaries, _ = made()
    with pytest.raises(ValueError, match="transcoder of layer 3 does not fit: the model has layers 0 to 2"):
        attribution_graph(model, {3: dictionaries[0]}, IDS, OUTPUTS)


def test_one_token_has_a_graph():
    model, dictionaries, _ = made()
    graph = attribution_graph(model, dictionaries, IDS[:1])
    total = graph.edges.sum(1) + graph.biases
    places = graph.of_kind(FEATURE)
    assert np.abs(total[places] - graph.nodes.activation[places]).max() < 1e-4
