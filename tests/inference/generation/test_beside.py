"""The next token after two texts and in two models: the same tokens are those with the same text."""

import numpy as np
import pytest

from tests.small import model as small
from tfcore.measures.quantities import percent
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.beside import counterpart, ids_by_text, names_of
from tfcore.views.inference import generation as views
from tfcore.views.inference.generation.measure.beside import next_beside
from tfcore.views.sources import Reading

FIRST, SECOND = "Tom had a red ball. He lost the red", "Tom had a red hat. He lost the red"
IDS = {"a": 0, "b": 1, "c": 2}
OTHERS = {"c": 0, "a": 1, "d": 2}


def test_tokens_are_the_same_where_their_texts_are():
    found = next_beside(np.array([0.5, 0.3, 0.2]), np.array([0.7, 0.1, 0.2]), IDS, OTHERS, 2)
    assert found.tokens == ("c", "a", "b", "d")
    assert found.first == pytest.approx((0.2, 0.5, 0.3, np.nan), nan_ok=True)
    assert found.second == pytest.approx((0.7, 0.1, np.nan, 0.2), nan_ok=True)
    assert found.shared == pytest.approx(0.2 + 0.1)


def test_a_distribution_beside_itself_shares_all():
    p = np.array([0.5, 0.3, 0.2])
    assert next_beside(p, p, IDS, IDS, 3).shared == pytest.approx(1)


def test_the_view_says_the_most_likely_of_both_and_what_they_share():
    here, there = Reading("stories", FIRST), Reading("stories", SECOND)
    shown = views.beside(here, there)
    both = shown.result
    assert names_of(here, there) == ("this text", "the other text")
    logits = [
        views.logits_after(one.model, tuple(views.last_tokens_of(one.model, one.text, views.TOKENS).ids))
        for one in (here, there)
    ]
    p = [one.softmax(-1).numpy() for one in logits]
    assert both.shared == pytest.approx(float(np.minimum(*p).sum()), abs=1e-5)
    assert f"Both put {percent(both.shared)} of the probability" in str(shown)
    assert max(both.first) == pytest.approx(float(p[0].max()))
    assert shown.numbers().columns.tolist() == ["token", "this text", "the other text"]


def test_two_models_are_named_and_need_not_have_the_same_tokens():
    shown = views.beside(Reading("stories", FIRST), Reading("induction", "cat dog cat"))
    assert "for stories" in str(shown)
    assert "for induction" in str(shown)
    assert any(p != p for p in (*shown.result.first, *shown.result.second))


def test_a_token_that_looks_like_another_has_the_first_id():
    ids = ids_by_text(small(), ByteTokenizer())
    pieces = ByteTokenizer().tokens(list(range(small().config.vocab_size)))
    assert all(pieces[id_] == piece and pieces.index(piece) == id_ for piece, id_ in ids.items())


def test_the_counterpart_of_a_token_is_in_its_place_and_the_last_where_there_is_none():
    one, other = Reading("stories", FIRST), Reading("stories", SECOND)
    tokens, others = ["a", "b", "c"], ["x", "a", "y", "z"]
    assert [counterpart(one, other, tokens, others, place) for place in range(3)] == [1, 2, 3]
    assert counterpart(one, Reading("fill", FIRST), ["ab", "c"], ["a", "b", "c"], 0) == 1
    assert counterpart(one, other, ["a", "b"], ["q", "r", "s"], 0) == 2
