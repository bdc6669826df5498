"""Deep networks: the arrangement is that of the model's own blocks, and theory says what must come out."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests import small
from tests.nightly import nightly
from tfcore.measures import deep_networks as depth
from tfcore.measures.deep_networks import (
    Deep,
    build_deep,
    mean_cosine,
    probe,
    residual_sublayer,
    run_deep,
    stream_sizes,
)
from tfcore.norms import Norm
from tfcore.views.block.normalisation.say import gradient_fall


def ids(rows=2, seq=9):
    return torch.randint(0, depth.VOCAB, (rows, seq), generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("placement", ["pre", "post", "sandwich"])
@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm"])
def test_with_skips_it_is_the_model_itself(placement, norm):
    deep = Deep(n_layers=3, placement=placement, norm=norm)
    model = build_deep(deep).requires_grad_(False)
    logits, streams = run_deep(model, ids(), deep)
    output = model(ids(), capture=("blocks.*.resid_pre", "blocks.2.resid_post"))
    torch.testing.assert_close(logits, output.logits)
    expected = [*(output.activations[f"blocks.{i}.resid_pre"] for i in range(3))]
    for found, known in zip(streams, [*expected, output.activations["blocks.2.resid_post"]], strict=True):
        torch.testing.assert_close(found, known)


def test_every_arrangement_by_hand():
    x = torch.randn(2, 3, 8)
    double = lambda h: 2 * h + 1  # noqa: E731
    norm, second = Norm(small.config(d_model=8, n_heads=2)), Norm(small.config(d_model=8, n_heads=2, norm="layernorm"))
    expected = {
        ("pre", True): x + double(norm(x)),
        ("post", True): norm(x + double(x)),
        ("sandwich", True): x + second(double(norm(x))),
        ("none", True): x + double(x),
        ("pre", False): double(norm(x)),
        ("post", False): norm(double(x)),
        ("none", False): double(x),
    }
    for (placement, skip), known in expected.items():
        found = residual_sublayer(x, double, norm, placement, skip, second)
        torch.testing.assert_close(found, known)


def test_gradients_are_those_of_autograd_and_sizes_those_of_numpy():
    deep = Deep(n_layers=2)
    result, model = probe(deep), build_deep(deep).double()
    tokens = torch.randint(0, 64, (depth.ROWS, depth.SEQ + 1), generator=torch.Generator().manual_seed(0))
    logits = model(tokens[:, :-1]).logits
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    weights = [block.mlp.down.weight for block in model.decoder.blocks]
    expected = [float(g.norm()) for g in torch.autograd.grad(loss, weights)]
    np.testing.assert_allclose(result.gradient, expected, rtol=1e-6)
    assert result.loss == pytest.approx(float(loss.detach()))
    assert result.activation.shape == result.alike.shape == (3,)
    np.testing.assert_allclose(stream_sizes(deep)[1:], [2.0, 2.0], rtol=0.9)


def test_without_skip_and_norm_gradients_vanish_with_depth_and_with_skips_they_do_not():
    first = {
        (placement, skip): [float(probe(Deep(n_layers=n, placement=placement, skip=skip)).gradient[0]) for n in (1, 16)]
        for placement, skip in (("pre", True), ("post", True), ("none", False))
    }
    assert first["none", False][1] < 1e-6 * first["none", False][0]
    for placement in ("pre", "post"):
        assert first[placement, True][1] > 0.2 * first[placement, True][0]


def test_the_last_gradient_of_pre_norm_falls_with_the_root_of_depth_and_that_of_post_norm_stays():
    """arXiv:2002.04745, theorem 1, roughly: the mean over seeds, since one network scatters by a fifth."""

    def last_gradient(placement, n):
        return np.mean([probe(Deep(n_layers=n, placement=placement), seed).gradient[-1] for seed in range(3)])

    last = {placement: [last_gradient(placement, n) for n in (2, 18)] for placement in ("pre", "post")}
    assert 3 / 1.6 < last["pre"][0] / last["pre"][1] < 3 * 1.6
    assert last["post"][0] / last["post"][1] == pytest.approx(1, rel=0.2)


def test_post_norm_keeps_the_stream_at_one_and_gpt2_s_scaling_keeps_it_at_any_depth():
    np.testing.assert_allclose(probe(Deep(n_layers=8, placement="post")).activation[1:], 1, atol=1e-3)
    growth = {
        init: [(lambda a: a[-1] / a[0])(stream_sizes(Deep(n_layers=n, init=init))) for n in (6, 48)]
        for init in ("gpt2", "normal")
    }
    assert growth["gpt2"][0] == pytest.approx(growth["gpt2"][1], rel=0.05)
    assert growth["normal"][1] > 2 * growth["normal"][0]


def test_xavier_has_the_variance_it_should():
    weight = build_deep(Deep(n_layers=1)).decoder.blocks[0].mlp.up.weight
    assert float(weight.detach().std()) == pytest.approx(math.sqrt(2 / (32 + 128)), rel=0.05)


def test_likeness_of_equal_and_of_orthogonal_tokens_however_small():
    same = torch.ones(1, 1, 3, 4, dtype=torch.float64) * 1e-100
    apart = torch.eye(4, dtype=torch.float64)[None, None]
    assert float(mean_cosine(same)) == pytest.approx(1)
    assert float(mean_cosine(apart)) == 0


@pytest.mark.parametrize("n_layers", [0, 65])
def test_depths_beyond_the_limit_are_refused(n_layers):
    with pytest.raises(ValueError, match=f"n_layers={n_layers}"):
        Deep(n_layers=n_layers)


@pytest.mark.parametrize(("norm", "falls"), [("layernorm", 13.0), pytest.param("rmsnorm", 12.5, marks=nightly)])
def test_the_fall_with_depth_is_a_ratio_of_last_layers(norm, falls):
    """From 1 layer to 64 with pre-LN and Xavier's weights; about once with post-LN."""

    def pair(placement):
        return tuple(probe(Deep(n_layers=n, placement=placement, norm=norm)) for n in (1, 64))

    found = gradient_fall({"pre-LN": pair("pre"), "post-LN": pair("post")}, norm, "xavier")
    first, last = (probed.gradient[-1] for probed in pair("pre"))
    assert (found.shallow, found.deep, found.root) == (1, 64, 8.0)
    assert found.falls["pre-LN"] == pytest.approx(first / last)
    assert found.falls["pre-LN"] == pytest.approx(falls, abs=0.1)
    assert found.falls["post-LN"] == pytest.approx(1, abs=0.5)


def test_networks_are_those_that_are_named():
    kinds = (("pre-LN", "pre"), ("post-LN", "post"), ("sandwich", "sandwich"), ("no norm", "none"))
    assert depth.placements(2, "gpt2", "rmsnorm") == {
        name: Deep(n_layers=2, placement=placement, norm="rmsnorm", init="gpt2") for name, placement in kinds
    }
    assert depth.networks("no skip, no norm", [1, 3], "normal") == [
        Deep(n_layers=n, placement="none", skip=False, init="normal") for n in (1, 3)
    ]
    bare = depth.start_networks(2, "no skip, no norm")["std 1"]
    assert bare == Deep(n_layers=2, placement="none", skip=False, init="normal", init_std=1.0)
    starts = depth.start_networks(2, "pre-LN")
    assert [(one.init, one.init_std) for one in starts.values()] == [
        ("normal", 1.0),
        ("xavier", 0.02),
        ("normal", 0.02),
        ("gpt2", 0.02),
    ]


@pytest.mark.parametrize(("deepest", "depths"), [(1, [1]), (4, [1, 2, 4]), (6, [1, 2, 4, 6])])
def test_depths_double_up_to_the_deepest(deepest, depths):
    assert depth.powers_of_two(deepest) == depths
