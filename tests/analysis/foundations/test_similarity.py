"""Embeddings compared as they are in the model's own table, scores as the model computes them."""

import numpy as np
import pytest
import torch

import tfcore
from tests import small
from tfcore.analysis.foundations.similarity import closest, token_similarity


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
