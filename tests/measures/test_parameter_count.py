"""Parameters counted from a config are those of the built model."""

from collections import Counter

import pytest
import torch
from hypothesis import example, given

from tests.measures.shapes import EXPERTS
from tests.small import DEBERTA, config
from tests.valid import configs
from tfcore.measures.parameter_count import built_parameters, kv_head_parameters, parameters, rule_of_thumb
from tfcore.model import Transformer
from tfcore.presets import PRESETS, gpt2_small

PLACES = {  # part of a parameter's name -> component; the first that fits
    "mlm.": "mlm head",
    "pooler.": "pooler",
    "logit_bias": "logit biases",
    "unembed.": "unembedding",
    "segment_embed.": "segments",
    "pos_embed.": "positions",
    "relative_bias": "positions",
    "relative_embed": "positions",
    "embed_project.": "embedding projection",
    "_norm.": "norms",
    "ln": "norms",
    "cross_attn.": "cross-attention",
    "attn.": "attention",
    "mlp.router": "router",
    "mlp.shared": "shared experts",
    "embed.": "token embedding",
}


def component(name, config):
    for part, found in PLACES.items():
        if part in name:
            return found
    index = int(name.split("blocks.")[1].split(".")[0])
    return "experts" if config.is_routed(index) else "feed-forward"


@given(configs())
@example(config(**DEBERTA))
@example(config(**DEBERTA | {"relative_products": "c2p", "relative_shared": True}))
def test_the_built_model_has_as_many_parameters_in_the_same_places(chosen):
    with torch.device("meta"):
        model = Transformer(chosen)
    built, blocks = Counter(), Counter()
    for name, parameter in model.named_parameters():
        built[component(name, chosen)] += parameter.numel()
        if "blocks." in name:
            stack, _, index, *_ = name.split(".")
            prefix = f"{stack}." if chosen.architecture == "encoder-decoder" else ""
            blocks[f"{prefix}blocks.{index}"] += parameter.numel()
    count = parameters(chosen)
    assert count.by_component == dict(built)
    assert count.total == sum(parameter.numel() for parameter in model.parameters())
    assert {name: sum(parts.values()) for name, parts in count.by_layer.items()} == dict(blocks)


def test_experts_that_were_not_chosen_are_not_active():
    count = parameters(config(n_layers=3, experts=EXPERTS))
    one = 3 * 24 * 8  # gate, up and down of one expert
    assert count.by_component["experts"] == 3 * 5 * one
    assert count.total - count.active == 3 * 3 * one
    assert parameters(config()).active == parameters(config()).total


def test_the_rule_of_thumb_is_written_out():
    assert rule_of_thumb(gpt2_small()) == 12 * 12 * 768**2 + 50_257 * 768


@pytest.mark.parametrize("name", PRESETS)
def test_building_without_memory_gives_the_same_count(name):
    assert built_parameters(PRESETS[name]()) == parameters(PRESETS[name]()).total


@pytest.mark.parametrize(
    "values",
    [{}, {"bias": True}, {"bias": False, "qkv_bias": True}, {"architecture": "encoder-decoder", "n_encoder_layers": 3}],
    ids=str,
)
def test_a_kv_head_has_what_one_more_of_them_adds_to_the_built_model(values):
    few, more = config(**values, n_kv_heads=2), config(**values, n_kv_heads=3)
    assert built_parameters(more) - built_parameters(few) == kv_head_parameters(few) == kv_head_parameters(more)
