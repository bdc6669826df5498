"""Presets have the sizes that papers and model cards publish, and cost nothing to build on the meta device."""

import time
from dataclasses import replace

import pytest
import torch
import transformers

from tfcore.config import ModelConfig
from tfcore.measures.parameter_count import parameters
from tfcore.model import Transformer
from tfcore.presets import (
    PRESETS,
    bert_base,
    bert_large,
    deepseek_moe_16b,
    gpt_oss_20b,
    gpt_oss_120b,
    mixtral_8x7b,
    pythia_6_9b,
    qwen3_30b_a3b,
    t5_base,
)
from tfcore.views.model.parameters.measure import published_sizes

EXACT = {  # what the published weights hold
    "gpt2_small": 124_439_808,
    "gpt2_medium": 354_823_168,
    "gpt2_large": 774_030_080,
    "gpt2_xl": 1_557_611_200,
    "t5_small": 60_506_624,
    "t5_base": 222_903_552,
    "t5_large": 737_668_096,
    "bert_base": 109_514_298,  # transformers.BertForMaskedLM, see below
    "bert_large": 335_174_458,
    "llama_7b": 6_738_415_616,
    "llama2_7b": 6_738_415_616,
    "llama2_13b": 13_015_864_320,
    "llama2_70b": 68_976_648_192,
    "llama3_8b": 8_030_261_248,
    "llama3_70b": 70_553_706_496,
    "llama3_405b": 405_853_388_800,
    "mistral_7b": 7_241_732_096,
    "mixtral_8x7b": 46_702_792_704,
    "qwen2_7b": 7_615_616_512,
    "gemma_7b": 8_537_680_896,
    "deepseek_moe_16b": 16_375_728_128,
    "gemma2_2b": 2_614_341_888,
    "gemma3_1b": 999_885_952,
    "qwen3_8b": 8_190_735_360,
    "qwen3_30b_a3b": 30_532_122_624,
    "olmo2_7b": 7_298_617_344,
    "pythia_6_9b": 6_857_302_016,
    "phi3_mini": 3_821_079_552,
    "smollm3_3b": 3_075_098_624,
    "gpt_oss_20b": 20_914_757_184,
    "gpt_oss_120b": 116_829_156_672,
}
ROUNDED = {  # what the papers say, and how far from it rounding goes
    "transformer_base": (65e6, 0.03),
    "transformer_big": (213e6, 0.01),
    "gpt3_175b": (175.0e9, 0.003),
}


def test_every_preset_has_a_published_count():
    assert set(PRESETS) == set(EXACT) | set(ROUNDED)
    assert all(PRESETS[name].__name__ == name for name in PRESETS)


@pytest.mark.parametrize(("name", "published"), EXACT.items(), ids=list(EXACT))
def test_a_preset_has_as_many_parameters_as_the_published_weights(name, published):
    assert parameters(PRESETS[name]()).total == published


@pytest.mark.parametrize(("name", "published"), ROUNDED.items(), ids=list(ROUNDED))
def test_a_preset_has_about_as_many_parameters_as_its_paper_says(name, published):
    count, tolerance = published
    assert parameters(PRESETS[name]()).total == pytest.approx(count, rel=tolerance)


@pytest.mark.parametrize(
    ("preset", "published"), [(mixtral_8x7b, 12.9e9), (deepseek_moe_16b, 2.8e9), (qwen3_30b_a3b, 3.3e9)]
)
def test_each_token_uses_the_published_part_of_a_mixture(preset, published):
    assert parameters(preset()).active == pytest.approx(published, rel=0.017)


@pytest.mark.parametrize(
    ("preset", "experts", "attention", "tables", "active"),
    [(gpt_oss_20b, 19.12e9, 0.64e9, 1.16e9, 3.61e9), (gpt_oss_120b, 114.71e9, 0.96e9, 1.16e9, 5.13e9)],
)
def test_the_parts_of_gpt_oss_are_those_of_its_card(preset, experts, attention, tables, active):
    """Table 1, which rounds to 10 M, and counts of the two tables the unembedding alone as active."""
    counted = parameters(preset())
    of = counted.by_component
    assert of["experts"] + of["router"] == pytest.approx(experts, abs=6e6)
    assert of["attention"] == pytest.approx(attention, abs=6e6)
    assert of["token embedding"] + of["unembedding"] == pytest.approx(tables, abs=6e6)
    assert counted.active - of["token embedding"] == pytest.approx(active, abs=6e6)


def test_pythia_has_as_many_parameters_without_its_tables_as_its_paper_says():
    counted = parameters(pythia_6_9b())
    of = counted.by_component
    assert counted.total - of["token embedding"] - of["unembedding"] == 6_444_163_072


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_builds_on_the_meta_device_at_once_and_counts_the_same(name):
    config = PRESETS[name]()
    start = time.process_time()
    with torch.device("meta"):
        model = Transformer(config)
    assert time.process_time() - start < 0.9
    assert all(parameter.is_meta for parameter in model.parameters())
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters(config).total


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_config_that_survives_the_way_through_a_dict(name):
    config = PRESETS[name]()
    assert ModelConfig.from_dict(config.to_dict()) == config


def test_t5_divides_by_the_root_of_its_own_width():
    assert t5_base().logit_scale == pytest.approx(t5_base().d_model ** -0.5)


@pytest.mark.parametrize("preset", [bert_base, bert_large])
def test_the_sizes_quoted_of_bert_are_those_of_transformers(preset):
    """Counted from their classes, built without memory; the preset itself is one of them."""
    config = preset()
    settings = transformers.BertConfig(
        hidden_size=config.d_model,
        num_hidden_layers=config.n_layers,
        num_attention_heads=config.attention.n_heads,
        intermediate_size=config.ff_size,
    )
    kinds = transformers.BertForMaskedLM, transformers.BertModel, transformers.BertForPreTraining
    with torch.device("meta"):
        theirs = [kind(settings) for kind in kinds]
    counts = [sum(parameter.numel() for parameter in model.parameters()) for model in theirs]
    sizes = published_sizes(config)
    assert [sizes.masked, sizes.base, sizes.checkpoint] == counts
    assert parameters(config).total == sizes.masked
    assert published_sizes(replace(config, pooler=True)) == sizes
    assert sizes.mlm_head == parameters(config).by_component["mlm head"]
    assert published_sizes(PRESETS["gpt2_small"]()) is None


def test_the_sizes_of_bert_base():
    sizes = published_sizes(bert_base())
    assert (sizes.masked, sizes.base, sizes.checkpoint) == (109_514_298, 109_482_240, 110_106_428)
