"""What a model costs: totals of the parts and the built model."""

import re
from dataclasses import replace

import pytest

from tests.small import config
from tfcore.kv_cache import KVCache
from tfcore.measures.memory_use import memory
from tfcore.measures.parameter_count import ParameterCount, parameters
from tfcore.presets import PRESETS, gpt2_small, gpt3_175b, llama3_8b
from tfcore.views import programs
from tfcore.views.model import parameters as views
from tfcore.views.model.parameters.measure import model_costs
from tfcore.views.model.parameters.say import BuiltAgain, MemoryFound, memory_found, parameters_found


def test_the_error_of_the_rule_of_thumb():
    assert model_costs(gpt2_small()).formula_error == pytest.approx(-0.0073, abs=1e-3)
    assert model_costs(gpt3_175b()).formula_error == pytest.approx(-0.001, abs=1e-3)


def test_all_is_counted_for_the_same_config():
    subject = config(n_kv_heads=2, max_seq_len=64)
    found = model_costs(subject, batch=3, seq=1_000, dtype="float32")
    assert found.count == parameters(subject)
    assert found.memory == memory(subject, batch=3, seq=64, dtype="float32"), "cut to the context"
    assert found.seq == 64
    assert found.weights("float32") == found.memory.weights == 8 * found.weights("int4")
    assert found.other_tying == parameters(replace(subject, tie_embeddings=False)).total


@pytest.mark.parametrize("name", PRESETS)
def test_a_token_leaves_a_key_and_a_value_for_each_of_their_heads_in_every_layer_of_the_decoder(name):
    subject = PRESETS[name]()
    kept = 2 * subject.decoder_layers * subject.attention.kv_heads * subject.head_size * 2
    assert [model_costs(subject, seq=seq).cached for seq in (16, 100_000)] == [kept, kept]
    found = model_costs(subject, batch=3, seq=64).memory.kv_cache
    assert found == kept * 3 * 64, "the cache of a text shorter than any window"


@pytest.mark.parametrize(("name", "kept"), [("t5_small", 12_288), ("t5_base", 36_864), ("t5_large", 98_304)])
def test_of_an_encoder_decoder_it_is_the_decoders_own_cache(name, kept):
    assert model_costs(PRESETS[name]()).cached == kept


@pytest.mark.parametrize("window", [None, 1, 2, 30])
def test_a_token_leaves_what_a_real_cache_of_one_token_keeps(window):
    subject = config(n_kv_heads=2, window=window, window_from=1)
    assert model_costs(subject, seq=16, dtype="float32").cached == KVCache(subject, capacity=1, device="meta").bytes


@pytest.mark.parametrize("name", PRESETS)
def test_the_largest_component_has_more_than_every_other(name):
    costs = model_costs(PRESETS[name](), seq=16)
    found = parameters_found(name, costs.count).values
    for part, count in costs.count.by_component.items():
        assert count / costs.count.total < found["share"] or part == found["largest"]
    assert found["total"] == costs.count.total
    assert found["blocks"] == PRESETS[name]().encoder_layers + PRESETS[name]().decoder_layers


def test_the_sentence_of_a_count():
    count = ParameterCount(2_000, 500, {"norms": 500, "experts": 1_500}, {f"blocks.{i}": {} for i in range(12)})
    assert str(parameters_found("It", count)) == (
        "It has 2,000 parameters; the largest part, 75%, is experts. 12 blocks."
    )


def test_numbers_beside_the_picture():
    mixture = {one.label: one for one in views.numbers(PRESETS["mixtral_8x7b"](), 1_024)}
    assert mixture["Active per token"].note == "12,879,925,248: 28% of all"
    assert mixture["12 N d² + V d"].note == "-85.9% off"
    assert "Unembedding tied" in mixture
    dense = {one.label: one for one in views.numbers(gpt2_small(), 1_024)}
    assert list(dense) == ["Parameters", "12 N d² + V d", "Unembedding untied", "FLOPs per token"]
    assert dense["12 N d² + V d"].note == "-0.7% off"
    close = {one.label: one for one in views.numbers(gpt3_175b(), 1_024)}
    assert close["12 N d² + V d"].note == "within 0.05%"


def test_memory_is_that_of_the_first_and_cut_are_those_that_read_less():
    configs = {"long": llama3_8b(), "short": gpt2_small(), "as short": gpt2_small()}
    costs = views.compared(configs, 3, 2_048, "float16")
    found = memory_found(costs, 3, 2_048, "float16")
    use = memory(llama3_8b(), batch=3, seq=2_048, dtype="float16")
    assert (found.training, found.generation) == (use.training, use.weights + use.kv_cache)
    assert found.seq == 2_048
    assert found.cut == (("short", 1_024), ("as short", 1_024))
    assert (found.int8, found.int4) == (8_030_261_248, 4_015_130_624)
    assert memory_found(costs, 3, 1_024, "float16").cut == ()


def test_the_sentence_of_memory():
    assert "without what layers with a state keep" in str(
        MemoryFound("It", "bfloat16", 2, 1_024, 2 * 10**12, 5 * 10**9, 10**9, 5 * 10**8, (), counted=False)
    )
    found = MemoryFound("It", "bfloat16", 2, 1_024, 2 * 10**12, 5 * 10**9, 10**9, 5 * 10**8, (("It", 1_024),))
    assert str(found) == (
        "It in bfloat16, batch of 2 x 1,024 tokens: 2.00 TB to train with AdamW, 5.00 GB to generate. It reads "
        "1,024 at most. Weights alone, quantised: 1.00 GB in int8, 500 MB in int4, without the scales these need "
        "besides."
    )


def test_a_column_of_a_table():
    costs = model_costs(gpt2_small(), seq=2_048)
    row = views.side_by_side({"it": costs})["it"]
    assert row["parameters"] == row["active"] == "124,439,808"
    assert row["sequence length"] == "1,024"
    assert row["KV cache (bytes per token)"] == "36,864"
    assert float(row["GFLOPs per token"]) == pytest.approx(costs.flops.sequence / 1_024 / 1e9, abs=0.005)


def test_a_model_built_again_has_as_many_or_not():
    assert str(BuiltAgain(1_234, 1_234)) == (
        "Built on torch's *meta* device, the model has **1,234** parameters: the same."
    )
    assert "**1,235** parameters: not the same" in str(BuiltAgain(1_235, 1_234))


def test_a_program_holds_what_it_uses_and_nothing_else():
    code = programs.script(programs.program(views.counted(PRESETS["mixtral_8x7b"](), "Mixtral")))
    imported = re.search(r"from tfcore.part_configs import (.*)", code)
    assert imported
    assert {"AttentionConfig", "ExpertsConfig"} <= {*imported[1].split(", ")}
    assert "RopeScaling" not in code, "which no value of it is"
    assert "Way" not in code, "which only the signature names"
    assert code.rstrip().endswith('shown.save("parameters-counted.html")')
