"""Every scheme on one head: RoPE's weights are the model's own, ALiBi's change is its bias, none changes nothing."""

import numpy as np
import pytest
import torch

from tests.small import difference, ids, model
from tfcore.analysis.foundations.position_effects import position_effects
from tfcore.part_configs import RopeScaling
from tfcore.positions import alibi_bias, alibi_slopes, sinusoidal

IDS = ids(1, 13)[0].tolist()
PLACES = torch.arange(13)


STRETCHED = RopeScaling(kind="yarn", factor=4.0, original_len=16)


@pytest.mark.parametrize("values", [{}, {"n_kv_heads": 2}, {"attn_scale": 1.0}, {"rope_scaling": STRETCHED}])
@pytest.mark.parametrize("head", [0, 5])
def test_rope_is_what_the_model_does_and_alibi_its_bias(values, head):
    subject = model(**values)
    found = position_effects(subject, IDS, head)
    name = "blocks.0.attn.pattern"
    own = subject(torch.tensor([IDS]), capture=(name,)).activations[name][0, head]
    assert difference(torch.tensor(found["rope"].weights), own) < 1e-5
    assert not found["none"].added.any()
    bias = alibi_bias(alibi_slopes(6), PLACES, PLACES)[head]
    assert difference(torch.tensor(found["alibi"].added), bias) < 1e-5
    for effect in found.values():
        np.testing.assert_allclose(effect.weights.sum(-1), 1, atol=1e-5)
        assert effect.previous == pytest.approx(np.diagonal(effect.weights, -1).mean())


@pytest.mark.parametrize("scaled", [False, True])
def test_vectors_are_added_to_the_embeddings_at_their_size(scaled):
    subject, tokens = model(scale_embeddings=scaled), torch.tensor([IDS])
    table = sinusoidal(PLACES, 24)
    embedded = subject.embed(tokens) * (24**0.5 if scaled else 1)
    moved = embedded + table * embedded.square().mean().sqrt() / table.square().mean().sqrt()
    names = ("blocks.0.attn.q", "blocks.0.attn.k")
    q, k, _ = by_hand(subject.decoder.blocks[0], moved)
    plain = subject(tokens, capture=names).activations
    added = q @ k.T / 2 - plain[names[0]][0, 2] @ plain[names[1]][0, 2].T / 2
    found = position_effects(subject, IDS, 2)
    assert "learned" not in found
    np.testing.assert_allclose(found["sinusoidal"].added, added.numpy(), atol=1e-4)


def test_learned_vectors_are_what_a_model_that_has_them_does():
    subject = model(positions="learned")
    found, name = position_effects(subject, IDS, 3), "blocks.0.attn.pattern"
    own = subject(torch.tensor([IDS]), capture=(name,)).activations[name][0, 3]
    assert difference(torch.tensor(found["learned"].weights), own) < 1e-5
    without = model(positions="none")
    without.load_state_dict({k: v for k, v in subject.state_dict().items() if "pos_embed" not in k})
    plain = without(torch.tensor([IDS]), capture=(name,)).activations[name][0, 3]
    assert difference(torch.tensor(found["none"].weights), plain) < 1e-5


def by_hand(block, x):
    """Queries, keys and values of head 2 from RMSNorm and W_QKV written out."""
    normed = x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * block.ln1.weight
    return tuple(part[0, 2] for part in block.attn.heads(normed @ block.attn.qkv.weight.T, 6, 6, 6))


def test_one_token_has_no_token_before():
    found = position_effects(model(), [7], 0)
    assert all((effect.previous, effect.distance) == (0, 0) for effect in found.values())
