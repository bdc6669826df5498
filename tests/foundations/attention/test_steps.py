"""Attention step by step equals torch's own and numbers worked out by hand; tokens are compared as the model does."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

import tfcore
from tests import small
from tests.one_property import told
from tfcore.measures.information import entropy_bits
from tfcore.views.foundations.attention.measure.similarity import TokenSimilarity, token_similarity
from tfcore.views.foundations.attention.measure.steps import attention_steps, softmax_at, temperature_sweep
from tfcore.views.foundations.attention.say import (
    EQUAL,
    Attended,
    ScorePair,
    attended,
    closest_tokens,
    embedding_pair,
    score_pair,
    softmax_weights,
)

COORDINATE = st.floats(-2, 2)


VECTORS = st.lists(st.tuples(COORDINATE, COORDINATE), min_size=4, max_size=4)


@given(q=VECTORS, k=VECTORS, v=VECTORS, temperature=st.floats(0.1, 10))
def test_it_is_torchs_attention(q, k, v, temperature):
    steps = attention_steps(q, k, v, temperature)
    tensors = [torch.tensor(x, dtype=torch.float64)[None] for x in (q, k, v)]
    theirs = F.scaled_dot_product_attention(*tensors, scale=1 / (math.sqrt(2) * temperature))[0]
    np.testing.assert_allclose(steps.outputs, theirs.numpy(), atol=1e-10)
    np.testing.assert_allclose(steps.scores, steps.products / math.sqrt(2), atol=1e-12)
    np.testing.assert_allclose(steps.weights.sum(-1), 1)


def test_a_case_by_hand():
    steps = attention_steps([(1.0, 0.0)], [(2.0, 1.0), (0.0, 3.0)], [(1.0, 0.0), (0.0, 1.0)])
    assert steps.products.tolist() == [[2.0, 0.0]]
    first = math.exp(math.sqrt(2)) / (math.exp(math.sqrt(2)) + 1)
    np.testing.assert_allclose(steps.weights, [[first, 1 - first]])
    np.testing.assert_allclose(steps.outputs, [[first, 1 - first]])


def test_a_query_of_zero_averages_all_values():
    values = [(1.0, 2.0), (-1.0, 0.0), (0.0, 1.0), (2.0, 1.0)]
    steps = attention_steps([(0.0, 0.0)], values, values)
    np.testing.assert_allclose(steps.weights, 0.25)
    np.testing.assert_allclose(steps.outputs[0], np.mean(values, axis=0))


@pytest.mark.parametrize(
    ("scores", "temperature", "weights", "digits"),
    [
        ((8.0, 0.1, -0.3), 1.0, (0.9994, 0.0004, 0.0002), 4),
        ((1.0, 0.0125, -0.0375), 1.0, (0.579, 0.216, 0.205), 3),
        ((8.0, 0.1, -0.3), 8.0, (0.579, 0.216, 0.205), 3),  # dividing by sqrt(64) is a temperature of 8
    ],
)
def test_the_printed_example(scores, temperature, weights, digits):
    assert temperature_sweep(scores, temperature).weights.round(digits).tolist() == list(weights)
    exps = [math.exp(score / temperature) for score in scores]
    np.testing.assert_allclose(temperature_sweep(scores, temperature).weights, np.array(exps) / sum(exps))


def test_a_sweep_goes_from_one_winner_to_equal_weights():
    sweep = temperature_sweep((2.0, 1.0, -1.0), 1.0)
    assert sweep.temperatures[[0, -1]] == pytest.approx([0.1, 100])
    np.testing.assert_allclose(sweep.curves.sum(-1), 1)
    assert sweep.curves[0, 0] > 0.9999
    np.testing.assert_allclose(sweep.curves[-1], 1 / 3, atol=0.01)
    assert (np.diff(sweep.curves[:, 0]) <= 1e-12).all()


def test_ties_stay_ties_when_it_freezes():
    np.testing.assert_allclose(temperature_sweep((2.0, 2.0, -2.0), 0.1).weights, [0.5, 0.5, 0], atol=1e-12)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_a_temperature_must_be_above_zero(temperature):
    with pytest.raises(ValueError, match="must be above 0"):
        softmax_at(torch.zeros(1, 2), temperature)


def test_entropy_in_bits():
    assert entropy_bits(torch.tensor([1.0, 0.0])).item() == 0
    assert entropy_bits(torch.full((8,), 1 / 8)).item() == pytest.approx(3)
    p = torch.tensor([0.7, 0.2, 0.1])
    assert entropy_bits(p).item() == pytest.approx(
        torch.distributions.Categorical(p).entropy().item() / math.log(2), rel=1e-5
    )


@pytest.fixture(scope="module")
def stories():
    return tfcore.load("stories")


def test_products_and_cosines_are_those_of_the_embedding_table():
    model, ids = small.model(), small.ids(1, 7)[0].tolist()
    result = token_similarity(model, ids)
    table = model.state_dict()[next(name for name in model.state_dict() if "embed" in name)][ids]
    np.testing.assert_allclose(result.products, (table @ table.T).numpy(), atol=1e-5)
    theirs = torch.nn.functional.cosine_similarity(table[:, None], table[None], dim=-1)
    np.testing.assert_allclose(result.cosines, theirs.numpy(), atol=1e-5)


def test_scores_are_what_the_softmax_gets():
    model, ids = small.model(), small.ids(1, 7)[0].tolist()
    scores = torch.tensor(token_similarity(model, ids).scores)
    patterns = model(torch.tensor([ids]), capture=small.ALL_PATTERNS).activations
    seen = torch.ones(7, 7, dtype=torch.bool).tril()
    for layer in range(2):
        theirs = patterns[f"blocks.{layer}.attn.pattern"][0]
        assert small.difference(scores[layer].masked_fill(~seen, -torch.inf).softmax(-1), theirs) < 1e-5


def test_words_used_alike_point_alike(stories):
    model, tokenizer = stories
    ids = [tokenizer.encode(word)[0] for word in (" cat", " dog", " happy", " sad", " king", " queen")]
    cosines = token_similarity(model, ids).cosines
    for word in (0, 2, 4):
        others = [i for i in range(6) if i not in (word, word + 1)]
        assert cosines[word, word + 1] > 0.6 > cosines[word, others].max()


def test_one_token_is_enough(stories):
    result = token_similarity(stories[0], [5])
    assert result.products.shape == (1, 1)
    assert result.cosines[0, 0] == pytest.approx(1)


def test_the_closest_pair_is_one_of_different_tokens():
    tokens = [" cat", "Cat", " dog", " sat"]
    cosines = np.array([[1, 0.9, 0.5, 0.1], [0.9, 1, 0.6, 0.2], [0.5, 0.6, 1, -0.3], [0.1, 0.2, -0.3, 1]], np.float32)
    pairs = [
        (cosines[i, j], i, j)
        for i in range(4)
        for j in range(i)
        if tokens[i].strip().lower() != tokens[j].strip().lower()
    ]
    best = max(pairs)
    found = closest_tokens(cosines, tokens)
    assert found is not None
    assert (found.first, found.second, found.cosine) == (best[2], best[1], best[0]) == (1, 2, pytest.approx(0.6))
    assert found.tokens == ("Cat", " dog")
    assert str(found) == ("Of its different tokens, “Cat” and “dog” have the most similar embeddings, cosine 0.60.")
    assert closest_tokens(cosines, ["a"] * 4) is None


def test_what_is_said_of_a_query_is_its_row():
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(3, 4, 2))
    query_vectors, key_vectors, value_vectors = vectors.tolist()
    steps = attention_steps(query_vectors, key_vectors, value_vectors, 0.7)
    tokens = ["a", " b", "c\n", "d"]
    for query in range(4):
        found = attended(steps, tokens, query)
        scores = [sum(x * y for x, y in zip(vectors[0, query], key, strict=True)) / math.sqrt(2) for key in vectors[1]]
        exps = [math.exp(score / 0.7) for score in scores]
        best = max(range(4), key=lambda i: exps[i])
        assert (found.query, found.key) == (tokens[query], tokens[best])
        assert (found.weight, found.score) == (pytest.approx(exps[best] / sum(exps)), pytest.approx(scores[best]))
        output = [sum(exps[i] / sum(exps) * vectors[2, i, axis] for i in range(4)) for axis in (0, 1)]
        assert found.output == (pytest.approx(output[0]), pytest.approx(output[1]))


def test_the_sentences_of_a_query():
    found = Attended(query="sat", key=" up", weight=0.613, score=-1.5, output=(0.125, -2.0))
    assert found.markdown == (
        "“sat” attends most to “·up”, with weight **0.61** (score -1.50). Its output is **(0.12, -2.00)**."
    )
    assert str(found) == "“sat” attends most to “·up”, with weight 0.61 (score -1.50). Its output is (0.12, -2.00)."
    steps = attention_steps([(0.0, 0.0)], [(1.0, 0.0), (0.0, 3.0)], [(1.0, 0.0), (0.0, 1.0)])
    alike = attended(steps, ["a"], 0)
    assert str(alike) == "“a” attends to all tokens alike, with 0.50 each. Its output is (0.50, 0.50)."


@pytest.mark.parametrize(("difference", "alike"), [(0.004, True), (0.006, False)])
def test_weights_are_alike_where_they_are_written_alike(difference, alike):
    score = math.log((0.5 + difference / 2) / (0.5 - difference / 2)) * math.sqrt(2)
    steps = attention_steps([(1.0, 0.0)], [(score, 0.0), (0.0, 0.0)], [(1.0, 0.0), (0.0, 1.0)])
    assert steps.weights[0, 0] - steps.weights[0, 1] == pytest.approx(difference)
    assert (attended(steps, ["a", "b"], 0).key is None) == alike
    assert attended(replace(steps, weights=np.array([[EQUAL, 0.0]])), ["a", "b"], 0).key == "a"


def test_weights_of_a_temperature_in_words():
    found = softmax_weights(temperature_sweep((1.0, 0.0, -2.5), 2.0))
    exps = [math.exp(score / 2) for score in (1.0, 0.0, -2.5)]
    weights = [one / sum(exps) for one in exps]
    assert found.weights == pytest.approx(weights)
    assert found.entropy == pytest.approx(-sum(p * math.log2(p) for p in weights))
    assert str(found) == ("softmax of (1, 0, -2.5) at T = 2: 0.5617, 0.3407, 0.0976. Entropy 1.32 of 1.58 bits.")
    assert (found.weights_text(2), found.entropy_text, found.sum_text) == ("0.56, 0.34, 0.10", "1.32 bits", "1.0000")


def test_a_pair_of_tokens_is_looked_up_in_its_place():
    rng = np.random.default_rng(4)
    products, cosines = rng.normal(size=(2, 4, 4)).astype(np.float32)
    scores = rng.normal(size=(2, 3, 4, 4)).astype(np.float32)
    result, tokens = TokenSimilarity(products, cosines, scores), ["a", " b", "c", "d"]
    embedded = embedding_pair(result, tokens, 1, 3, "dot product")
    assert (embedded.first, embedded.second) == (" b", "d")
    assert (embedded.product, embedded.cosine) == (products[1, 3], cosines[1, 3])
    assert str(embedded) == f"Dot product: '·b' and 'd' {products[1, 3]:.2f}."
    assert str(embedding_pair(result, tokens, 1, 3, "cosine")) == f"Cosine: '·b' and 'd' {cosines[1, 3]:.2f}."
    assert embedded.texts == (f"{products[1, 3]:.2f}", f"{cosines[1, 3]:.2f}")
    pair = score_pair(result, tokens, 1, 3, layer=1, head=2)
    assert (pair.query, pair.key, pair.score, pair.exchanged) == (" b", "d", scores[1, 2, 1, 3], scores[1, 2, 3, 1])
    assert str(ScorePair(1, 2, " b", "d", 0.824, -1.5)) == (
        "Layer 1, head 2, q · k ÷ √d_k: '·b' and 'd' 0.82, with query and key exchanged -1.50."
    )
    assert ScorePair(1, 2, " b", "d", 0.824, -1.5).texts == ("0.82", "-1.50")


def test_the_range_of_colours_is_set_by_different_places():
    products = np.array([[9.0, -3.0], [2.0, 8.0]], np.float32)
    assert TokenSimilarity(products, products, products[None, None]).largest_between == 3
    assert TokenSimilarity(products[:1, :1], products[:1, :1], products[None, None]).largest_between == 9


def test_a_softmax_needs_a_temperature():
    with pytest.raises(ValueError, match=r"temperature=0\.0 must be above 0"):
        softmax_at(torch.zeros(1, 1, 2), 0.0)


@pytest.mark.usefixtures("unchecked")
def test_a_scale_needs_an_end():
    for products, end in ((np.zeros((2, 2)), 1e-6), (np.array([[9.0, 0.5], [-0.5, 9.0]]), 0.5)):
        assert told(TokenSimilarity, "largest_between", products=products) == end
