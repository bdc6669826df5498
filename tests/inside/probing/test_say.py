"""Sentences of probing, word by word."""

import numpy as np
import pytest

from tfcore.views.inside.probing import say
from tfcore.views.inside.probing.measure.by_layer import ClassCounts, Probed, ProbedLayer
from tfcore.views.inside.probing.measure.steering import FACTORS, Steered
from tfcore.views.inside.probing.measure.tagged_text import tagged_words
from tfcore.views.inside.probing.measure.two_classes import PointsAt


def test_a_property_by_layer():
    labels = np.array([0, 0, 1, 1, 2, 2, 2, 2])
    layers = [
        ProbedLayer(np.where(np.arange(8) < n, labels, (labels + 1) % 3), control) for n, control in ((4, 5), (7, 2))
    ]
    found = Probed("word length", ("a", "b", "c"), tagged_words()[:8], labels, 3, tuple(layers))
    assert str(say.readable(found)) == (
        "Word length (3 classes) of 8 held-out words: read best at layer 0, 87.5% correct (95 % interval 52.9% to "
        "97.8%), against 50.0% at the embedding and 37.5% by the most frequent class. The control task reaches 25.0% "
        "there: selectivity +62.5 percentage points."
    )


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (ClassCounts(0, ("a", "b"), (3, 5), (3, 5), None), "The embedding: 8 of 8 words are read correctly."),
        (
            ClassCounts(2, ("a", "b"), (3, 5), (3, 4), ("b", "a", 1)),
            "Layer 1: 7 of 8 words are read correctly; the most frequent mistake: 'b' read as 'a', 1 of 5 times.",
        ),
    ],
)
def test_classes_at_a_layer(found, sentence):
    assert str(say.class_read(found)) == sentence


@pytest.mark.parametrize(
    ("collapsed", "where"),
    [
        ([], "collapses at none of the factors from -8 to 8"),
        ([-4.0, -6.0], "first collapses at factor -4"),
        ([8.0, -4.0, 3.0], "first collapses at factor -4 and +3"),
    ],
)
def test_where_a_text_collapses(collapsed, where):
    rows = [[1, 2, 3, 1, 2, 3, 1, 4, 5, 6] if factor not in collapsed else [1] * 10 for factor in FACTORS]
    found = Steered("x", np.ones((len(FACTORS), 6)), np.array(rows), np.full(len(FACTORS), 1.5))
    assert str(say.collapse(found)) == (
        f"The text {where}: more than 60% of its runs of 3 tokens stood in it before, or its cross-entropy by the "
        "model as it is exceeds 4 nats per token. Without steering: 25% and 1.50 nats."
    )


def test_sentences_told_apart():
    right = np.arange(24) < np.array([[12], [20], [23], [20]])
    assert str(say.told_apart(right, 3, "probe")) == (
        "Each line held out in turn, probe: 20 of 24 sentences fall on the right side at layer 2 (95 % interval 64% to "
        "93%; a guess is right in half of them). The most are 23, first at layer 1."
    )


def test_tokens_that_a_direction_points_at():
    few = PointsAt("probe at layer 2", (" a", "b", "c", " d", "e"), (0.5, 0.25, -0.125, -0.25, -0.75), 2)
    assert str(say.points_at(few)) == (
        "Read by the unembedding, the probe at layer 2 points at '·a', 'b' (cosine up to 0.50) and away from 'e', "
        "'·d', 'c' (-0.75)."
    )
    many = PointsAt("direction", tuple("abcdefghijkl"), tuple(0.5 - i / 12 for i in range(12)), 6)
    assert "points at 'a', 'b', 'c', 'd' (" in str(say.points_at(many)), "four at most"
    assert "away from 'l', 'k', 'j', 'i' (" in str(say.points_at(many))


def test_tokens_along_a_direction():
    assert str(say.projected(np.array([np.nan, 1.25, 0.0, -0.5]), ["x", " a", "c", "b"], "probe at layer 2")) == (
        "Along the probe at layer 2, '·a' lies farthest on the side of the first class (+1.25) and 'b' on that of the "
        "second (-0.50)."
    )
