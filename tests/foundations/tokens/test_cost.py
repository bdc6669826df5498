"""What a length costs, in words."""

from tfcore.measures.flop_count import sequence_cost
from tfcore.views.foundations.tokens.say.signals import SequenceCost, cost_at


def test_the_cost_of_a_length_in_words():
    cost = sequence_cost([10, 196, 400])
    found = cost_at(cost, 1, "patches of 16 pixels")
    weights = float(sum(24 * 196 * 768**2 for _ in range(12)))
    attention = float(sum(4 * 196 * 196 * 768 for _ in range(12)))
    assert found == SequenceCost("patches of 16 pixels", 196, 38_416, weights, attention, 2 * 12 * 196 * 196)
    assert str(found) == (
        "With patches of 16 pixels: n = 196 tokens, 33.3 G FLOPs for weights and 1.42 G for attention, 4.1% of the "
        "whole; the maps of one layer take 922 kB in half precision."
    )
    assert (found.tokens_text, found.pairs_text, found.flops_text) == ("196", "38,416", "34.7 G")
    assert cost_at(sequence_cost([1_500]), 0, "x").tokens_text == "1,500"
    assert "n = 0 tokens, 0  FLOPs" in str(cost_at(sequence_cost([0]), 0, "x"))
