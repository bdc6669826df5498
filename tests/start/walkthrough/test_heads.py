"""The steps of one head against the same computed by hand from what the model kept, and what is said of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests import small
from tfcore.positions import alibi_slopes
from tfcore.views.start.walkthrough.measure.heads import STEPS, head_steps
from tfcore.views.start.walkthrough.measure.walk import walk
from tfcore.views.start.walkthrough.say.stages import strongest_keys

IDS = small.ids(1, 7)[0].tolist()
WIRINGS = {
    "rope": {},
    "grouped": {"n_kv_heads": 2},
    "qk-norm": {"qk_norm": True},
    "softcap": {"attn_softcap": 3.0, "qk_norm": "width", "rotated": 2},
    "sinks": {"attn_sinks": True},
    "alibi": {"positions": "alibi"},
    "cut off": {"attn_clip": 0.02, "qk_norm": "each"},
    "encoder": {"architecture": "encoder", "positions": "learned"},
}


@pytest.mark.parametrize("values", WIRINGS.values(), ids=WIRINGS)
def test_what_a_head_computes(values):
    model = small.model(**values)
    config = model.config
    found = head_steps(walk(model, IDS, 1), 4)
    assert found.steps == tuple(step for step in STEPS if step in found.steps)
    assert ("mask" in found.steps) == (config.architecture == "decoder")
    assert ("qk-norm" in found.steps, "bias" in found.steps) == (
        config.attention.qk_norm is not None,
        config.positions.kind == "alibi",
    )
    assert len(found.queries) == len(found.keys) == len(set(found.steps) & {"heads", "qk-norm", "rotation"})
    assert len(found.scores) == len(set(found.steps) & {"scores", "scaled", "softcap", "bias"})
    q, k = found.queries[-1], found.keys[-1]
    np.testing.assert_allclose(found.scores[0], q @ k.T, atol=1e-4)
    np.testing.assert_allclose(found.scores[1], q @ k.T * model.stack.blocks[1].attn.scale, atol=1e-4)
    if "softcap" in found.steps:
        np.testing.assert_allclose(found.scores[2], 3 * np.tanh(found.scores[1] / 3), atol=1e-4)
    if "bias" in found.steps:
        place = np.arange(7)
        bias = -float(alibi_slopes(config.attention.n_heads)[4]) * (place[:, None] - place[None, :])
        lower = np.tril_indices(7)
        np.testing.assert_allclose((found.scores[2] - found.scores[1])[lower], bias[lower], atol=1e-4)
    masked = torch.from_numpy(np.where(found.allowed, found.scores[-1], -np.inf))
    if config.attention.sinks:  # of a model that is not trained they are 0
        masked = torch.cat((masked, torch.zeros(len(masked), 1)), -1)
    np.testing.assert_allclose(found.weights, masked.softmax(-1)[:, :7], atol=1e-5)
    np.testing.assert_allclose(found.output, found.weights @ found.values, atol=1e-5)
    group = config.attention.n_heads // config.attention.kv_heads
    kept = model(torch.tensor([IDS]), capture=["blocks.1.attn.v"]).activations["blocks.1.attn.v"]
    np.testing.assert_allclose(found.values, kept[0, 4 // group], atol=1e-6)


def test_what_each_token_attends_to_most():
    steps = head_steps(walk(small.model(positions="alibi"), IDS, 1), 2)
    told = [one.values for one in strongest_keys([f" {letter}" for letter in "abcdefg"], steps)]
    assert (told[0]["query"], told[0]["key"], told[0]["weight"], told[0]["others"]) == ("·a", "·a", 1.0, 0)
    for query in range(1, 7):
        key = int(steps.weights[query].argmax())
        assert (told[query]["key"], told[query]["others"]) == (f"·{'abcdefg'[key]}", query)
        assert told[query]["weight"] == pytest.approx(steps.weights[query].max())
        assert told[query]["score"] == pytest.approx(steps.scores[-1][query, key])


def test_it_is_said_in_a_sentence():
    weights = np.array([[1.0, 0.0, 0.0], [0.8, 0.2, 0.0], [0.1, 0.8, 0.1]])
    scores = np.full((3, 3), 3.214)
    allowed = np.tri(3, dtype=bool)
    steps = replace(head_steps(walk(small.model(), IDS[:3], 1), 0), weights=weights, scores=(scores,), allowed=allowed)
    assert list(map(str, strongest_keys([" it", " cat", "s"], steps))) == [
        "'·it' attends most to '·it': score 3.21, weight 1.00; it can attend to nothing else.",
        "'·cat' attends most to '·it': score 3.21, weight 0.80; 1 other token has the remaining 0.20.",
        "'s' attends most to '·cat': score 3.21, weight 0.80; 2 other tokens share the remaining 0.20.",
    ]
