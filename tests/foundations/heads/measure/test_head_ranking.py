"""Heads found by what they do, against loops over all of them; and kinds told from the standard texts."""

from dataclasses import replace

import numpy as np
import pytest

from tests.foundations.heads.measure.test_kinds import random_patterns, scores_of
from tests.nightly import nightly
from tests.real import real
from tests.small import model
from tfcore import load
from tfcore.measures.heads.kinds import TEXTS, THRESHOLD, induction_scores, mean_scores, score_heads
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.views.foundations.heads.measure.attention_maps import read_attention
from tfcore.views.foundations.heads.measure.head_ranking import (
    DISTANCE,
    ENTROPY,
    KIND,
    LEAST,
    PAIR,
    rank_heads,
    standard_kinds,
    striking_head,
    strongest_look,
    strongest_of,
    strongest_pair,
)

N = 8
PATTERNS = random_patterns(3, 4, N, seed=3)
IDS = np.array([1, 2, 3, 1, 2, 3, 1, 2])
SCORES = score_heads(PATTERNS, IDS)


@pytest.mark.parametrize("by", [KIND, PAIR, ENTROPY, DISTANCE, "induction", "broad"])
def test_heads_are_ranked_by_what_was_asked(by):
    kinds = replace(SCORES, score=SCORES.score[::-1])
    found = rank_heads(PATTERNS, SCORES, kinds, by, 6, 2)
    expected = {
        KIND: kinds.score,
        PAIR: np.array([[PATTERNS[layer, head, 6, 2] for head in range(4)] for layer in range(3)]),
        ENTROPY: SCORES.entropy,
        DISTANCE: SCORES.distance,
    }.get(by, SCORES.scores.get(by))
    np.testing.assert_array_equal(found.values, expected)
    assert len(set(found.order)) == 12
    ranked = [found.values[place] for place in found.order]
    assert ranked == sorted(ranked, reverse=True)
    assert found.values.max() <= found.most
    near = replace(SCORES, distance=SCORES.distance / 100)
    assert rank_heads(PATTERNS, near, kinds, DISTANCE).most == 1
    assert [rank_heads(PATTERNS[..., :n], SCORES, kinds, ENTROPY).most for n in (1, 2, 8)] == [1, 1, 3]
    assert found.label((1, 2)) == f"{expected[1, 2]:.{1 if by in (ENTROPY, DISTANCE) else 2}f}"


def test_the_strongest_pair_is_neither_neighbours_nor_hidden():
    hidden = np.arange(N) == 0
    found = strongest_pair(PATTERNS, hidden)
    every = {
        (query, key): max(PATTERNS[layer, head, query, key] for layer in range(3) for head in range(4))
        for query in range(N)
        for key in range(1, N)
        if abs(query - key) > 1
    }
    assert every[found.query, found.key] == max(every.values())
    short = strongest_pair(random_patterns(1, 1, 2), np.array([True, False]))
    assert (short.query, short.key) == (1, 0)
    across = strongest_pair(random_patterns(1, 1, 5)[:, :, :3], np.ones(5, bool))
    assert (across.query, across.key) == (2, 0)


def test_the_strongest_look_is_from_one_word_at_another():
    tokens = ["[CLS]", "it", " 2", ".", "'s", " a", "b", "\n"]
    hidden = np.arange(N) == 0
    found = strongest_look(PATTERNS, tokens, tokens, hidden)
    pairs = [(q, k) for q in (1, 4, 5, 6) for k in (1, 4, 5, 6) if abs(q - k) > 1]
    every = {
        (layer, head, *pair): PATTERNS[layer, head][pair] for layer in range(3) for head in range(4) for pair in pairs
    }
    assert found is not None
    best = max(every, key=every.__getitem__)
    assert (found.layer, found.head, found.query, found.key) == best
    assert found.weight == pytest.approx(every[best])
    assert strongest_look(PATTERNS, [*"12345678"], tokens, hidden) is None
    assert strongest_look(PATTERNS, tokens, [*"12345678"], hidden) is None
    assert strongest_look(PATTERNS, tokens, tokens, np.ones(N, bool)) is None


def test_the_head_to_look_at_first_is_the_strongest_induction_head():
    kinds = scores_of([["self", "broad"], ["induction", "induction"]], [[0.9, 0.99], [0.5, 0.6]])
    assert striking_head(kinds) == (1, 1)
    assert strongest_of(kinds, "induction") == [(1, 1), (1, 0)]
    assert strongest_of(kinds, "duplicate") == []
    assert striking_head(scores_of([["self", "broad"]], [[0.5, 0.99]])) == (0, 0)
    assert striking_head(scores_of([["local", "broad"]], [[0.5, 0.99]])) == (0, 1)


def test_scores_of_several_texts_are_their_means():
    other = score_heads(random_patterns(3, 4, N, seed=4), IDS)
    inducing = np.zeros((3, 4))
    inducing[2, 1] = 0.7
    found = mean_scores([SCORES, other], inducing)
    for kind, values in found.scores.items():
        for place in np.ndindex(3, 4):
            assert values[place] == pytest.approx((SCORES.scores[kind][place] + other.scores[kind][place]) / 2)
    assert found.entropy[1, 1] == pytest.approx((SCORES.entropy[1, 1] + other.entropy[1, 1]) / 2)
    for place in np.ndindex(3, 4):
        scores = {kind: values[place] for kind, values in found.scores.items()}
        definite = {kind: scores[kind] for kind in list(scores)[:-2]}
        best = max(definite, key=definite.get)
        expected = best if definite[best] >= THRESHOLD else max(("local", "broad"), key=scores.get)
        assert found.kind[place] == ("induction" if place == (2, 1) else expected)


def test_the_kinds_of_a_model_are_those_of_the_texts_without_their_first_token():
    network, tokenizer = load("stories", device="cpu")
    found = standard_kinds(network, tokenizer)
    for kind in ("previous token", "self"):
        each = []
        for text in TEXTS:
            patterns = read_attention(network, tokenizer, text, most=64).maps.patterns[2, 3]
            weights = []
            for query in range(2, len(patterns)):  # 0 is hidden, 1 sees itself alone
                key = query - (kind == "previous token")
                weights.append(patterns[query, key] / patterns[query, 1:].sum())
            each.append(np.mean(weights))
        assert found.scores[kind][2, 3] == pytest.approx(np.mean(each), abs=1e-5)
    inducing = induction_scores(network)
    assert (found.kind[inducing >= THRESHOLD] == "induction").all()


def test_a_model_of_symbols_has_no_standard_kinds():
    names = [chr(97 + i) for i in range(LEAST)]
    assert standard_kinds(model(vocab_size=len(names) - 1 + 1), NamedTokenizer([name * 3 for name in names])) is None


@pytest.mark.parametrize(("tokens", "enough"), [(LEAST - 1, False), (LEAST, True)])
def test_a_text_of_eight_tokens_says_something(tokens, enough, monkeypatch):
    monkeypatch.setattr("tfcore.views.foundations.heads.measure.head_ranking.is_read", lambda *_: True)

    class Short(NamedTokenizer):
        def encode(self, _):
            return list(range(tokens))

    assert (standard_kinds(model(), Short([str(i) for i in range(61)])) is not None) == enough


@nightly
def test_of_a_real_decoder_one_head_in_270_looks_at_the_first_token_when_the_sink_is_hidden(real_models):
    network, tokenizer = real("smollm2")
    assert (standard_kinds(network, tokenizer).kind == "first token").sum() <= 2
    text = "When Mary and John went to the store, John gave a drink to"
    seen, hidden = (read_attention(network, tokenizer, text, hide_sink=hide) for hide in (False, True))
    counts = [int((one.maps.heads.kind == "first token").sum()) for one in (seen, hidden)]
    assert counts[0] > 190
    assert counts[1] <= 11


@nightly
def test_in_real_models_the_heads_that_go_from_it_to_animal_are_found(real_models):
    for name, word, place, weight in (("smollm2", "tired", (13, 8), 0.75), ("minilm", "tired", (3, 1), 0.68)):
        reading = read_attention(*real(name), f"The animal didn't cross the street because it was too {word}.")
        query, key = ([token.strip() for token in reading.keys].index(one) for one in ("it", "animal"))
        ranking = rank_heads(reading.maps.patterns, reading.maps.heads, reading.maps.heads, PAIR, query, key)
        assert ranking.order[0] == place
        assert ranking.values[place] == pytest.approx(weight, abs=0.005)
