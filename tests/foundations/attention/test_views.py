"""Views of attention without an application: what they say and tabulate is what was measured."""

import numpy as np
import pytest

from tfcore.views.foundations import attention as views
from tfcore.views.foundations.attention.scale import saturation_of, spread_of
from tfcore.views.foundations.attention.word_pairs import TOKENS, similarity_of, tokens_of

TEXT = "The king and the queen had a cat and a dog."
VECTORS = [(1.0, 0.0), (0.0, 1.0)]


def test_the_steps_are_said_and_tabulated():
    shown = views.steps(VECTORS, VECTORS, VECTORS, ["a", "b"], 1, 2.0, 1.0)
    assert shown.alt.startswith("Four matrices in a row: products")
    assert "“b” attends most to “b”" in shown.alt
    assert shown.caption.startswith("(query, key) = (2, 2) three times")
    table = shown.numbers()
    assert table["weight"].tolist() == shown.result.weights.ravel().tolist()
    assert table["output x"].tolist() == np.repeat(shown.result.outputs[:, 0], 2).tolist()


def test_two_words_are_compared_in_both_ways():
    found, tokens = similarity_of("stories", TEXT), tokens_of("stories", TEXT).tokens
    n = len(tokens)
    for measure, values in (("dot product", found.products), ("cosine", found.cosines)):
        shown = views.embeddings("stories", TEXT, 2, 4, measure)
        assert shown.caption == f"Embeddings, shape ({n}, {n}). {shown.result.pair}"
        assert shown.numbers()[measure].tolist() == values.ravel().tolist()
    scored = views.scores("stories", TEXT, 2, 4, 1, 3)
    assert scored.caption == f"Scores, (query, key) = ({n}, {n}). {scored.result.pair}"
    row = scored.numbers().iloc[2 * n + 4]
    assert row[["row_token", "column_token", "score"]].tolist() == [tokens[2], tokens[4], found.scores[1, 3, 2, 4]]
    assert scored.result.pair.score == pytest.approx(float(found.scores[1, 3, 2, 4]))


def test_colours_end_where_the_embeddings_of_a_model_do():
    charts = (views.embeddings(name, TEXT, 0, 1, "dot product").chart for name in ("stories", "fill"))
    own, other = (next(trace for trace in chart.data if trace.zmin) for chart in charts)
    assert own.zmax == 2.0
    assert other.zmax == pytest.approx(similarity_of("fill", TEXT).largest_between)
    assert len(tokens_of("stories", TEXT * 20).tokens) == TOKENS


def test_bins_are_those_of_the_width():
    found = spread_of(2_000, 0)
    plain, divided = views.products(6).numbers(), views.divided_products(6).numbers()
    assert plain["to"].iloc[-1] == pytest.approx(5 * 8)
    assert divided["to"].iloc[-1] == pytest.approx(5)
    np.testing.assert_allclose(plain["density"] * 8, divided["density"])
    table = views.variance(6).numbers()
    np.testing.assert_allclose(table["divided"] * 2.0 ** np.arange(11), found.variance)


def test_the_softmax_is_tabulated_by_width_and_its_slopes_by_query():
    found, means = saturation_of(4, 1), views.entropy(3, 4, 1).numbers()
    np.testing.assert_allclose(means["entropy, divided"], found.entropy[1].mean(-1))
    assert means.equals(views.largest(3, 4, 1).numbers())
    slopes = views.slopes(3, 4, 1)
    np.testing.assert_array_equal(slopes.numbers()["steepest, divided"], found.steepest[1, 3])
    assert slopes.caption.endswith("The line is p (1 − p).")
    assert views.gradient(3, 4, 1).alt == views.gradient(3, 4, 1).caption


def test_a_temperature_is_said_of_its_weights():
    shown = views.temperature((1.0, 0.0, -2.5), 2.0)
    assert shown.caption.startswith("softmax of (1, 0, -2.5) at T = 2: 0.5617, 0.3407, 0.0976.")
    assert shown.alt == f"Weights against the temperature from 0.1 to 100. {shown.caption}"
    assert shown.numbers().columns.tolist() == ["x = 1 (0)", "x = 0 (1)", "x = -2.5 (2)", "temperature"]
