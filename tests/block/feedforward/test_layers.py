"""Widths that match parameters, gated units, and the share of a block, against counts by hand and built models."""

import pytest
import torch

from tests import small
from tfcore import presets
from tfcore.config import ModelConfig
from tfcore.feedforward import ACTIVATIONS
from tfcore.measures.block_parameters import BlockShare, LayerCost, block_share, layer_cost
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, FeedForwardConfig
from tfcore.views.block.feedforward import say
from tfcore.views.block.feedforward.measure import layers as feedforward


@pytest.mark.parametrize("d_model", [64, 512, 768, 4096, 8192])
@pytest.mark.parametrize("activation", ["swiglu", "geglu", "reglu"])
def test_a_gated_layer_of_8_3_d_has_the_parameters_of_a_plain_one_of_4_d(d_model, activation):
    plain, gated = layer_cost("relu", d_model), layer_cost(activation, d_model)
    assert plain.count == 8 * d_model**2
    assert gated.count == 3 * d_model * gated.d_ff
    assert gated.d_ff % 8 == 0
    assert 0 <= gated.d_ff - 8 * d_model / 3 < 8
    assert layer_cost(activation, d_model, 4 * d_model).count == 12 * d_model**2


def test_the_cost_is_that_of_a_layer_that_is_built():
    config = ModelConfig(
        vocab_size=1,
        d_model=48,
        n_layers=1,
        attention=AttentionConfig(n_heads=1),
        feed_forward=FeedForwardConfig(activation="geglu"),
    )
    built = Transformer(config).decoder.blocks[0].mlp
    assert layer_cost("geglu", 48).count == sum(p.numel() for p in built.parameters())


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
    assert block_share(getattr(presets, preset)()).share == pytest.approx(share, abs=6e-4)


def test_a_block_is_counted_whole():
    model = small.model()
    block = block_share(model.config)
    assert block.total == sum(p.numel() for p in model.decoder.blocks[-1].parameters())


@pytest.mark.parametrize("kv", [1, 4, 32])
@pytest.mark.parametrize(("gated", "ratio"), [(False, 4.0), (True, 2.5)])
def test_the_formula_agrees_with_the_count_but_for_norms(kv, gated, ratio):
    config = ModelConfig(
        vocab_size=1,
        d_model=4096,
        n_layers=1,
        attention=AttentionConfig(n_heads=32, n_kv_heads=kv),
        feed_forward=FeedForwardConfig(d_ff=int(ratio * 4096), activation="swiglu" if gated else "relu"),
    )
    formula = feedforward.share_formula(3 if gated else 2, ratio, kv / 32)
    assert block_share(config).share == pytest.approx(formula, abs=1e-4)
    assert feedforward.share_formula(2, 4.0, 1.0) == pytest.approx(2 / 3)


def test_what_the_page_says_of_gpt3():
    block, layers = block_share(presets.gpt3_175b()), 96
    assert round(layers * block.feed_forward / 1e9) == 116
    assert round(layers * block.total / 1e9) == 174


def test_widths_are_compared_with_the_plain_layer():
    layers = feedforward.compare_widths("geglu", 768)
    assert [name for name, _ in layers] == ["FFN, 4 d", "GEGLU, 8/3 d", "GEGLU, 4 d"]
    assert [cost.count for _, cost in layers] == [2 * 768 * 3072, 3 * 768 * 2048, 3 * 768 * 3072]
    costs = [LayerCost("relu", 256, 2, 1_000), LayerCost("reglu", 176, 3, 1_032), LayerCost("reglu", 256, 3, 1_500)]
    assert str(say.widths([("", cost) for cost in costs], "reglu")) == (
        "FFN: 1,000. ReGLU at 176 (a multiple of 8): 1,032, 103.20% of it; at 4 d: 1,500, 150%."
    )


@pytest.mark.parametrize("activation", ["swiglu", "geglu", "reglu"])
def test_the_range_and_the_slice_of_a_unit(activation):
    unit = feedforward.gated_unit(activation)
    plain = [float(ACTIVATIONS[activation](torch.tensor(x / 10))) for x in range(-40, 41)]
    products = [gate * up / 10 for gate in plain for up in range(-40, 41)]
    found = say.unit_range(unit, activation).values
    assert (found["lowest"], found["highest"]) == pytest.approx((min(products), max(products)), abs=1e-5)
    cut = say.unit_slice(unit, -1.5).values
    assert (cut["up"], cut["gate"]) == (-1.5, 4.0)
    assert (cut["gated"], cut["plain"]) == pytest.approx((-1.5 * plain[-1], plain[-1]), abs=1e-5)


def test_what_is_said_of_a_unit():
    unit = feedforward.gated_unit("swiglu")
    assert str(say.unit_range(unit, "swiglu")) == "One SwiGLU unit over its two inputs: from -15.7 to 15.7."
    assert str(say.unit_slice(unit, -2.0)) == (
        "Where W_up x = -2: at gate 4 the gated unit gives -7.9, a plain one 3.9."
    )


def test_shares_belong_to_the_model_that_is_named():
    blocks = {name: BlockShare(100 - n, n, 0) for n, name in enumerate(feedforward.PUBLISHED, 1)}
    assert str(say.chosen_share(blocks, "LLaMA-2 7B")) == "LLaMA-2 7B: 6 of 100 parameters of a block, 6.0%."
    assert str(say.every_share({"a": BlockShare(40, 50, 10), "b": BlockShare(1, 2, 0)})) == (
        "Share of the feed-forward half in one block: a 50.0%, b 66.7%."
    )
    assert str(say.published_shares(blocks)) == (
        "Feed-forward share: 1% in GPT-2 and 6% in LLaMA-2, whose layers are gated but 8/3 d wide; 7% in LLaMA-3 8B, "
        "with shared KV heads and a wider layer; 10% in Mixtral, with eight experts; 4% in a decoder with "
        "cross-attention, which has attention twice."
    )
    assert str(say.formula_share(2, 4.0, 1.0)) == "By the formula: 66.7% (without norms)."


def test_published_configs_are_those_of_the_presets():
    configs = feedforward.published_configs()
    assert configs["Gemma 7B"] == presets.gemma_7b()
    assert feedforward.block_shares(configs) == {name: block_share(config) for name, config in configs.items()}


def test_the_feed_forward_layers_of_all_blocks():
    model = small.model()
    weights = [(name, weight.numel()) for name, weight in model.named_parameters() if ".blocks." in name]
    assert "4.2 to one: 6 billion of 7 billion" in str(say.feed_forward_total(presets.llama3_8b()))
    found = say.feed_forward_total(model.config).values
    assert found["whole"] == sum(count for _, count in weights) / 1e9
    assert found["mine"] == sum(count for name, count in weights if ".mlp." in name) / 1e9
    assert str(say.feed_forward_total(presets.gpt3_175b())) == (
        "The feed-forward layers, two to one: 116 billion of 174 billion."
    )
