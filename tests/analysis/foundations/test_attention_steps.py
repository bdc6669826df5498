"""Attention step by step equals torch's own and numbers worked out by hand; tokens are compared as the model does."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

import tfcore
from tests import small
from tfcore.analysis.foundations.attention_steps import (
    attention_steps,
    closest,
    entropy_bits,
    softmax_at,
    temperature_sweep,
    token_similarity,
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
    assert closest(cosines, tokens) == (best[2], best[1], pytest.approx(best[0])) == (1, 2, pytest.approx(0.6))
    assert closest(cosines, ["a"] * 4) is None
