"""One view of the costs: totals of the parts and the built model; what fits, by the formula on the page."""

from dataclasses import replace

import pytest

from tests.small import config
from tfcore.analysis.model.costs import (
    BuiltAgain,
    MemoryFound,
    ModelsThatFit,
    Need,
    ParametersFound,
    compared,
    cost_row,
    free_now,
    memory_found,
    model_costs,
    models_that_fit,
    needs,
    parameters_found,
)
from tfcore.generation.kv_cache import KVCache
from tfcore.measures.memory_use import memory
from tfcore.measures.parameter_count import parameters
from tfcore.presets import PRESETS, bert_base, gpt2_small, gpt3_175b, llama3_8b


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
    kept = 2 * subject.decoder_layers * subject.kv_heads * subject.head_size * 2
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


def test_bytes_are_those_of_the_formula():
    subject = llama3_8b()
    for dtype, b in (("float32", 4), ("bfloat16", 2)):
        (need,) = needs({"x": subject}, 1000, dtype)
        assert need.weights == b * 8_030_261_248
        assert need.cache == 2 * b * 32 * 8 * 128 * 1000
        assert need.total == need.weights + need.cache


def test_a_text_is_no_longer_than_the_context():
    (need,) = needs({"x": config(max_seq_len=32)}, 1000, "float32")
    assert need.tokens == 32


def test_an_encoder_keeps_no_cache():
    (need,) = needs({"bert": bert_base()}, 512, "float32")
    assert need.cache == 0


@pytest.mark.parametrize(("room", "fits"), [(0, False), (10**12, True)])
def test_fitting(room, fits):
    (need,) = needs({"x": config()}, 16, "float32")
    assert need.fits(room) is fits
    assert need.fits(need.total)
    assert not need.fits(need.total - 1)


def test_free_now_is_a_number_of_this_machine():
    assert 10**7 < free_now() < 10**14


@pytest.mark.parametrize("name", PRESETS)
def test_the_largest_component_has_more_than_every_other(name):
    costs = model_costs(PRESETS[name](), seq=16)
    found = parameters_found(name, costs)
    for part, count in costs.count.by_component.items():
        assert count < found.largest_count or part == found.largest
    assert (found.total, found.active) == (costs.count.total, costs.count.active)
    assert found.blocks == PRESETS[name]().encoder_layers + PRESETS[name]().decoder_layers


def test_the_sentence_of_a_count():
    found = ParametersFound("It", 2_000, 500, "experts", 1_500, 12, 1_800)
    assert str(found) == "It has 2,000 parameters; the largest part, 75%, is experts. 12 blocks."
    assert (found.active_share, found.formula_error) == ("25% of all", "-10.0% off")


def test_memory_is_that_of_the_first_and_cut_are_those_that_read_less():
    configs = {"long": llama3_8b(), "short": gpt2_small(), "as short": gpt2_small()}
    costs = compared(configs, 3, 2_048, "float16")
    found = memory_found(costs, 3, 2_048, "float16")
    use = memory(llama3_8b(), batch=3, seq=2_048, dtype="float16")
    assert (found.training, found.generation) == (use.training, use.weights + use.kv_cache)
    assert found.seq == 2_048
    assert found.cut == (("short", 1_024), ("as short", 1_024))
    assert (found.int8, found.int4) == (8_030_261_248, 4_015_130_624)
    assert memory_found(costs, 3, 1_024, "float16").cut == ()


def test_the_sentence_of_memory():
    found = MemoryFound("It", "bfloat16", 2, 1_024, 2 * 10**12, 5 * 10**9, 10**9, 5 * 10**8, (("It", 1_024),))
    assert str(found) == (
        "It in bfloat16, batch of 2 x 1,024 tokens: 2,000.00 GB to train with AdamW, 5.00 GB to generate. It reads "
        "1,024 at most. Weights alone, quantised: 1.00 GB in int8, 500 MB in int4, without the scales these need "
        "besides."
    )


def test_a_row_of_a_table():
    costs = model_costs(gpt2_small(), seq=2_048)
    row = cost_row(costs)
    assert row["parameters"] == row["active"] == "124,439,808"
    assert row["sequence length"] == "1,024"
    assert row["KV cache (bytes per token)"] == "36,864"
    assert float(row["GFLOPs per token"]) == pytest.approx(costs.flops.sequence / 1_024 / 1e9, abs=0.005)


def test_a_model_built_again_has_as_many_or_not():
    assert str(BuiltAgain(1_234, 1_234)) == (
        "Built on torch's *meta* device, the model has **1,234** parameters: the same."
    )
    assert "**1,235** parameters: not the same" in str(BuiltAgain(1_235, 1_234))


ROWS = [Need(name, 10, size, 5, 64) for name, size in (("mine", 95), ("small", 15), ("large", 995))]


@pytest.mark.parametrize("room", [None, 19, 20, 99, 100, 999, 1_000])
@pytest.mark.parametrize("limit", [None, 20, 100, 1_000])
def test_what_fits_is_below_both_bounds(room, limit):
    found = models_that_fit(ROWS, "org/mine", room, limit)
    fitting = 0
    for total in (100, 20, 1_000):
        fitting += (room is None or total <= room) and (limit is None or total <= limit)
    assert (found.fitting, found.models, found.room) == (fitting, 3, room)
    assert found.need is ROWS[0]
    assert found.fits == ((room is None or room >= 100) and (limit is None or limit >= 100))
    assert models_that_fit(ROWS, "", room, limit).need is None


def test_the_sentences_of_what_fits():
    need = Need("mine", 1_234, 5 * 10**9, 10**7, 2_048)
    assert str(ModelsThatFit("org/mine", need, False, 4, 9, 3 * 10**9)) == (
        "org/mine needs 5.0 GB for 1,234 parameters and 10 MB for the KV cache of 2,048 tokens, and does not fit; 4 of "
        "these 9 models fit. 3.0 GB are free."
    )
    assert ", and fits; 4 of" in str(ModelsThatFit("org/mine", need, True, 4, 9, None))
    assert str(ModelsThatFit("", None, True, 4, 9, None)) == (
        "4 of these 9 models fit. How much is free the system does not tell."
    )
