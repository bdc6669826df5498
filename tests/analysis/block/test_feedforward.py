"""Widths that match parameters, gated units, and the share of a block, against counts by hand and built models."""

import pytest
import torch

from tests import small
from tfcore import presets
from tfcore.analysis.block import feedforward
from tfcore.config import ModelConfig
from tfcore.feedforward import ACTIVATIONS
from tfcore.model import Transformer


@pytest.mark.parametrize("d_model", [64, 512, 768, 4096, 8192])
@pytest.mark.parametrize("activation", ["swiglu", "geglu", "reglu"])
def test_a_gated_layer_of_8_3_d_has_the_parameters_of_a_plain_one_of_4_d(d_model, activation):
    plain, gated = feedforward.layer_cost("relu", d_model), feedforward.layer_cost(activation, d_model)
    assert plain.count == 8 * d_model**2
    assert gated.count == 3 * d_model * gated.d_ff
    assert gated.d_ff % 8 == 0
    assert 0 <= gated.d_ff - 8 * d_model / 3 < 8
    assert feedforward.layer_cost(activation, d_model, 4 * d_model).count == 12 * d_model**2


def test_the_cost_is_that_of_a_layer_that_is_built():
    config = ModelConfig(vocab_size=1, d_model=48, n_layers=1, n_heads=1, activation="geglu")
    built = Transformer(config).decoder.blocks[0].mlp
    assert feedforward.layer_cost("geglu", 48).count == sum(p.numel() for p in built.parameters())


@pytest.mark.parametrize("activation", ["swiglu", "geglu", "reglu"])
def test_a_gated_unit_is_a_product(activation):
    unit = feedforward.gated_unit(activation)
    gate, up = torch.tensor(unit.gate[70]), torch.tensor(unit.up[10])
    assert unit.gated[10, 70] == pytest.approx(float(ACTIVATIONS[activation](gate) * up), rel=1e-5)


@pytest.mark.parametrize(
    ("preset", "share"),
    [
        ("gpt2_small", 0.666),
        ("gpt3_175b", 0.667),
        ("llama2_7b", 0.668),
        ("llama3_8b", 0.808),
        ("mixtral_8x7b", 0.971),
        ("transformer_base", 0.499),
    ],
)
def test_shares_of_published_models(preset, share):
    assert feedforward.block_share(getattr(presets, preset)()).share == pytest.approx(share, abs=6e-4)


def test_a_block_is_counted_whole():
    model = small.model()
    block = feedforward.block_share(model.config)
    assert block.total == sum(p.numel() for p in model.decoder.blocks[-1].parameters())


@pytest.mark.parametrize("kv", [1, 4, 32])
@pytest.mark.parametrize(("gated", "ratio"), [(False, 4.0), (True, 2.5)])
def test_the_formula_agrees_with_the_count_but_for_norms(kv, gated, ratio):
    config = ModelConfig(
        vocab_size=1,
        d_model=4096,
        n_layers=1,
        n_heads=32,
        n_kv_heads=kv,
        d_ff=int(ratio * 4096),
        activation="swiglu" if gated else "relu",
    )
    formula = feedforward.share_formula(3 if gated else 2, ratio, kv / 32)
    assert feedforward.block_share(config).share == pytest.approx(formula, abs=1e-4)
    assert feedforward.share_formula(2, 4.0, 1.0) == pytest.approx(2 / 3)


def test_what_the_page_says_of_gpt3():
    block, layers = feedforward.block_share(presets.gpt3_175b()), 96
    assert round(layers * block.feed_forward / 1e9) == 116
    assert round(layers * block.total / 1e9) == 174
