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


def test_widths_are_compared_with_the_plain_layer():
    layers, found = feedforward.compare_widths("geglu", 768)
    assert [name for name, _ in layers] == ["FFN, 4 d", "GEGLU, 8/3 d", "GEGLU, 4 d"]
    assert found == feedforward.LayerWidths(768, "GEGLU", 2 * 768 * 3072, 2048, 3 * 768 * 2048, 3 * 768 * 3072)
    assert [cost.count for _, cost in layers] == [found.plain, found.matched, found.wide]
    assert str(feedforward.LayerWidths(64, "ReGLU", 1_000, 176, 1_032, 1_500)) == (
        "FFN: 1,000. ReGLU at 176 (a multiple of 8): 1,032, 103.20% of it; at 4 d: 1,500, 150%."
    )
    assert (found.width, found.unrounded) == ("2,048", "8/3 d = 2,048.0")


@pytest.mark.parametrize("activation", ["swiglu", "geglu", "reglu"])
def test_the_range_and_the_slice_of_a_unit(activation):
    unit = feedforward.gated_unit(activation)
    plain = [float(ACTIVATIONS[activation](torch.tensor(x / 10))) for x in range(-40, 41)]
    products = [gate * up / 10 for gate in plain for up in range(-40, 41)]
    found = feedforward.unit_range(unit, activation)
    assert (found.lowest, found.highest) == pytest.approx((min(products), max(products)), abs=1e-5)
    cut = feedforward.unit_slice(unit, -1.5)
    assert (cut.up, cut.gate) == (-1.5, 4.0)
    assert (cut.gated, cut.plain) == pytest.approx((-1.5 * plain[-1], plain[-1]), abs=1e-5)


def test_what_is_said_of_a_unit():
    assert str(feedforward.UnitRange("SwiGLU", -15.71, 15.7)) == (
        "One SwiGLU unit over its two inputs: from -15.7 to 15.7."
    )
    assert str(feedforward.UnitSlice(-2.0, 4.0, -7.86, 3.93)) == (
        "Where W_up x = -2: at gate 4 the gated unit gives -7.9, a plain one 3.9."
    )


def test_shares_belong_to_the_model_that_is_named():
    blocks = {name: feedforward.BlockShare(100 - n, n, 0) for n, name in enumerate(feedforward.PUBLISHED, 1)}
    chosen = feedforward.chosen_share(blocks, "LLaMA-2 7B")
    assert (chosen.feed_forward, chosen.total) == (6, 100)
    assert str(chosen) == "LLaMA-2 7B: 6 of 100 parameters of a block, 6.0%."
    every = feedforward.every_share(blocks)
    assert every.shares == {name: n / 100 for n, name in enumerate(blocks, 1)}
    assert str(feedforward.EveryShare({"a": 0.5, "b": 0.6666})) == (
        "Share of the feed-forward half in one block: a 50.0%, b 66.7%."
    )
    assert str(feedforward.published_shares(blocks)) == (
        "Feed-forward share: 1% in GPT-2 and 6% in LLaMA-2, whose layers are gated but 8/3 d wide; 7% in LLaMA-3 8B, "
        "with shared KV heads and a wider layer; 10% in Mixtral, with eight experts; 4% in a decoder with "
        "cross-attention, which has attention twice."
    )
    assert str(feedforward.FormulaShare(2 / 3)) == "By the formula: 66.7% (without norms)."


def test_published_configs_are_those_of_the_presets():
    configs = feedforward.published_configs()
    assert configs["Gemma 7B"] == presets.gemma_7b()
    assert feedforward.block_shares(configs) == {
        name: feedforward.block_share(config) for name, config in configs.items()
    }


def test_the_feed_forward_layers_of_all_blocks():
    model = small.model()
    weights = [(name, weight.numel()) for name, weight in model.named_parameters() if ".blocks." in name]
    found = feedforward.feed_forward_total(model.config)
    assert found.total == sum(count for _, count in weights)
    assert found.feed_forward == sum(count for name, count in weights if ".mlp." in name)
    assert str(feedforward.feed_forward_total(presets.gpt3_175b())) == (
        "The feed-forward layers, two to one: 116 billion of 174 billion."
    )
    assert "1.0 to one" in str(feedforward.FeedForwardTotal(5_000_000_000, 10_000_000_000))
