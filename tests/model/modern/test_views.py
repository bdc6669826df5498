"""From 2017 to today: sizes as a real model has them, the ladder's models, and times that are there."""

from itertools import pairwise

import pytest

from tests.nightly import nightly
from tfcore import presets
from tfcore.model import Transformer
from tfcore.training.modernisation import SWITCHES, first_of
from tfcore.training.recipes.ladder_modernisation import MODERNISATION, rungs
from tfcore.views.model.modern import measure as modernising
from tfcore.views.model.modern.measure import (
    LossEffect,
    Trained,
    Version,
    loss_effects,
    race,
    read_trained,
    tying,
    versions,
)
from tfcore.views.model.modern.say import (
    LossChanges,
    SizeChanges,
    loss_changes,
    size_changes,
    switch_effect,
    timed_models,
    trained_models,
)

SMALL = first_of(32, 2, 4, 50, 16)


def test_the_counts_are_those_of_the_models_built():
    for version in versions(SMALL):
        built = sum(p.numel() for p in Transformer(version.config).parameters())
        assert version.parameters == built, version.name


def test_the_cache_holds_keys_and_values_of_every_layer():
    d_head = 8
    for version in versions(SMALL):
        heads = 4 if list(SWITCHES).index(version.name) < 4 else 2
        assert version.cached == 2 * 2 * heads * d_head


def test_what_is_counted_is_what_the_ladder_trains():
    ours = versions(MODERNISATION.model)
    theirs = [rung for rung in rungs(MODERNISATION) if rung.seed == 0]
    assert [version.name for version in ours] == [rung.labels["switch"] for rung in theirs]
    assert [version.config for version in ours] == [rung.model for rung in theirs]
    shape = MODERNISATION.model
    same = versions(
        first_of(shape.d_model, shape.n_layers, shape.attention.n_heads, shape.vocab_size, shape.max_seq_len)
    )
    assert [version.parameters for version in same] == [version.parameters for version in ours]


def test_biases_are_there_until_their_switch():
    biased = [any(name.endswith("bias") for name in Transformer(v.config).state_dict()) for v in versions(SMALL)]
    assert biased == [list(SWITCHES).index(v.name) < list(SWITCHES).index("no biases") for v in versions(SMALL)]


def test_a_gate_keeps_the_weight_of_the_layer():
    found = {version.name: version for version in versions(first_of(768, 2, 12, 100, 16))}
    before, after = found["GQA"].parameters, found["SwiGLU"].parameters
    assert after == pytest.approx(before, rel=0.002)


@nightly
def test_each_version_is_timed_again_and_again(monkeypatch):
    monkeypatch.setattr(modernising, "SPEED", {**modernising.SPEED, "d_model": 16, "vocab_size": 20})
    monkeypatch.setattr(modernising, "ROUNDS", 2)
    found = list(race(0))
    assert [speed.step for speed in found] == [*range(9), *range(9)]
    for first, second in zip(found[:9], found[9:], strict=True):
        assert 0 < second.read <= first.read
        assert 0 < second.written <= first.written


def test_every_version_is_valid_in_every_size():
    for version in versions(SMALL.changed(n_heads=2, d_model=32)):
        assert version.config.attention.kv_heads == 2


@pytest.mark.parametrize("size", [(32, 2, 4, 50, 16), (512, 6, 8, 37_000, 512), (4096, 32, 32, 32_000, 4096)])
def test_which_switches_change_the_size_is_counted(size):
    """Not tying alone: shared KV heads cut the parameters of attention too."""
    found = versions(first_of(*size))
    said = size_changes(found)
    for before, after in pairwise(found):
        change = (after.parameters - before.parameters) / before.parameters
        assert (after.name in said.parameters) == (abs(change) >= 0.01)
        assert said.parameters.get(after.name, change) == pytest.approx(change)
    assert said.cached == {"GQA": found[4].config.attention.kv_heads / found[3].config.attention.kv_heads}


def test_the_sentence_of_sizes():
    assert str(SizeChanges({"a": 0.5, "b": -0.014}, {"c": 0.25})) == (
        "Parameters, changed by 1% or more: a (+50%), b (-1%). KV cache, which long contexts fill: c (to 25%)."
    )
    assert str(SizeChanges({}, {})) == (
        "Parameters, changed by 1% or more: none of them. KV cache, which long contexts fill: none of them."
    )


def test_a_switch_is_compared_with_the_one_before_it():
    found = [
        Version(name, SMALL, size, cached) for name, size, cached in (("a", 200, 64), ("b", 250, 64), ("c", 250, 16))
    ]
    begin, second, third = (switch_effect(found, step, "width 8") for step in range(3))
    assert begin.effect == "200 parameters, 128 bytes of KV cache per token at 16 bits."
    assert second.effect == "+50 parameters (+25.00%); the KV cache stays as it is."
    assert third.effect == "no change in parameters; the KV cache shrinks from 128 to 32 bytes per token."
    assert str(third) == f"Switch 2 of 2, c: {third.effect} Counted for width 8."
    assert str(timed_models()) == (
        "Times: measured here and now on models of width 256 with 4 layers (prefill of 128 tokens), the fastest of up "
        "to 7 runs."
    )


def test_a_table_of_trained_models():
    rows = [
        {
            "switch": name,
            "seed": seed,
            "d_model": "8",
            "n_layers": "2",
            "tokens": "2048000",
            "loss": f"{3 + seed - i / 8}",
        }
        for i, name in enumerate(SWITCHES)
        for seed in (0, 1)
    ]
    found = read_trained(rows)
    assert found == Trained({name: [3 - i / 8, 4 - i / 8] for i, name in enumerate(SWITCHES)}, 8, 2, 2_048_000)
    assert str(trained_models(found)) == (
        "Losses: models of width 8 with 2 layers after 2.0 M tokens of stories, 2 seeds each (dots) and their mean."
    )
    assert read_trained([row for row in rows if row["switch"] != "RoPE"]) is None
    assert read_trained([]) is None


def test_who_ties_the_embeddings():
    """The model of 2017 does; LLaMA, Mistral and Mixtral do not."""
    tied = tying()
    assert {"transformer_base", "transformer_big", "gpt2_small", "gemma_7b"} <= set(tied[True])
    assert {"llama2_7b", "llama3_8b", "mistral_7b", "mixtral_8x7b"} <= set(tied[False])
    assert sum(map(len, tied.values())) == len(presets.PRESETS)


def test_a_switch_counts_where_it_does_more_than_another_seed():
    losses = {"a": [1.0, 1.1], "b": [1.5, 1.5], "c": [1.4, 1.6], "d": [1.2, 1.25]}
    effects = loss_effects(losses)
    assert [effect.name for effect in effects] == ["b", "c", "d"]
    assert [effect.change for effect in effects] == pytest.approx([0.45, 0.0, -0.275])
    assert [effect.spread for effect in effects] == pytest.approx([0.1, 0.2, 0.2])
    assert [effect.clear for effect in effects] == [True, False, True]
    said = loss_changes(losses)
    assert said.clear == pytest.approx({"b": 0.45, "d": -0.275})
    assert said.others == 1
    assert str(LossChanges({"b": 0.45, "d": -0.28}, 1)) == (
        "Loss, changed by more than another seed does: b (+0.45), d (-0.28) nats per token. What the others do (1) "
        "cannot be told from chance in models this small."
    )
    assert str(loss_changes({"b": [1.5, 1.5], "c": [1.4, 1.6]})).startswith("No switch")


def test_an_effect_within_the_spread_is_not_clear():
    assert not LossEffect("RMSNorm", -0.25, 0.25).clear
