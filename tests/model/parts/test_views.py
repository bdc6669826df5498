"""The parts a model has, in the order it has them."""

from dataclasses import replace

import pytest

from tests import small
from tfcore.config import ModelConfig
from tfcore.part_configs import AttentionConfig, ExpertsConfig, LayerConfig, MixerConfig
from tfcore.presets import PRESETS
from tfcore.views.model import parts as views
from tfcore.views.model.parts import measure as model_map

SMALL = ModelConfig(vocab_size=50, d_model=16, n_layers=3, attention=AttentionConfig(n_heads=2), max_seq_len=8)


def boxes(config):
    """Rows of labels, one list a stack."""
    return [
        [tuple(part.label for part in row) for group in stack.groups for row in group.rows]
        for stack in model_map.stacks(config)
    ]


@pytest.mark.parametrize("name", PRESETS)
def test_every_published_model_can_be_drawn(name):
    config = PRESETS[name]()
    assert len(boxes(config)) == (2 if config.architecture == "encoder-decoder" else 1)


def test_the_order_is_that_of_the_norms():
    attention, add, feed = ("Attention", "2 heads", "Mask"), ("+ input",), ("Feed-forward",)
    norm = ("RMSNorm",)
    (before,), (after,), (around,) = (
        boxes(SMALL.changed(norm_placement=placement)) for placement in ("pre", "post", "sandwich")
    )
    assert before[2:-2] == [norm, attention, add, norm, feed, add, norm]
    assert after[2:-2] == [attention, add, norm, feed, add, norm]
    assert around[2:-2] == [norm, attention, norm, add, norm, feed, norm, add, norm]


def test_a_first_block_whose_attention_has_no_norm_says_so():
    (stack,) = model_map.stacks(SMALL.changed(first_norm=False))
    notes = [part.note for group in stack.groups for row in group.rows for part in row if part.about == "norm"]
    assert notes == ["of the input, but in block 0", "of the input", "final norm"]


def test_parallel_halves_share_their_norm_and_their_addition():
    (found,) = boxes(replace(SMALL, parallel=True))
    assert found[2:-2] == [("RMSNorm",), ("Attention", "2 heads", "Mask", "Feed-forward"), ("+ input",), ("RMSNorm",)]


def test_experts_stand_where_the_feed_forward_layer_was():
    (found,) = boxes(replace(SMALL, experts=ExpertsConfig(n_experts=4, top_k=2)))
    assert ("Mixture of experts",) in found
    assert ("Feed-forward",) not in found


STATES = {
    "one layer of attention in three": (
        (LayerConfig(mixer="delta"), LayerConfig(), LayerConfig(mixer="delta")),
        [
            "Attention: in 1 of 3 layers, queries, keys, values",
            "Gated delta rule: in 2 of 3 layers, 4 states of 4\u00a0×\u00a04",
        ],
    ),
    "beside attention": (
        (LayerConfig(mixer="attention+ssm"),) * 3,
        ["Attention: queries, keys, values", "State space model: beside attention, 4 states of 4\u00a0×\u00a04"],
    ),
    "no attention": ((LayerConfig(mixer="conv"),) * 3, ["Short convolution: of 4 tokens"]),
}


@pytest.mark.parametrize(("layers", "expected"), STATES.values(), ids=list(STATES))
def test_what_stands_in_the_place_of_attention_is_named(layers, expected):
    config = replace(SMALL, mixer=MixerConfig(decay="token"), layers=layers)
    (stack,) = model_map.stacks(config)
    rows = [row for group in stack.groups for row in group.rows]
    (mixing,) = (row for row in rows if {part.about for part in row} & {"mixer", "attention"})
    assert [f"{part.label}: {part.note}" for part in mixing if part.about in ("attention", "mixer")] == expected
    assert ("Mask" in [part.label for part in mixing]) is bool(config.attention_layers)
    assert ("Feed-forward",) in [tuple(part.label for part in row) for row in rows]


def test_layers_of_one_part_each_stand_beside_each_other():
    """As in Nemotron-H: a state, attention or a feed-forward layer, each with a norm and an addition of its own."""
    kinds = (LayerConfig(mixer="ssm", alone=True), LayerConfig(alone=True), LayerConfig(mixer="none", dense=True))
    (found,) = boxes(replace(SMALL, mixer=MixerConfig(decay="token"), layers=kinds))
    one = ("Attention", "2 heads", "Mask", "State space model", "Feed-forward")
    assert found[2:-2] == [("RMSNorm",), one, ("+ input",), ("RMSNorm",)]


def test_a_decoder_beside_an_encoder_looks_across():
    reader, writer = boxes(PRESETS["transformer_base"]())
    assert ("Cross-attention",) in writer
    assert ("Cross-attention",) not in reader
    assert reader[-1] == ("Encoder states",)


@pytest.mark.parametrize("name", PRESETS)
def test_an_arrow_leads_from_what_was_read_to_where_it_is_looked_at(name):
    stacks = model_map.stacks(PRESETS[name]())
    ends = [
        [part.across for group in stack.groups for row in group.rows for part in row if part.across] for stack in stacks
    ]
    assert ends == ([["gives"], ["takes"]] if len(stacks) == 2 else [[]])


def test_what_is_new_stands_out():
    (before,), (after,) = (model_map.stacks(config) for config in (SMALL, SMALL.changed(qk_norm=True, n_kv_heads=1)))
    parts = [part for group in model_map.marked(after, before).groups for row in group.rows for part in row]
    assert [part.label for part in parts if part.marked] == ["Attention", "2 heads"]
    assert not any(part.marked for group in after.groups for row in group.rows for part in row)


def test_norms_that_move_stand_out():
    (before,), (after,) = (model_map.stacks(SMALL.changed(norm_placement=placement)) for placement in ("post", "pre"))
    parts = [part for group in model_map.marked(after, before).groups for row in group.rows for part in row]
    notes = [part.note for part in parts if part.marked]
    assert notes == ["of the input", "of the input", "final norm"]


def test_the_size_of_a_model():
    model = small.model()
    config, weights = model.config, sum(weight.numel() for weight in model.parameters())
    assert str(views.size(config, "x")) == (
        f"x: decoder, {weights:,} parameters, width {config.d_model}, context {config.max_seq_len:,} tokens."
    )
