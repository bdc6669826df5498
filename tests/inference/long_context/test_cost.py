"""What the page on long context says of length: equal to counts made by hand."""

from dataclasses import replace

import pytest

from tfcore import presets
from tfcore.measures import flop_count
from tfcore.views.inference.long_context.say import cost as say

LENGTHS = [1024, 4096, 2**15, 2**17]
CONFIG = presets.gpt2_small()  # 12 layers, 12 heads of 64
COST = flop_count.length_cost(CONFIG, LENGTHS)


def test_the_matrix_of_one_head():
    found = say.score_matrix("GPT-2 small", 4096, 64)
    assert (found.cells, found.times) == (16_777_216, 4096 * 4096 / (4096 * 64 * 4))
    assert found.sentence == (
        "One head of GPT-2 small at n = 4,096, d = 64, drawn to scale: 16,777,216 scores, 16.0 times as many numbers "
        "as Q, K, V and output together."
    )


@pytest.mark.parametrize("at", [0, 1, 3])
def test_operations_at_a_length(at):
    found, n = say.operations("GPT-2 small", COST, at), LENGTHS[at]
    whole = flop_count.flops(replace(CONFIG, max_seq_len=n), n).sequence
    squares = 12 * 4 * n * n * 768  # layers, 2 n^2 d for the scores and for the values
    assert (found.n, found.squared) == (n, squares)
    assert found.linear == pytest.approx(whole - squares)
    assert found.crossing == pytest.approx(found.linear / squares * n)
    assert found.share == f"{squares / whole:.1%}"


def test_operations_in_words():
    found = say.Operations("a model", 4096, 3e12, 1e12, 12_288.4)
    assert found.sentence == (
        "a model, n = 4,096: 3.0 TFLOP with weights, 1.0 TFLOP for scores and values. Equal at n = 12,288."
    )
    assert found.share == "25.0%"


def test_memory_of_a_layer():
    found = say.layer_memory(COST, 1)
    assert (found.n, found.scores, found.vectors) == (4096, 2 * 12 * 4096**2, 2 * 4 * 768 * 4096)
    assert 2 * 12 * found.fits**2 <= 80 * 2**30 < 2 * 12 * (found.fits + 1) ** 2
    assert found.times == "16.0 × Q, K, V, output"
    assert found.sentence == (
        "n = 4,096: 402.7 MB of scores, 25.2 MB of Q, K, V and output. Scores of one layer fit into 80 GiB, a GPU sold "
        "as 80 GB, up to n = 59,825."
    )
    long = say.layer_memory(flop_count.length_cost(CONFIG, [2**17]), 0)
    assert long.fits == found.fits, "it does not depend on the lengths that are drawn"


@pytest.mark.parametrize("config", [CONFIG, presets.llama3_8b()], ids=["MHA", "GQA"])
def test_memory_crosses_where_scores_and_vectors_are_as_many(config):
    found = say.crossings(config, flop_count.length_cost(config, [128]))
    n = round(found.values["memory"])
    at = flop_count.length_cost(config, [n])
    assert at.matrices[0] == pytest.approx(at.vectors[0], rel=1e-6)
    both = flop_count.length_cost(config, [round(found.values["operations"])])
    assert both.linear[0] == pytest.approx(both.squared[0], rel=1e-3)


def test_where_operations_and_memory_cross_in_words():
    assert str(say.crossings(CONFIG, COST)) == (
        "Below 6,702 tokens the products with weights cost more operations; memory crosses much earlier, at n = 2 d "
        "(1 + KV heads ÷ heads), here 256."
    )
