"""One view of the costs: the formula by hand, the totals of the parts, and the built model."""

from dataclasses import replace

import pytest

from tests.small import config
from tfcore.analysis.model.memory_use import memory
from tfcore.analysis.model.model_costs import built, formula, model_costs
from tfcore.analysis.model.parameter_count import parameters
from tfcore.presets import PRESETS, gpt2_small, gpt3_175b


def test_the_rule_of_thumb_is_written_out():
    assert formula(gpt2_small()) == 12 * 12 * 768**2 + 50_257 * 768
    assert model_costs(gpt2_small()).formula_error == pytest.approx(-0.0073, abs=1e-3)
    assert model_costs(gpt3_175b()).formula_error == pytest.approx(-0.001, abs=1e-3)


def test_all_is_counted_for_the_same_config():
    subject = config(n_kv_heads=2, max_seq_len=64)
    found = model_costs(subject, batch=3, seq=1_000, dtype="float32")
    assert found.count == parameters(subject)
    assert found.memory == memory(subject, batch=3, seq=64, dtype="float32"), "cut to the context"
    assert found.seq == 64
    assert found.weights["float32"] == found.memory.weights == 8 * found.weights["int4"]
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


@pytest.mark.parametrize("name", PRESETS)
def test_building_without_memory_gives_the_same_count(name):
    assert built(PRESETS[name]()) == model_costs(PRESETS[name](), seq=16).count.total
