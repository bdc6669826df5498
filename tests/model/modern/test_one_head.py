"""Soft caps, learned sinks and QK-norm on one head of a model: against their formulas, and against models that have
them."""

import math

import numpy as np
import pytest
import torch

from tests import small
from tfcore.measures.one_text import one_text
from tfcore.views.model import modern as views
from tfcore.views.model.modern.measure import switched_head
from tfcore.views.model.modern.say import head_switched

IDS = [3, 1, 4, 1, 5, 9, 2, 6]
PLACE = (1, 4)  # layer and head


def recorded(model, name):
    return model.activations(one_text(model, IDS), (f"blocks.1.attn.{name}",))[f"blocks.1.attn.{name}"][0, 4].cpu()


@pytest.mark.parametrize("positions", small.POSITIONS)
@pytest.mark.parametrize("wiring", [{}, {"window": 3}, {"n_kv_heads": 3}, {"attn_sinks": True}, {"attn_softcap": 2.0}])
def test_the_first_is_the_head_as_its_model_has_it(positions, wiring):
    model = small.model(positions=positions, **wiring)
    result = switched_head(model, IDS, *PLACE, "cap", 5.0)
    np.testing.assert_allclose(result.weights[0], recorded(model, "pattern"), atol=1e-5)
    assert result.allowed.sum() == (21 if "window" in wiring else 36)


@pytest.mark.parametrize(
    "values",
    [{"architecture": "encoder", "head": "mlm", "positions": "learned"}, small.DEBERTA],
    ids=["BERT", "DeBERTa"],
)
def test_an_encoder_is_not_causal(values):
    model = small.model(**values)
    result = switched_head(model, IDS, *PLACE, "cap", 5.0)
    assert result.allowed.all()
    np.testing.assert_allclose(result.weights[0], recorded(model, "pattern"), atol=1e-5)


@pytest.mark.parametrize("positions", ["rope", "alibi"])
def test_a_cap_makes_of_the_head_what_a_model_with_it_would_have(positions):
    plain, capped = (small.model(positions=positions, attn_softcap=cap) for cap in (None, 0.7))
    capped.load_state_dict(plain.state_dict())
    result = switched_head(plain, IDS, 0, 4, "cap", 0.7)
    ids = one_text(plain, IDS)
    theirs = capped.activations(ids, ("blocks.0.attn.pattern",))["blocks.0.attn.pattern"][0, 4]
    np.testing.assert_allclose(result.weights[1], theirs.cpu(), atol=1e-5)
    assert np.abs(result.scores[1]).max() < 0.7


def test_a_sink_takes_what_a_model_with_it_would_give_it():
    plain, sinking = (small.model(attn_sinks=sinks) for sinks in (False, True))
    sinking.load_state_dict(plain.state_dict(), strict=False)
    with torch.no_grad():
        sinking.stack.blocks[0].attn.sinks.fill_(1.5)
    result = switched_head(plain, IDS, 0, 4, "sink", 1.5)
    theirs = sinking.activations(one_text(plain, IDS), ("blocks.0.attn.pattern",))["blocks.0.attn.pattern"][0, 4]
    np.testing.assert_allclose(result.weights[1], theirs.cpu(), atol=1e-5)
    exp = np.exp(result.scores[0]) * result.allowed
    np.testing.assert_allclose(result.sunk[1], math.exp(1.5) / (math.exp(1.5) + exp.sum(-1)), atol=1e-5)
    np.testing.assert_allclose(result.sunk[0], 0, atol=1e-5)


@pytest.mark.parametrize("positions", ["rope", "none"])
def test_normalised_queries_and_keys_are_those_of_a_model_with_qk_norm(positions):
    plain, normed = (small.model(positions=positions, qk_norm=kind) for kind in (None, "head"))
    normed.load_state_dict(plain.state_dict(), strict=False)  # its gains are ones
    result = switched_head(plain, IDS, 0, 4, "norm", 0.0)
    theirs = normed.activations(one_text(plain, IDS), ("blocks.0.attn.pattern",))["blocks.0.attn.pattern"][0, 4]
    np.testing.assert_allclose(result.weights[1], theirs.cpu(), atol=1e-4)
    d_head = plain.config.head_size
    assert result.factor == pytest.approx(d_head**0.5)
    assert np.abs(result.scores[1]).max() <= result.factor * 1.0001


def test_what_is_said_of_a_switch():
    result = switched_head(small.model(), IDS, *PLACE, "sink", 2.0)
    tokens = [f"t{i}" for i in range(len(IDS))]
    said = head_switched(result, "sink", 2.0, tokens)
    assert said.values["most"] == tokens[int(result.sunk[1].argmax())]
    assert said.values["was"] == pytest.approx(float(result.weights[0].max(-1).mean()))
    assert str(said).startswith(f"A sink of score 2 takes {result.sunk[1].mean():.0%} of a query's weight in the mean")
    capped = str(head_switched(switched_head(small.model(), IDS, *PLACE, "cap", 5.0), "cap", 5.0, tokens))
    low, high = (result.scores[0][result.allowed].min(), result.scores[0][result.allowed].max())
    assert capped.startswith(f"Scores from {low:.1f} to {high:.1f} become ")


def test_the_maps_have_a_column_for_the_sink():
    given = ("stories", "Once upon a time there was a dog.", 1, 1, "sink", 3.0)
    before, after = views.head_before(*given), views.head_after(*given)
    n = len(before.result.allowed)
    assert [np.shape(one.chart.data[1].z) for one in (before, after)] == [(n, n), (n, n + 1)]
    np.testing.assert_allclose(np.nansum(after.chart.data[1].z, axis=1), 1, atol=1e-5)
    assert "A sink of score 3" in after.caption
