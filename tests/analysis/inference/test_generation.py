"""What the page on generation measures: one token, texts by strategies, beams as a tree, speculation."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from tests.small import model as small
from tfcore.analysis.inference import beam_tree, next_token, speculation, strategies, written
from tfcore.generation.beam import beam_search
from tfcore.generation.draft_models import early_exit
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling, distribution
from tfcore.generation.speculative import speculative
from tfcore.tokenizers.tokenizer import ByteTokenizer

IDS = [3, 1, 4, 1, 5]
FILTERS = {"temperature": 0.8, "top_k": 30, "top_p": 0.9, "min_p": 0.03, "repetition_penalty": 1.3}


def test_a_token_is_that_of_generate_and_its_rows_are_the_filters():
    model, sampling = small(), Sampling(**FILTERS)
    text = generate(model, IDS, max_new_tokens=4, seed=5, **FILTERS)
    for drawn in range(4):
        found = next_token.next_token(model, IDS, sampling, 5, drawn)
        assert (list(found.before), found.token) == (text[:drawn], text[drawn])
    ids = torch.tensor([*IDS, *text[:3]])
    logits = model(ids[None]).logits[0, -1]
    own, last = logits.softmax(-1).numpy(), distribution(logits, previous=ids, **FILTERS).numpy()
    np.testing.assert_allclose(found.probabilities[0], own[found.order], atol=1e-5)
    np.testing.assert_allclose(found.probabilities[-1], last[found.order], atol=1e-5)
    np.testing.assert_allclose(found.probabilities.sum(-1), 1, atol=1e-5)
    assert found.left[3] == 30
    assert all(a >= b for a, b in pairwise(found.left))
    for row in found.probabilities[1:]:  # the order is one for all rows after the penalty
        assert (np.diff(row) <= 0).all()
    start = found.probabilities[-1][: found.place].astype(float).sum()
    assert start - 1e-6 <= found.u <= start + found.probabilities[-1][found.place] + 1e-6
    p = own.astype(float)
    assert found.entropy[0] == pytest.approx(-(p * np.log2(p)).sum(), abs=1e-4)


def test_filters_that_are_off_change_nothing():
    found = next_token.next_token(small(), IDS, Sampling(), 0, 0)
    assert found.is_on == (True, False, False, False, False, False)
    assert (found.probabilities == found.probabilities[0]).all()
    assert found.unfiltered == found.place
    greedy = next_token.next_token(small(), IDS, Sampling(temperature=0), 0, 0)
    assert greedy.unfiltered == found.place  # the same seed, so the same u
    assert (greedy.left[2], greedy.place, greedy.entropy[-1]) == (1, 0, 0)
    with pytest.raises(ValueError, match="token 3 does not fit behind 30 tokens"):
        next_token.next_token(small(), [1] * 30, Sampling(), 0, 3)


def test_every_strategy_writes_what_it_says():
    model, sampling = small(), Sampling(**FILTERS)
    plan = strategies.Plan(ids=tuple(IDS), sampling=sampling, seed=3, tokens=8)
    texts = {name: [] for name in ("greedy", "sampling", "pure", "beam")}
    for name, one in filter(None, strategies.continue_beside(model, plan)):
        texts[name].append(one)
    expected = {
        "greedy": generate(model, IDS, max_new_tokens=8, temperature=0),
        "sampling": generate(model, IDS, max_new_tokens=8, seed=3, **FILTERS),
        "pure": generate(model, IDS, max_new_tokens=8, seed=3),
        "beam": list(beam_search(model, IDS, beams=strategies.BEAMS, max_new_tokens=8)[0].ids),
    }
    assert {name: [one.token for one in found] for name, found in texts.items()} == expected
    for found in texts.values():
        again = written.read_again(model, IDS, [one.token for one in found])
        assert [one.probability for one in found] == pytest.approx([one.probability for one in again], abs=1e-5)
        assert [one.rank for one in found] == [one.rank for one in again]
    assert all(one.rank == 1 for one in texts["greedy"])
    score = beam_search(model, IDS, beams=strategies.BEAMS, max_new_tokens=8)[0].score
    assert written.mean_log_probability(texts["beam"]) == pytest.approx(score, abs=1e-4)


def test_repetition_by_hand():
    assert written.repeated([1, 2, 3, 4, 5]) == 0
    assert written.repeated([1, 2, 3, 1, 2, 3]) == pytest.approx(1 / 4)  # 123 231 312 123
    assert written.repeated([7] * 102) == pytest.approx(0.99)
    assert written.repeated([1, 2]) == 0
    assert written.mean_log_probability([]) == 0


@pytest.mark.parametrize(("beams", "stop"), [(1, ()), (3, ()), (3, (5, 9, 20, 33))])
def test_the_tree_holds_the_search(beams, stop):
    model = small()
    options = {"beams": beams, "length_penalty": 0.7, "stop_ids": stop}
    tree = beam_tree.beam_tree(model, IDS, tokens=7, **options)
    assert list(tree.results) == beam_search(model, IDS, max_new_tokens=7, **options)
    for node in tree.nodes:
        parent = tree.nodes[node.parent] if node.parent >= 0 else None
        assert node.ids[:-1] == (parent.ids if parent else ())
        assert parent is None or parent.state == "kept"
        assert node.score == pytest.approx((parent.score if parent else 0) + math.log(node.probability), abs=1e-4)
    again = written.read_again(model, IDS, tree.results[0].ids)
    total = sum(math.log(one.probability) for one in again)
    assert tree.results[0].score == pytest.approx(total / len(again) ** 0.7, abs=1e-4)
    assert list(tree.greedy.ids) == generate(model, IDS, max_new_tokens=7, temperature=0, stop_ids=stop)
    states = {node.ids: node.state for node in tree.nodes}
    if tree.left_at:
        assert states.get(tree.greedy.ids[: tree.left_at], "dropped") == "dropped"
        assert states[tree.greedy.ids[: tree.left_at - 1]] == "kept" or tree.left_at == 1
    if beams == 1 and not stop:
        assert tree.results[0].ids == tree.greedy.ids
        assert tree.left_at == 0


def test_ends_of_sentences_are_found():
    assert beam_tree.sentence_ends(ByteTokenizer()) == (ord("!"), ord("."), ord("?"))
    with pytest.raises(ValueError, match="no room for a token behind 32"):
        beam_tree.beam_tree(small(), [1] * 32, beams=2, tokens=3, length_penalty=1.0)


def test_speculation_is_told_as_it_happens(monkeypatch):
    monkeypatch.setattr(speculation, "TURNS", 2)
    model = small(n_layers=3)
    draft, sampling = early_exit(model, 2), Sampling(temperature=0.7)
    items = list(speculation.watch(model, draft, IDS, sampling, 3, 4, 16))
    passes = [one for one in items if isinstance(one, speculation.Pass)]
    found = speculative(model, draft, IDS, max_new_tokens=16, guess=3, seed=4, temperature=0.7)
    assert [token for one in passes for token in one.ids] == list(found.ids)
    guesses = [guess for one in passes for guess in one.guesses]
    assert sum(guess.state == "accepted" for guess in guesses) == found.accepted
    assert len(guesses) == found.drafted
    assert all(guess.error < 1e-6 for guess in guesses)
    assert all(guess.overlap <= 1.0001 for guess in guesses)
    read = [guess for guess in guesses if guess.state != "unread"]
    assert speculation.acceptance(passes) == pytest.approx(np.mean([guess.overlap for guess in read]))
    for guess in guesses:
        at = list(guess.tokens).index(guess.token) if guess.token in guess.tokens else None
        assert at is None or (guess.p_all[at], guess.q_all[at]) == pytest.approx((guess.p, guess.q))
    timings = items[len(passes) :]
    assert len(timings) == speculation.TURNS
    assert all(min(one.alone, one.together, one.draft, one.one, one.several) > 0 for one in timings)


def test_the_formulas_by_hand():
    assert speculation.expected_tokens(0.8, 2) == pytest.approx((1 - 0.8**3) / (1 - 0.8))
    assert speculation.expected_tokens(1.0, 4) == 5
    assert speculation.expected_speed_up(0.8, 5, 0.02) == pytest.approx(3.354, abs=1e-3)
    assert speculation.expected_speed_up(0.8, 0, 0.02) == 1
    assert speculation.best_guess(0.2, 0.5, 8) == 0  # no guess is worth half a token
    assert speculation.best_guess(0.9, 0.01, 8) == 8
    assert speculation.acceptance([]) == 0
