"""Scores of graphs over prompts: those of each graph by itself, kept and read again."""

import numpy as np
import pytest
import torch

from tfcore.files import CheckpointError
from tfcore.loading.checkpoints import load
from tfcore.loading.transcoders import load_transcoders
from tfcore.measures.neuron_scan import PADDING_ID
from tfcore.views.inside.circuits import say
from tfcore.views.inside.circuits.measure import scores
from tfcore.views.inside.circuits.measure.effects import strongest, take_off
from tfcore.views.inside.circuits.measure.graph import EMBEDDING, ERROR, Output, attribution_graph
from tfcore.views.inside.circuits.measure.influence import measure_influence
from tfcore.views.inside.circuits.measure.scores import GraphScores, held_out_prompts, score_prompts


def test_the_scores_of_a_prompt_are_those_of_its_graph():
    model, _ = load("stories")
    prompts = held_out_prompts("stories", 3)[:1, :6]
    found = score_prompts(model, "stories", prompts)
    ids = prompts[0].tolist()
    token = int(model(torch.tensor([ids])).logits[0, -1].argmax())
    transcoders = load_transcoders("stories").by_layer
    graph = attribution_graph(model, transcoders, ids, (Output(token),))
    influence = measure_influence(graph)
    # circuit-tracer's formulas: (I - A)^-1 - I, with A the shares of absolute contributions
    size = np.abs(graph.edges.astype(float))
    share = size / np.maximum(size.sum(1, keepdims=True), 1e-10)
    paths = graph.weights @ (np.linalg.inv(np.eye(len(share)) - share) - np.eye(len(share)))
    errors, tokens = (graph.nodes.kind == one for one in (ERROR, EMBEDDING))
    begin = paths[tokens].sum() + paths[errors].sum()
    assert found.replacement[0] == pytest.approx(paths[tokens].sum() / begin, abs=1e-4)
    through = paths + graph.weights
    explained = (1 - share[:, errors].sum(1)) @ through / through.sum()
    assert found.completeness[0] == pytest.approx(explained, abs=1e-4)
    tested = take_off(model, transcoders, graph, strongest(graph, influence))
    assert found.measured[0] == pytest.approx(np.corrcoef(tested.predicted, tested.measured)[0, 1], abs=1e-6)
    assert found.frozen[0] == pytest.approx(np.corrcoef(tested.predicted, tested.frozen)[0, 1], abs=1e-6)


def test_prompts_are_whole_and_spread():
    found = held_out_prompts("stories", 50)
    assert found.shape == (50, scores.TOKENS)
    assert (found != PADDING_ID).all()
    assert len(np.unique(found, axis=0)) > 45


def test_they_are_kept_and_said_beside_a_graph(tmp_path, monkeypatch):
    made = GraphScores(*(np.array([0.1, 0.2, one]) for one in (0.3, 0.4, np.nan, 0.5)), tokens=9)
    (tmp_path / "m" / "transcoders").mkdir(parents=True)
    scores.save_graph_scores(tmp_path / "m" / "transcoders", made)
    monkeypatch.setattr(scores, "PRETRAINED", tmp_path)
    scores.load_graph_scores.cache_clear()
    again = scores.load_graph_scores("m")
    assert again.tokens == 9
    assert again.replacement.tolist() == [0.1, 0.2, 0.3]
    assert np.isnan(again.measured[2])
    assert again.quantiles("replacement").tolist() == pytest.approx([0.12, 0.2, 0.28])
    assert say._beside(again, "replacement") == "0.20 on 3 prompts (0.12 to 0.28)"
    (tmp_path / "m" / "transcoders" / scores.SCORES_FILE).write_text('{"tokens": 9}')
    scores.load_graph_scores.cache_clear()
    with pytest.raises(CheckpointError, match=r"tools\.graph_scores m"):
        scores.load_graph_scores("m")
