"""One view of the costs: totals of the parts and the built model; what fits, by the formula on the page."""

from dataclasses import replace

import pytest

from tests.small import config
from tfcore.analysis.model.costs import free_now, model_costs, needs
from tfcore.analysis.model.memory_use import memory
from tfcore.analysis.model.parameter_count import parameters
from tfcore.generation.kv_cache import KVCache
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
    assert model_costs(subject, seq=16, dtype="float32").cached == KVCache(subject, capacity=1).bytes


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
