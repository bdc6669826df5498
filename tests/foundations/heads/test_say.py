"""What is said of heads, beside numbers that are known."""

from dataclasses import replace

import numpy as np
import pytest

from tests.foundations.heads.measure.test_kinds import random_patterns, scores_of
from tests.foundations.heads.measure.test_sink import causal
from tfcore.measures.heads.kinds import score_heads
from tfcore.measures.heads.sink import without_keys
from tfcore.views.foundations.heads.measure.attention_maps import rollout
from tfcore.views.foundations.heads.measure.head_ranking import ENTROPY, PAIR, rank_heads
from tfcore.views.foundations.heads.say import (
    HeadKind,
    RolloutOnFirst,
    head_kind,
    head_kinds,
    heads_of_models,
    kinds_of_heads,
    rollout_on_first,
    same_kind,
    shared_weight,
    strongest_heads,
)

N = 8
PATTERNS = random_patterns(3, 4, N, seed=3)
SCORES = score_heads(PATTERNS, np.array([1, 2, 3, 1, 2, 3, 1, 2]))


def test_the_kind_of_a_head_is_that_of_its_layer_and_head():
    scores = scores_of([["self", "local"], ["broad", "induction"], ["duplicate", "self"]], [[1, 2], [3, 4], [5, 6]])
    one = head_kind(scores, 1, 0)
    assert (one.layer, one.head, one.kind, one.score) == (1, 0, "broad", 3)
    assert str(HeadKind(3, 0, "induction", 0.934)) == "Layer 3, head 0: induction 0.93 on this text."
    tested = head_kind(replace(scores, is_tested=True), 1, 1, "the standard texts")
    assert str(tested) == "Layer 1, head 1: induction 4.00 on repeated random tokens."
    assert str(one) == "Layer 1, head 0: broad 3.00 on this text."
    assert str(head_kind(scores, 0, 0, "the standard texts")) == "Layer 0, head 0: self 1.00 on the standard texts."
    some = head_kinds(scores, [(2, 1), (0, 1)])
    assert [(one.layer, one.head, one.kind) for one in some.heads] == [(2, 1, "self"), (0, 1, "local")]
    assert str(some) == ("Attention maps of 2 of 6 heads, each with its kind: 2.1 self 6.00, 0.1 local 2.00.")


def test_kinds_are_counted():
    found = kinds_of_heads(scores_of([["self", "broad"], ["broad", "induction"]], [[1, 1], [1, 1]]))
    assert str(found) == "Kinds of the 4 heads: 2 broad, 1 induction, 1 self."


def test_the_sentence_names_the_first_heads_and_both_tokens():
    tokens = [" a", "b", "c", "d", "e", "f", " it", "h"]
    found = strongest_heads(rank_heads(PATTERNS, SCORES, SCORES, PAIR, 6, 0), tokens, tokens, 6, 0)
    best = max((float(PATTERNS[p, h, 6, 0]), p, h) for p in range(3) for h in range(4))
    assert found.values["heads"][0] == best[1:]
    assert str(found).startswith(
        f"Of 12 heads, the largest weight from '·it' (6) to '·a' (0): {best[1]}.{best[2]} with {best[0]:.2f}, "
    )
    entropy = strongest_heads(rank_heads(PATTERNS, SCORES, SCORES, ENTROPY), tokens, tokens, 6, 0)
    assert f"with {SCORES.entropy.max():.1f} bits" in str(entropy)
    assert str(entropy).startswith("Of 12 heads, the largest entropy of their weights on this text: ")


def test_a_rollout_ends_on_the_first_token_because_nothing_leaves_it():
    """What a layer moves there stays: after n layers of which each moves a fifth, 1 - 0.8^n is there."""
    for layers in (1, 4, 12):
        rolled = rollout(causal(layers, 5, 0.4))[-1]  # half of 0.4: the other half of a layer is the residual
        found = rollout_on_first(rolled, 3, list("abcde"), np.zeros(5, dtype=bool), layers)
        assert (found.query, found.first, found.position) == ("d", "a", 0)
        assert found.share == pytest.approx(1 - 0.8**layers, abs=1e-6)
        assert found.moved == pytest.approx(0.2, abs=1e-5)
    assert str(found).startswith("Rollout of 'd' over 12 layers: 93% on 'a' (0), the first token that is seen.")
    assert "comes there stays: 20% a layer is enough." in str(found)
    assert "99.99% or more" in str(RolloutOnFirst("d", "a", 0, 0.99997, 30))
    assert RolloutOnFirst("d", "a", 0, 1 + 1e-7, 30).moved == 1, "rows sum to 1 up to rounding"
    assert "in one layer: 99.50% on" in str(RolloutOnFirst("d", "a", 0, 0.995, 1))


def test_without_the_sink_a_rollout_still_sums_to_one_and_the_next_token_is_the_first_that_is_seen():
    hidden = np.array([True, *[False] * 4])
    maps = without_keys(causal(3, 5, 0.4), hidden)
    maps[:, 0, 3, 3], maps[:, 0, 3, 1] = 0.5, 0.5
    rolled = rollout(maps)[-1]
    np.testing.assert_allclose(rolled.sum(-1), 1, atol=1e-6)
    found = rollout_on_first(rolled, 3, list("abcde"), hidden, 3)
    assert (found.first, found.position) == ("b", 1)
    assert found.share == pytest.approx(1 - 0.75**3, abs=1e-6)
    assert rollout_on_first(rolled, 1, list("abcde"), hidden, 3) is None


def test_nothing_is_said_of_a_model_that_sees_later_tokens():
    rolled = rollout(random_patterns(2, 2, 4))[-1]
    later = rolled + 0.1 * np.eye(4, k=1)
    assert rollout_on_first(later, 2, list("abcd"), np.zeros(4, dtype=bool), 2) is None


def test_shared_weight_is_the_overlap_in_percent():
    one, other = np.eye(2), np.array([[0.25, 0.75], [0.5, 0.5]])
    found = shared_weight(one, other)
    assert found.values["share"] == pytest.approx((0.25 + 0.5) / 2)
    assert str(found) == "The two heads put 38% of their weight on the same tokens."


def test_one_head_on_two_texts_is_compared_by_its_kind():
    one, other = scores_of([["self", "local"]], [[1, 1]]), scores_of([["self", "broad"]], [[0, 0]])
    assert str(same_kind(one, other, 0, 0)) == "Kind of the head: the same on both."
    found = heads_of_models(("ours", "theirs"), (one, other), ((0, 0), (0, 0)))
    kinds = [f"{scores.kind[0, 0]} {scores.score[0, 0]:.2f}" for scores in (one, other)]
    assert str(found) == f"On this text head 0.0 of ours is {kinds[0]}; head 0.0 of theirs is {kinds[1]}."
    assert found.verdict == one.kind[0, 0]
    assert str(same_kind(one, other, 0, 1)) == "Kind of the head: local on one, broad on the other."


def test_shares_of_nearly_all():
    shares = [str(RolloutOnFirst("a", "b", 0, share, 2)).partition(": ")[2] for share in (0.99, 0.9999, 0.99995)]
    assert [words.partition(" on ")[0] for words in shares] == ["99%", "99.99%", "99.99% or more"]
