"""Operations counted from a config are those that torch counts, and what they come to at any length."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from tests.measures.shapes import BERT, EXPERTS, TWO
from tests.small import DEBERTA, config, ids
from tfcore import presets
from tfcore.measures.flop_count import flops, length_cost, sequence_cost, visible_pairs
from tfcore.measures.parameter_count import layers
from tfcore.model import Transformer
from tfcore.part_configs import ExpertsConfig
from tfcore.presets import gpt2_small, llama_7b

EXPLICIT = ("*attn.pattern",)  # captured, so that attention is not fused: torch does not count the CPU's fused kernel


KINDS = {
    "decoder": {},
    "grouped": {"n_kv_heads": 2, "d_head": 6, "activation": "gelu"},
    "parallel": {"parallel": True, "tie_embeddings": False},
    "attention alone": {"d_ff": 0, "head": "none"},
    "encoder": BERT | {"norm_placement": "post"},
    "disentangled": DEBERTA,
    "disentangled, one product": DEBERTA | {"relative_products": "p2c", "relative_buckets": 20},
    "disentangled, shared matrices": DEBERTA | {"relative_shared": True},
    "two stacks": TWO | {"positions": "relative", "n_kv_heads": 3},
    "experts": {"n_layers": 3, "experts": EXPERTS},
    "late experts": {"n_layers": 3, "experts": ExpertsConfig(n_experts=4, top_k=1), "dense_layers": 1},
}


@pytest.mark.parametrize("values", KINDS.values(), ids=list(KINDS))
def test_torch_counts_the_same_operations(values):
    chosen = config(**values)
    model, tokens = Transformer(chosen), ids(batch=1, seq=13)
    written = ids(batch=1, seq=7) if chosen.architecture == "encoder-decoder" else None
    counted = flops(chosen, 13, decoder_seq=None if written is None else 7)
    with FlopCounterMode(display=False) as forward:
        output = model(tokens, decoder_ids=written, capture=EXPLICIT)
    assert forward.get_total_flops() == counted.sequence
    result = output.logits.sum() if hasattr(output, "logits") else output.hidden.sum()
    result = result if output.pooled is None else result + output.pooled.sum()
    with FlopCounterMode(display=False) as backward:
        result.backward()
    assert backward.get_total_flops() == counted.backward * counted.tokens == 2 * counted.sequence
    assert counted.tokens == 13 + (7 if written is not None else 0)


@given(st.integers(1, 30), st.none() | st.integers(1, 40), st.integers(0, 2), st.booleans())
def test_visible_pairs_are_those_of_the_mask(seq, window, window_from, encoder):
    chosen = config(
        architecture="encoder" if encoder else "decoder", window=window, window_from=window_from, n_layers=2
    )
    back = np.arange(seq)[:, None] - np.arange(seq)
    for layer in layers(chosen):
        reach = window if window is not None and layer.index >= window_from else seq
        mask = np.abs(back) < reach if encoder else (back >= 0) & (back < reach)
        assert visible_pairs(chosen, layer, seq) == mask.sum()


def test_what_is_not_seen_costs_nothing_when_only_visible_pairs_count():
    every, seen = (flops(config(), 32, pairs=pairs).by_component for pairs in ("all", "visible"))
    for name, count in every.items():
        share = 33 / 64 if name in ("attention scores", "attention values") else 1
        assert seen[name] == count * share


def test_the_rule_of_six_holds_where_the_paper_says():
    short, long = flops(llama_7b(), 1), flops(llama_7b(), 2048)
    assert short.training - 6 * 4096 * 32_000 == pytest.approx(short.six_n, rel=1e-3)  # less the unembedding
    assert long.training > 1.1 * long.six_n
    n = 12 * 12 * 768**2  # arXiv:2001.08361, table 1: 2 d_model n_layer (2 d_attn + d_ff)
    assert flops(gpt2_small(), 8).six_n == pytest.approx(6 * n, rel=0.002)


def test_a_wrong_kind_of_pair_is_refused():
    with pytest.raises(ValueError, match=r"^pairs='half' is not one of all, visible$"):
        inspect.unwrap(flops)(config(), 8, pairs="half")  # as it is outside of the tests, which check all types


@pytest.mark.parametrize("seq", [0, 33])
def test_a_length_that_is_none_is_refused(seq):
    flops(config(), 1), flops(config(), 32)
    with pytest.raises(ValueError, match=f"seq={seq} must be between 1 and max_seq_len=32"):
        flops(config(), seq)


def test_gpt2_small_by_hand():
    cost = length_cost(presets.gpt2_small(), [1024, 4096, 2**20])
    assert cost.cells[1] == 16_777_216
    assert cost.matrices[1] == 2 * 12 * 4096**2
    assert cost.vectors[1] == 2 * 4 * 768 * 4096
    assert cost.squared[1] == 12 * 4 * 4096**2 * 768
    assert cost.linear[1] == 4096 * (12 * 24 * 768**2 + 2 * 768 * 50_257)
    np.testing.assert_allclose(cost.share, cost.squared / (cost.squared + cost.linear))


@pytest.mark.parametrize("preset", [presets.gpt2_small, presets.gpt3_175b, presets.llama3_8b])
def test_the_crossing_is_where_both_are_equal(preset):
    crossing = round(length_cost(preset(), [128]).crossing)
    cost = length_cost(preset(), [crossing, 2 * crossing])
    assert cost.squared[0] == pytest.approx(cost.linear[0], rel=1e-3)
    assert cost.squared[1] == 4 * cost.squared[0]
    assert cost.linear[1] == 2 * cost.linear[0]
    assert cost.matrices[1] == 4 * cost.matrices[0]


def test_shared_keys_take_less_memory():
    cost = length_cost(presets.llama3_8b(), [1000])
    assert cost.vectors[0] == 2 * 1000 * 128 * (2 * 32 + 2 * 8)


@pytest.mark.parametrize(
    "values",
    [{}, {"window": 5}, BERT, TWO, DEBERTA],
    ids=["decoder", "window", "encoder", "two stacks", "disentangled"],
)
def test_linear_and_squared_are_what_torch_counts_at_every_length(values):
    chosen = config(**values)
    model, lengths = Transformer(chosen), (1, 3, 8, 21)
    counted = []
    for n in lengths:
        written = ids(batch=1, seq=n) if chosen.architecture == "encoder-decoder" else None
        with FlopCounterMode(display=False) as count:
            model(ids(batch=1, seq=n), decoder_ids=written, capture=EXPLICIT)
        counted.append(count.get_total_flops())
    cost = length_cost(chosen, lengths)
    assert cost.total.tolist() == counted
    assert cost.squared.tolist() == [cost.squared[0] * n * n for n in lengths]
    once = 2 * chosen.d_model**2 if chosen.pooler else 0
    if values is DEBERTA:  # queries and keys of 12 relative positions in each of two layers
        once = 2 * 2 * 2 * 12 * chosen.d_model**2
    assert (cost.linear - once).tolist() == [(cost.linear[0] - once) * n for n in lengths]


def test_sequences_of_any_kind_cost_what_the_formula_says():
    cost = sequence_cost([0, 1, 196, 50_000])
    for i, n in enumerate((0, 1, 196, 50_000)):
        assert cost.linear[i] == 24 * 12 * n * 768**2
        assert cost.squared[i] == 4 * 12 * n**2 * 768
        assert cost.matrices[i] == 2 * 12 * n * n
    assert cost.share[0] == 0
