"""Composition scores against the large products written out, and against a circuit wired by hand."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.analysis.inside.circuits import (
    KINDS,
    compose,
    composition,
    frobenius,
    head_weights,
    random_composition,
    theory,
)


def by_hand(model, later, head, earlier, other):
    """||A B|| / (||A|| ||B||) from d_model x d_model matrices, head by head, straight from the parameters."""
    c = model.config

    def circuits(layer, h):
        attn, gain = model.decoder.blocks[layer].attn, model.decoder.blocks[layer].ln1.weight
        d, group = c.head_size, c.n_heads // c.kv_heads
        w, kv = attn.qkv.weight, h // group
        q = w[h * d : (h + 1) * d] * gain
        k = w[(c.n_heads + kv) * d : (c.n_heads + kv + 1) * d] * gain
        v = w[(c.n_heads + c.kv_heads + kv) * d : (c.n_heads + c.kv_heads + kv + 1) * d] * gain
        return q.T @ k, attn.out.weight[:, h * d : (h + 1) * d] @ v

    (qk, ov), (_, wrote) = circuits(later, head), circuits(earlier, other)
    products = {"query": (qk.T, wrote), "key": (qk, wrote), "value": (ov, wrote)}
    return {kind: float((a @ b).norm() / (a.norm() * b.norm())) for kind, (a, b) in products.items()}


@pytest.mark.parametrize("kv_heads", [6, 3, 1])
def test_scores_equal_the_products_written_out(kv_heads):
    model = small.model(n_layers=3, n_kv_heads=kv_heads)
    for block in model.decoder.blocks:
        block.ln1.weight.uniform_(0.5, 2.0)
    found = composition(model, 2)
    for head, earlier, other in ((0, 0, 0), (5, 1, 2), (3, 0, 4)):
        for kind, score in by_hand(model, 2, head, earlier, other).items():
            assert found.scores[kind][head, earlier, other] == pytest.approx(score, rel=1e-4)
    assert all(found.scores[kind].shape == (6, 2, 6) for kind in KINDS)


def test_a_centred_norm_hides_what_all_directions_share():
    model = small.model(norm="layernorm", n_layers=2)
    assert float(head_weights(model, 1).k.sum(-1).abs().max()) < 1e-5


def test_frobenius_of_a_thin_product():
    a, b = torch.randn(3, 20, 4), torch.randn(3, 4, 30)
    torch.testing.assert_close(frobenius(a, b), torch.linalg.matrix_norm(a @ b))


def test_what_is_not_read_scores_zero_and_what_is_read_whole_scores_most():
    eye = torch.eye(12)
    read, wrote, elsewhere = eye[:4], eye[:, :4], eye[:, 4:8]
    a, b = (eye[:, 8:12], read), eye[:4]
    assert float(compose(a, (wrote, b))) == pytest.approx(0.5)  # four equal directions: 2 / (2 * 2)
    assert float(compose(a, (elsewhere, b))) == 0


@pytest.mark.parametrize(("d_model", "d_head"), [(64, 16), (192, 32)])
def test_random_matrices_score_one_over_the_root_of_the_width(d_model, d_head):
    mean, spread = random_composition(d_model, d_head)
    assert mean == pytest.approx(theory(d_model), rel=0.03)
    assert 0 < spread < 0.2 * mean
    large = torch.randn(4, d_model, d_model, generator=torch.Generator().manual_seed(1))
    a, b = large[0][:, :d_head] @ large[1][:d_head], large[2][:, :d_head] @ large[3][:d_head]
    assert float((a @ b).norm() / (a.norm() * b.norm())) == pytest.approx(mean, abs=4 * spread)


def test_an_untrained_model_scores_as_random_matrices():
    model = small.model(n_layers=2, d_model=96, n_heads=6)
    found = composition(model, 1)
    for kind in KINDS:
        assert np.mean(found.scores[kind]) == pytest.approx(found.random, rel=0.1)


def test_a_layer_with_none_below_is_refused():
    for layer in (0, 2):
        with pytest.raises(ValueError, match=f"layer={layer} must be between 1 and 1"):
            composition(small.model(), layer)
