"""Switches after 2023: each changes what its paper says and nothing else, and the rungs are trained alike."""

from dataclasses import asdict

import numpy as np
import pytest
import torch
from scipy import stats

from tfcore.measures.kv_bytes import cache_shape
from tfcore.model import Transformer
from tfcore.training import data
from tfcore.training.ladder import SHIPPED, read_table
from tfcore.training.recipes.ladder_second_wave import SECOND_WAVE, TABLE, measured, rungs
from tfcore.training.second_wave import BASE, CAP, HYPER, MULTI_TOKEN, REGISTERS, WIDENED, switched

CONFIGS = switched(SECOND_WAVE.model)
CHANGED = {
    "QK-norm": {"qk_norm": "head"},
    "soft cap": {"softcap": CAP},
    "sink": {"sinks": True},
    "norm after": {"qk_norm": "width"},
    "MLA": {"n_kv_heads": None, "kv_latent": 24},
    "gate": {"gate": True},
}


def test_the_base_is_the_block_of_today():
    base = CONFIGS[BASE]
    assert (base.norm.placement, base.norm.kind, base.positions.kind) == ("pre", "rmsnorm", "rope")
    assert (base.feed_forward.activation, base.attention.kv_heads, base.bias) == ("swiglu", 2, False)
    assert (base.tie_embeddings, base.attention.qk_norm) == (False, None)


@pytest.mark.parametrize("name", CHANGED)
def test_attention_differs_by_the_switch_alone(name):
    before, after = asdict(CONFIGS[BASE].attention), asdict(CONFIGS[name].attention)
    assert {key: value for key, value in after.items() if value != before[key]} == CHANGED[name]


def test_the_other_switches():
    base = CONFIGS[BASE]
    assert CONFIGS["norm after"].norm.placement == "after"
    kinds = ["rope" if one.positions is None else one.positions.kind for one in CONFIGS["NoPE layers"].layers]
    assert kinds == ["rope", "none"]
    assert CONFIGS["registers"] == base.changed(
        vocab_size=base.vocab_size + REGISTERS, max_seq_len=base.max_seq_len + REGISTERS
    )
    assert CONFIGS["Muon"] == base
    assert CONFIGS[MULTI_TOKEN] == CONFIGS[HYPER] == base


def test_latent_attention_caches_half_as_many_numbers():
    base, latent = (cache_shape(CONFIGS[name]) for name in (BASE, "MLA"))
    assert latent.numbers == base.numbers / 2 == 32


def test_all_are_trained_alike_but_for_the_optimiser():
    ladder = rungs(SECOND_WAVE)
    assert len(ladder) == 3 * len(CONFIGS)
    assert {rung.settings.optimiser for rung in ladder if rung.labels["switch"] != "Muon"} == {"adamw"}
    assert {rung.settings.optimiser for rung in ladder if rung.labels["switch"] == "Muon"} == {"muon"}
    assert {rung.before for rung in ladder if rung.labels["switch"] != "registers"} == {()}
    assert {rung.before for rung in ladder if rung.labels["switch"] == "registers"} == {(2048, 2049, 2050, 2051)}
    for rung in ladder:
        assert rung.build is WIDENED.get(rung.labels["switch"], Transformer)
        assert rung.build(rung.model, rung.seed)(torch.zeros(1, 8, dtype=torch.int64)).logits.isfinite().all()


def test_what_stands_before_a_text_stands_before_every_row():
    rows = torch.arange(6).view(2, 3)
    assert data.prefixed(rows, (7, 8)).tolist() == [[7, 8, 0, 1, 2], [7, 8, 3, 4, 5]]
    assert torch.equal(data.prefixed(rows, ()), rows)


def test_the_measure_is_the_paired_difference_with_students_interval():
    """As scipy has it, from the table that ships."""
    rows, found = read_table(SHIPPED / TABLE), measured(SHIPPED)
    losses = {name: np.array([row["loss"] for row in rows if row["switch"] == name]) for name in CONFIGS}
    assert {name.partition(",")[0] for name in found} == set(CONFIGS) - {BASE}
    for name in set(CONFIGS) - {BASE}:
        apart = losses[name] - losses[BASE]
        low, high = stats.t.interval(0.95, len(apart) - 1, apart.mean(), stats.sem(apart))
        assert found[name] == pytest.approx(apart.mean(), abs=6e-5)
        assert (found[f"{name}, from"], found[f"{name}, to"]) == pytest.approx((low, high), abs=6e-5)
        assert [row["seed"] for row in rows if row["switch"] == name] == [0, 1, 2]
