"""The transcoders of smollm2 that ship: what their card says, their scan, their labels, a graph through them, and the
pages with them."""

import numpy as np
import pytest
import torch

from tests.cards import measured
from tests.nightly import nightly
from tests.pages import visits
from tests.pages.figures import figures
from tfcore.loading.checkpoints import PRETRAINED, load
from tfcore.loading.transcoders import load_transcoders
from tfcore.measures.dictionaries.feature_scan import load_feature_scan
from tfcore.measures.dictionaries.labels import load_labels
from tfcore.measures.dictionaries.quality import dictionary_quality
from tfcore.views.inside.circuits.measure.graph import ERROR, FEATURE, OUTPUT, Output, attribution_graph
from tfcore.views.inside.circuits.measure.of_text import traced_features
from tfcore.views.inside.circuits.measure.scores import load_graph_scores

FOLDER = PRETRAINED / "smollm2" / "transcoders"
LAYERS = (0, 4, 8, 12, 16, 20, 24)


def test_seven_layers_ship_within_45_mb():
    assert tuple(load_transcoders("smollm2").by_layer) == LAYERS
    assert {
        (one.config.n_features, one.config.top_k, one.config.first) for one in load_transcoders("smollm2").each
    } == {(4_608, 32, 1)}
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 45_000_000


def test_labels_and_graph_scores_are_those_of_the_card():
    card, labels, text = (
        measured("smollm2/transcoders"),
        load_labels("smollm2"),
        (FOLDER / "CARD.md").read_text("utf-8"),
    )
    for layer, score in zip(LAYERS, labels.score, strict=True):
        own = score[np.isfinite(score)]
        assert card[f"blocks.{layer}.mlp_out labels"] == len(own)
        assert card[f"blocks.{layer}.mlp_out median label"] == pytest.approx(float(np.median(own)), abs=2e-3)
    scores = load_graph_scores("smollm2")
    assert f"after {len(scores.replacement)} prompts of" in " ".join(text.split())
    for name, words in (("replacement", "replacement score"), ("completeness", "completeness")):
        low, middle, high = scores.quantiles(name)
        assert f"| {words} | {middle:.2f} | {low:.2f} to {high:.2f} |" in text


@nightly
def test_a_layer_does_what_the_card_says(real_models):
    card, model = measured("smollm2/transcoders"), load("smollm2", device="cpu")[0]
    texts = np.load(FOLDER / "measured.npy", allow_pickle=False).tolist()
    found = dictionary_quality(model, load_transcoders("smollm2", device="cpu").by_layer[8], texts)
    assert found.tokens == card["tokens"]
    assert found.dead == pytest.approx(card["blocks.8.mlp_out dead"], abs=3)
    for name in ("l0", "explained_variance", "loss_recovered"):
        assert getattr(found, name) == pytest.approx(card[f"blocks.8.mlp_out {name}"], abs=2e-3)


@nightly
def test_the_scan_belongs_to_the_weights(real_models):
    model, scan = load("smollm2", device="cpu")[0], load_feature_scan("smollm2")
    for dictionary, one in enumerate(load_transcoders("smollm2", device="cpu").each):
        feature = int(scan.value[dictionary, :, 0].argmax())
        row = torch.tensor([scan.ids(int(scan.window[dictionary, feature, 0]))])
        x = model.activations(row, one.config.reads)[one.config.reads][0, int(scan.position[dictionary, feature, 0])]
        assert float(one.encode(x)[feature]) == pytest.approx(float(scan.value[dictionary, feature, 0]), rel=5e-3)


@nightly
def test_a_graph_of_it_adds_up(real_models):
    model, tokenizer = load("smollm2", device="cpu")
    ids = tokenizer.encode("The capital of France is Paris. The capital of Italy is")
    token = int(model(torch.tensor([ids])).logits[0, -1].argmax())
    assert tokenizer.decode([token]) == " Rome"
    given = load_transcoders("smollm2", device="cpu").by_layer
    graph = attribution_graph(model, given, ids, (Output(token),), traced_features(model))
    assert set(graph.nodes.layer[graph.of_kind(FEATURE)].tolist()) == set(LAYERS)
    assert len(graph.of_kind(ERROR)) == 30 * len(ids)
    total, size = graph.edges.sum(1) + graph.biases, np.abs(graph.edges).sum(1)
    for kind in (FEATURE, OUTPUT):
        places = graph.of_kind(kind)
        assert (np.abs(total[places] - graph.nodes.activation[places]) / size[places].clip(1)).max() < 1e-3


@nightly
def test_the_features_page_shows_it(real_models):
    test = visits.opened("inside/features/page.py", model="smollm2")
    assert not test.exception
    assert "Label: fires" in visits.said(test, "markdown")
    assert test.selectbox(key="dictionary").value == 3  # the middle one


@nightly
def test_the_circuits_page_shows_it(real_models):
    test = visits.opened("inside/circuits/page.py", of="smollm2")
    assert not test.exception
    caption = figures(test)["graph"][0]["caption"]
    assert "Layers 0, 4, 8, 12, 16, 20 and 24 have transcoders; all that the other 23 write is error" in caption
    assert "is brought to" in figures(test)["links"][0]["caption"]
