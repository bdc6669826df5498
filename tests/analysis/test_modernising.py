"""From 2017 to today: sizes as a real model has them, the ladder's models, and times that are there."""

from dataclasses import replace

import pytest

from tfcore.analysis import modernising
from tfcore.analysis.modernising import SWITCHES, first_of, race, versions
from tfcore.model import Transformer
from tfcore.training.recipes.ladder_modernisation import MODERNISATION, rungs

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
    same = versions(first_of(shape.d_model, shape.n_layers, shape.n_heads, shape.vocab_size, shape.max_seq_len))
    assert [version.parameters for version in same] == [version.parameters for version in ours]


def test_a_gate_keeps_the_weight_of_the_layer():
    found = {version.name: version for version in versions(first_of(768, 2, 12, 100, 16))}
    before, after = found["GQA"].parameters, found["SwiGLU"].parameters
    assert after == pytest.approx(before, rel=0.002)


def test_each_version_is_timed_again_and_again(monkeypatch):
    monkeypatch.setattr(modernising, "SPEED", {**modernising.SPEED, "d_model": 16, "vocab_size": 20})
    monkeypatch.setattr(modernising, "ROUNDS", 2)
    found = list(race(0))
    assert [speed.step for speed in found] == [*range(9), *range(9)]
    for first, second in zip(found[:9], found[9:], strict=True):
        assert 0 < second.read <= first.read
        assert 0 < second.written <= first.written


def test_every_version_is_valid_in_every_size():
    for version in versions(replace(SMALL, n_heads=2, d_model=32)):
        assert version.config.kv_heads == 2
