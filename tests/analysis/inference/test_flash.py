"""Flash attention in tiles: equal to torch's own attention, its numbers true, its loads counted right."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import small
from tfcore.analysis.inference.flash import Tiling, follow, tiled_attention
from tfcore.analysis.inference.head_vectors import HeadVectors, head_vectors
from tfcore.analysis.inference.memory_traffic import loaded, naive_traffic, theorem, tiled_traffic

tilings = st.builds(
    Tiling,
    n=st.integers(1, 15),
    d_head=st.just(5),
    sram=st.integers(40, 300),
    causal=st.booleans(),
    order=st.sampled_from(["queries", "keys"]),
)


def vectors(n, d_head=5, seed=0, size=2.0):
    generator = torch.Generator().manual_seed(seed)
    return HeadVectors(*(size * torch.randn(n, d_head, generator=generator) for _ in range(3)))


@settings(max_examples=25)
@given(tiling=tilings, size=st.sampled_from([0.1, 2.0, 8.0]))
def test_tiles_give_torchs_attention(tiling, size):
    head = vectors(tiling.n, size=size)
    double = head.double()
    q, k, v = (x[None, None] for x in (double.q, double.k, double.v))
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=tiling.causal, scale=1.0)[0, 0]
    assert torch.allclose(tiled_attention(double, tiling)[0], theirs, atol=1e-12 * max(1, size))
    assert torch.allclose(tiled_attention(head, tiling)[0].double(), theirs, atol=1e-5 * max(1, size))


@given(tiling=tilings)
def test_tiles_cover_every_visible_pair_once_and_leave_out_only_hidden_ones(tiling):
    seen = np.zeros((tiling.n, tiling.n), dtype=int)
    for (top, bottom), (left, right) in tiling.tiles():
        seen[top:bottom, left:right] += 1
    wanted = np.tril(np.ones_like(seen)) if tiling.causal else np.ones_like(seen)
    assert seen.max() == 1
    assert (seen[wanted == 1] == 1).all()
    whole = np.prod([len(tiling.spans(size)) for size in (tiling.rows, tiling.columns)])
    assert tiling.all_tiles == whole
    for (_, bottom), (left, _) in set(all_tiles(tiling)) - set(tiling.tiles()):
        assert left >= bottom


def all_tiles(tiling):
    return [(row, column) for row in tiling.spans(tiling.rows) for column in tiling.spans(tiling.columns)]


@pytest.mark.parametrize("order", ["queries", "keys"])
def test_the_followed_numbers_are_those_of_the_row(order):
    head, tiling = vectors(17), Tiling(n=17, d_head=5, sram=80, order=order)
    run = follow(head, tiling, 13)
    scores = (head.q[13] @ head.k.T)[:14].double()
    upto = 0
    for step in run.steps:
        upto = min(int(step.keys[-1]) + 1, 14)
        m = scores[:upto].max()
        assert step.m == pytest.approx(float(m), rel=1e-6)
        assert step.l == pytest.approx(float((scores[:upto] - m).exp().sum()), rel=1e-5)
        assert step.rescale == pytest.approx(math.exp(step.old_m - step.m), rel=1e-5)
        assert step.l == pytest.approx(step.rescale * step.old_l + step.scale_tile * step.tile_l, rel=1e-5)
        wanted = (scores[:upto] - m).exp() @ head.v[:upto].double()
        np.testing.assert_allclose(step.out, wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(step.weights.sum(), step.tile_l, rtol=1e-5)
        assert tuple(run.tiles[step.at][2:]) == (step.keys[0], step.keys[-1] + 1)
    assert upto == 14
    np.testing.assert_allclose(run.output, run.steps[-1].out / run.steps[-1].l, rtol=1e-6)
    assert run.difference < 1e-5
    assert run.exact < 1e-13
    assert [step.at for step in run.done(run.steps[1].at)] == [step.at for step in run.steps[:2]]


@pytest.mark.parametrize("values", [{}, {"n_kv_heads": 3}, {"positions": "learned"}, {"positions": "none"}])
def test_the_vectors_are_the_models_own(values):
    model, ids = small.model(**values), small.ids(1, 11)
    z = model(ids, capture=("blocks.1.attn.z",)).activations["blocks.1.attn.z"][0]
    for head in (0, 3, 5):
        found = head_vectors(model, ids[0].tolist(), 1, head).naive(causal=True)[1]
        assert small.difference(found, z[head]) < 1e-5


@given(tiling=tilings)
def test_the_traffic_of_the_formula_is_that_of_the_loops(tiling):
    assert loaded(tiling, 10**6) == tiled_traffic(tiling).total
    steps = [loaded(tiling, count) for count in range(len(tiling.tiles()) + 1)]
    assert steps == sorted(steps)


def test_traffic_by_hand():
    # 4 tokens of width 2, tiles of 2: keys outside, nothing skipped. Each of 2 passes moves Q, O, m, l of 4 queries.
    tiling = Tiling(n=4, d_head=2, sram=16, causal=False, order="keys")
    assert (tiling.rows, tiling.columns) == (2, 2)
    found = tiled_traffic(tiling)
    assert found.reads == {"Q": 16, "K, V": 16, "output": 16, "m and l": 16}
    assert found.writes == {"output": 8 + 16, "m and l": 8 + 16}
    found = tiled_traffic(Tiling(n=4, d_head=2, sram=16, causal=False, order="queries"))
    assert (found.reads, found.writes) == ({"Q": 8, "K, V": 32}, {"output": 8, "m and l": 4})
    assert tiled_traffic(Tiling(n=4, d_head=2, sram=16, order="queries")).reads["K, V"] == 2 * 2 * (2 + 4)
    assert naive_traffic(4096, 64).total == 4 * 4096**2 + 4 * 4096 * 64


@pytest.mark.parametrize("order", ["queries", "keys"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sram", [8_192, 32_768])
def test_the_theorems_term_leads_for_long_texts(order, causal, sram):
    n, d_head = 2**16, 64
    counted = tiled_traffic(Tiling(n=n, d_head=d_head, sram=sram, causal=causal, order=order)).total
    assert counted / theorem(n, d_head, sram, order, causal) == pytest.approx(1, abs=0.06)


def test_outside_of_its_range_the_theorem_says_nothing():
    assert theorem(10, 64, 32, "keys", False) == math.inf
    assert theorem(10, 64, 641, "keys", False) == math.inf


@pytest.mark.parametrize(
    ("values", "named"), [({"n": 0}, "n=0"), ({"sram": 19}, "sram=19"), ({"d_head": 0}, "d_head=0")]
)
def test_impossible_tilings_are_refused(values, named):
    with pytest.raises(ValueError, match=named):
        Tiling(**({"n": 4, "d_head": 5, "sram": 40} | values))


def test_a_row_outside_the_text_is_refused():
    with pytest.raises(ValueError, match="row=4"):
        follow(vectors(4), Tiling(n=4, d_head=5, sram=40), 4)
