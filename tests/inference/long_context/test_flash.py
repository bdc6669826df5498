"""Flash attention in tiles: equal to torch's own attention, its numbers true, its loads counted right."""

import math
from dataclasses import replace
from math import inf

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import small
from tfcore.measures.head_vectors import HeadVectors, head_vectors
from tfcore.views.inference.long_context.measure import flash as flash_attention
from tfcore.views.inference.long_context.measure import traffic as memory_traffic
from tfcore.views.inference.long_context.measure.flash import Tiling, follow, tiled_attention
from tfcore.views.inference.long_context.measure.traffic import loaded, naive_traffic, theorem, tiled_traffic
from tfcore.views.inference.long_context.say import pieces as say
from tfcore.views.inference.long_context.say import traffic as say_traffic

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
    return HeadVectors(*((size * torch.randn(n, d_head, generator=generator)).cpu() for _ in range(3)))


@settings(max_examples=25)
@given(tiling=tilings, size=st.sampled_from([0.1, 2.0, 8.0]))
def test_tiles_give_torchs_attention(tiling, size):
    head = vectors(tiling.n, size=size)
    double = head.double()
    q, k, v = (x[None, None] for x in (double.q, double.k, double.v))
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=tiling.causal, scale=1.0)[0, 0]
    assert torch.allclose(tiled_attention(double, tiling)[0], theirs, atol=1e-12 * max(1, size))
    assert torch.allclose(tiled_attention(head, tiling)[0].double(), theirs, atol=1e-5 * max(1, size))


@settings(max_examples=15)
@given(tiling=tilings, sink=st.floats(-5, 20))
def test_a_learned_sink_is_where_the_state_begins(tiling, sink):
    head = replace(vectors(tiling.n), sink=torch.tensor(sink)).double()
    weights, output = head.naive(tiling.causal)
    assert float(weights.sum(1).max()) < 1
    assert torch.allclose(tiled_attention(head, tiling)[0], output, atol=1e-12)
    run = follow(replace(vectors(tiling.n), sink=torch.tensor(sink)), tiling, tiling.n - 1)
    assert (run.steps[0].old_m, run.steps[0].old_l) == (pytest.approx(sink), 1)
    above = max(step.tile_m for step in run.steps) <= run.steps[0].old_m
    assert (str(say.rescaling(run)) == "For this query no tile beats the learned sink: the factor stays 1.") == above


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
    Tiling(n=1, d_head=1, sram=4)
    with pytest.raises(ValueError, match=named):
        Tiling(**({"n": 4, "d_head": 5, "sram": 40} | values))


@pytest.mark.parametrize("row", [-1, 4])
def test_a_row_outside_the_text_is_refused(row):
    with pytest.raises(ValueError, match=f"row={row} must be between 0 and 3"):
        follow(vectors(4), Tiling(n=4, d_head=5, sram=40), row)


def loop_tiles(n, rows, columns):
    """Every tile of a causal matrix, row of tiles after row: (queries, keys), and how many are skipped."""
    tiles, skipped = [], 0
    for top in range(0, n, rows):
        for left in range(0, n, columns):
            if left > min(top + rows, n) - 1:
                skipped += 1
            else:
                tiles.append((range(top, min(top + rows, n)), range(left, min(left + columns, n))))
    return tiles, skipped


def test_every_tile_is_placed_and_every_cell_finds_its_tile():
    run = follow(vectors(17), Tiling(n=17, d_head=5, sram=80), 13)
    tiles, skipped = loop_tiles(17, run.tiling.rows, run.tiling.columns)
    assert run.tiling.rows == 4
    for number, (queries, keys) in enumerate(tiles):
        found = say.tile_place(run, number).values
        assert (found["tile"], found["tiles"]) == (number + 1, len(tiles))
        assert (found["queries"], found["keys"]) == ((queries[0], queries[-1]), (keys[0], keys[-1]))
        assert (found["skipped"], found["all_tiles"]) == (skipped, skipped + len(tiles))
        for query in queries:
            for key in keys:
                assert flash_attention.tile_at(run, query, key) == number
    assert flash_attention.tile_at(run, 0, 16) is None  # masked wholly
    assert str(say.tile_place(run, 1)) == ("Tile 2 of 15: queries 4 to 7, keys 0 to 3; 10 of 25 tiles skipped.")


def planted_steps(run, factors):
    """The run with other factors: one for each step."""
    steps = [replace(run.steps[0], at=10 + i, rescale=factor) for i, factor in enumerate(factors)]
    return replace(run, steps=steps)


def test_the_smallest_factor_is_found():
    run = follow(vectors(17), Tiling(n=17, d_head=5, sram=80), 13)
    found = say.rescaling(planted_steps(run, [0.0, 1.0, 0.5, 0.25, 1.0]))
    assert found.sentence == (
        "For this query the factor is below 1 in 2 of 5 tiles, the smallest in tile 14: what was there before then "
        "counts 0.250 of what it did."
    )
    none = say.rescaling(planted_steps(run, [0.0, 1.0]))
    assert none.sentence == "For this query no tile beats the first: the factor stays 1."


def test_the_scores_of_a_tile():
    head = vectors(17)
    run = follow(head, Tiling(n=17, d_head=5, sram=80), 13)
    step = run.steps[1]
    scores = [float(head.q[13] @ head.k[key]) for key in step.keys]
    found = say.tile_scores(run, step)
    total = sum(math.exp(score - max(scores)) for score in scores)
    assert found.sentence == (
        f"Scores of query 13 in tile {step.at + 1}: largest {max(scores):.3f}, weights adding up to {total:.3f}."
    ).replace("-", "−")
    planted = replace(run, naive=np.array([-0.125, 2, 3, 4, 5], dtype=np.float32))
    assert say.plain_number(planted).sentence == "First number by standard attention: −0.125."


def test_the_latest_step_of_the_followed_query():
    run = follow(vectors(17), Tiling(n=17, d_head=5, sram=80), 13)
    first = run.steps[0].at
    assert run.latest(0).at == first > 0
    assert run.latest(first).at == first
    assert run.latest(first + 1).at == run.steps[1].at
    assert run.latest(10**6).at == run.steps[-1].at


@pytest.mark.parametrize("order", ["queries", "keys"])
def test_a_comparison_in_bytes(order):
    found = memory_traffic.compare_traffic(4096, 64, 96_000, order, False, 2)
    said = say_traffic.moved(found)
    tiling = Tiling(n=4096, d_head=64, sram=96_000, causal=False, order=order)
    plain, tiled = 2 * (4 * 4096**2 + 4 * 4096 * 64), 2 * tiled_traffic(tiling).total
    assert (said.n, said.d_head, said.plain, said.tiled) == (4096, 64, plain, tiled)
    assert said.formula == 2 * {"keys": 12, "queries": 8}[order] * 4096**2 * 64**2 / 96_000
    assert said.squares == pytest.approx(4 + 4 * 64 / 4096)


def test_a_comparison_in_words():
    said = say_traffic.Moved(4096, 64, 136_000_000, 17_000_000, 16_000_000.0, 4.0625)
    assert said.sentence == (
        "One head, n = 4,096, d = 64, half precision: standard attention moves 136.0 MB, mostly scores and weights, "
        "twice each; tiles 17.0 MB (8.00 × less) and no score at all."
    )
    assert said.plain_words == ("136.0 MB", "4.06 n² numbers")
    assert said.tiled_words == ("17.0 MB", "8.00 × less")
    assert said.formula_words == ("16.0 MB", "counted ÷ formula: 1.062")
    assert replace(said, tiled=272_000_000).ratio == "2.00 × more"
    assert replace(said, formula=math.inf).formula_words == ("–", "holds for d ≤ M ≤ nd only")


def test_the_ends_of_the_curve():
    every = [memory_traffic.compare_traffic(4096, 64, sram, "keys", False, 2) for sram in (8_000, 64_000, 128_000)]
    found = say_traffic.against_sram([16, 128, 256], every)
    small, large, plain = (
        f"{2 * total / 1e6:.1f} MB"
        for total in (every[0].tiled.total, every[2].tiled.total, naive_traffic(4096, 64).total)
    )
    assert every[0].tiled.total > every[2].tiled.total
    assert found.sentence == (
        f"Bytes moved against SRAM: {small} at 16 kB, {large} at 256 kB, about as 1 ÷ M; standard attention {plain} at "
        "any size."
    )


def test_what_the_tiles_so_far_moved():
    run = follow(vectors(17), Tiling(n=17, d_head=5, sram=80), 13)
    found = say_traffic.moved_so_far(run, 2)
    assert (found.rows, found.columns, found.n) == (run.tiling.rows, run.tiling.columns, 17)
    assert (found.moved, found.in_all) == (loaded(run.tiling, 3), tiled_traffic(run.tiling).total)
    assert found.plain == 4 * 17 * 17 + 4 * 17 * 5
    planted = say_traffic.MovedSoFar(8, 4, 37, 1_000, 12_000, 10_000)
    assert planted.tile_words == ("8 × 4", "32 scores at a time, of 1,369")
    assert planted.moved_words == ("1,000", "standard attention, in all: 10,000")
    assert planted.sentence == "37 tokens are few: all tiles move 1.2 times what standard attention moves."


def test_the_theorem_holds_from_one_vector_in_sram_to_all():
    within = [theorem(64, 8, sram, "queries", False) < inf for sram in (7, 8, 512, 513)]
    assert within == [False, True, True, False]
