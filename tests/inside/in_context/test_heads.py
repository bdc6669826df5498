"""The heads that an answer depends on, beside runs and counts of our own."""

import numpy as np
import pytest
import torch

import tfcore
from tfcore.inspection.edits import Edit
from tfcore.measures.statistics import rank_correlation
from tfcore.views.inside.in_context import say
from tfcore.views.inside.in_context.measure import heads
from tfcore.views.inside.in_context.measure.heads import Exact, ScoredHeadEffects
from tfcore.views.inside.in_context.measure.tasks import draw, prompt


@pytest.fixture(scope="module")
def found():
    model, tokenizer = tfcore.load("induction")
    return model, tokenizer, heads.every_head(model, tokenizer, "code", "right", 12, 0)


def test_exact_effects_are_those_of_a_run_without_the_head(found):
    model, tokenizer, results = found
    asked = prompt(tokenizer, draw("code", "right", 0), 12, 256)
    right = asked.right[-1]

    def chance(edits):
        return float(model(torch.tensor([asked.ids]), edits=edits).logits[0, -1].log_softmax(-1)[right])

    exact = [one for one in results if isinstance(one, Exact)]
    assert len(exact) == 8
    for (layer, head), effect in exact:
        without = chance([Edit.zero(f"blocks.{layer}.attn.z", heads=[head])])
        assert effect == pytest.approx(chance([]) - without, abs=1e-4)


def test_exact_ones_take_the_place_of_estimates(found):
    model, _, results = found
    scores = heads.induction_scores(model)
    few = heads.together(results[:3], scores)
    assert few.exact.sum() == 2
    assert (few.score == scores).all()
    for one in results[1:3]:
        assert few.effect[one.head] == pytest.approx(one.effect)
    assert (few.effect[~few.exact] == results[0].estimate[~few.exact]).all()


def test_rank_correlation_is_spearmans():
    one, other = np.array([0.1, 0.5, 0.2, 0.9, 0.4]), np.array([3.0, 1.0, 2.0, 5.0, 4.0])
    ranks = [1, 4, 2, 5, 3], [3, 1, 2, 5, 4]
    squares = sum((a - b) ** 2 for a, b in zip(*ranks, strict=True))
    assert rank_correlation(one, other) == pytest.approx(1 - 6 * squares / (5 * 24))
    assert rank_correlation(one, np.ones(5)) is None
    assert rank_correlation(np.array([1.0, 1.0, 2.0]), np.array([1.0, 1.0, 5.0])) == pytest.approx(1)


@pytest.mark.parametrize(("count", "top"), [(2, 1), (4, 1), (12, 3), (39, 9), (40, 10), (48, 10)])
def test_a_quarter_of_few_heads_is_compared(count, top):
    row = np.arange(float(count))[None]
    said = say.heads_agree(ScoredHeadEffects(row, row > 0, row))
    assert (said.top, said.shared, said.by_chance) == (top, top, top * top / count)


def test_what_is_said():
    effect = np.array([[0.0, 2.0, 0.1, 0.2], [0.3, -1.0, 1.5, 0.0]])
    score = np.array([[0.0, 0.9, 0.1, 0.0], [0.8, 0.0, 0.2, 0.1]])
    exact = np.abs(effect) > 0.9
    said = say.heads_agree(ScoredHeadEffects(effect, exact, score))
    assert said.best == {(0, 1): 2.0, (1, 2): 1.5, (1, 0): 0.3}
    assert (said.heads, said.exact, said.top, said.shared, said.by_chance) == (8, 3, 2, 1, 0.5)
    assert "of 8 heads (3 exact, the others estimated). Most: 0.1 +2.00, 1.2 +1.50, 1.0 +0.30 nats." in str(said)
    assert str(said).endswith(
        "Of the 2 with the largest fall 1 are among the 2 with the highest induction score; by chance it would be 0.5."
    )
