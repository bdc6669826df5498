"""What the page on generation measures: one token, texts by strategies, beams as a tree, speculation."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from tests.nightly import nightly
from tests.small import model as small
from tfcore.generation.beam import BeamStep, Candidate, beam_search
from tfcore.generation.draft_models import early_exit
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.generation.speculative import speculative
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.inference import generation as views
from tfcore.views.inference.generation import say
from tfcore.views.inference.generation.measure import beam_tree, decoding, next_token, speculation
from tfcore.views.inference.generation.say import SAME_SCORE, BeamScores

IDS = [3, 1, 4, 1, 5]
BYTES = ByteTokenizer()
FILTERS = {"temperature": 0.8, "top_k": 30, "top_p": 0.9, "min_p": 0.03, "repetition_penalty": 1.3}


def test_a_token_is_that_of_generate_and_its_rows_are_the_filters():
    model, sampling = small(), Sampling(**FILTERS)
    text = generate(model, IDS, sampling, max_new_tokens=4, seed=5)
    for drawn in range(4):
        found = next_token.next_token(model, BYTES, IDS, sampling, 5, drawn)
        assert (list(found.before), found.token) == (text[:drawn], text[drawn])
    ids = torch.tensor([*IDS, *text[:3]])
    logits = model(ids[None]).logits[0, -1]
    own, last = logits.softmax(-1).numpy(), sampling.distribution(logits, ids).numpy()
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


def test_a_continuation_is_written_once_however_it_is_asked_for():
    model, sampling = small(), Sampling(**FILTERS)
    passes = []
    model.register_forward_hook(lambda *_: passes.append(1))
    text = generate(model, IDS, sampling, max_new_tokens=6, seed=5)
    passes.clear()
    found = next_token.Continuation(model, BYTES, IDS, sampling, 5, 6)
    assert [found.token(number).token for number in (3, 0, 3, 5)] == [text[i] for i in (3, 0, 3, 5)]
    assert found.token(5).before == tuple(text[:5])
    assert len(passes) == 6
    with pytest.raises(ValueError, match="token 6 does not fit behind 5 tokens"):
        found.token(6)


@pytest.mark.parametrize("settings", [{}, FILTERS])
def test_the_first_token_needs_the_logits_of_the_text_alone(settings):
    model, sampling = small(), Sampling(**settings)
    logits = next_token.logits_after(model, IDS)
    torch.testing.assert_close(logits, model(torch.tensor([IDS])).logits[0, -1])
    for seed in range(3):
        found = next_token.first_token(BYTES, IDS, logits, sampling, seed)
        same = next_token.next_token(model, BYTES, IDS, sampling, seed, 0)
        assert (found.token, found.u, found.names, found.is_on) == (same.token, same.u, same.names, same.is_on)
        np.testing.assert_array_equal(found.probabilities, same.probabilities)


def test_filters_that_are_off_change_nothing():
    found = next_token.next_token(small(), BYTES, IDS, Sampling(), 0, 0)
    assert found.is_on == (True, False, False, False, False, False)
    assert (found.probabilities == found.probabilities[0]).all()
    assert found.unfiltered == found.place
    greedy = next_token.next_token(small(), BYTES, IDS, Sampling(temperature=0), 0, 0)
    assert greedy.unfiltered == found.place  # the same seed, so the same u
    assert (greedy.left[2], greedy.place, greedy.entropy[-1]) == (1, 0, 0)
    with pytest.raises(ValueError, match="token 3 does not fit behind 30 tokens"):
        next_token.next_token(small(), BYTES, [1] * 30, Sampling(), 0, 3)


def test_every_strategy_writes_what_it_says():
    model, sampling = small(), Sampling(**FILTERS)
    plan = decoding.DecodingPlan(ids=tuple(IDS), sampling=sampling, seed=3, tokens=8)
    texts = {name: [] for name in ("greedy", "sampling", "pure", "beam")}
    for name, one in filter(None, decoding.continue_beside(model, plan)):
        texts[name].append(one)
    expected = {
        "greedy": generate(model, IDS, Sampling(temperature=0), max_new_tokens=8),
        "sampling": generate(model, IDS, Sampling(**FILTERS), max_new_tokens=8, seed=3),
        "pure": generate(model, IDS, max_new_tokens=8, seed=3),
        "beam": list(beam_search(model, IDS, beams=decoding.BEAMS, max_new_tokens=8)[0].ids),
    }
    assert {name: [one.token for one in found] for name, found in texts.items()} == expected
    for found in texts.values():
        again = decoding.read_again(model, IDS, [one.token for one in found])
        assert [one.probability for one in found] == pytest.approx([one.probability for one in again], abs=1e-5)
        assert [one.rank for one in found] == [one.rank for one in again]
    assert all(one.rank == 1 for one in texts["greedy"])
    score = beam_search(model, IDS, beams=decoding.BEAMS, max_new_tokens=8)[0].score
    assert decoding.mean_log_probability(texts["beam"]) == pytest.approx(score, abs=1e-4)


def test_repetition_by_hand():
    assert decoding.repeated([1, 2, 3, 4, 5]) == 0
    assert decoding.repeated([1, 2, 3, 1, 2, 3]) == pytest.approx(1 / 4)  # 123 231 312 123
    assert decoding.repeated([7] * 102) == pytest.approx(0.99)
    assert decoding.repeated([1, 2]) == 0
    assert decoding.mean_log_probability([]) == 0


@pytest.mark.parametrize(("beams", "stop"), [(1, ()), (3, ()), (3, (5, 9, 20, 33))])
def test_the_tree_holds_the_search(beams, stop):
    model = small()
    options = {"beams": beams, "length_penalty": 0.7, "stop_ids": stop}
    tree = beam_tree.beam_tree(model, BYTES, IDS, tokens=7, **options)
    assert list(tree.results) == beam_search(model, IDS, max_new_tokens=7, **options)
    for node in tree.nodes:
        parent = tree.nodes[node.parent] if node.parent >= 0 else None
        assert node.ids[:-1] == (parent.ids if parent else ())
        assert parent is None or parent.state == "kept"
        assert node.score == pytest.approx((parent.score if parent else 0) + math.log(node.probability), abs=1e-4)
    again = decoding.read_again(model, IDS, tree.results[0].ids)
    total = sum(math.log(one.probability) for one in again)
    assert tree.results[0].score == pytest.approx(total / len(again) ** 0.7, abs=1e-4)
    known = beam_tree.greedy_text(model, IDS, 7, stop)
    assert (
        list(tree.greedy.ids)
        == list(known.ids)
        == generate(model, IDS, Sampling(temperature=0), max_new_tokens=7, stop_ids=stop)
    )
    assert beam_tree.beam_tree(model, BYTES, IDS, tokens=7, **options, greedy=known) == tree
    states = {node.ids: node.state for node in tree.nodes}
    if tree.left_at:
        assert states.get(tree.greedy.ids[: tree.left_at], "dropped") == "dropped"
        assert states[tree.greedy.ids[: tree.left_at - 1]] == "kept" or tree.left_at == 1
    if beams == 1 and not stop:
        assert tree.results[0].ids == tree.greedy.ids
        assert tree.left_at == 0


def test_a_score_that_rounding_raises_is_no_probability_above_one():
    first, second = (BeamStep((Candidate(0, 7, score, "kept"),), ()) for score in (-1.0, -0.9999999))
    assert [node.probability for node in beam_tree.tree_nodes([first, second], BYTES, 1)] == [math.exp(-1), 1.0]


def test_ends_of_sentences_are_found():
    assert beam_tree.sentence_ends(ByteTokenizer()) == (ord("!"), ord("."), ord("?"))
    with pytest.raises(ValueError, match="no room for a token behind 32"):
        beam_tree.beam_tree(small(), BYTES, [1] * 32, beams=2, tokens=3, length_penalty=1.0)


@nightly
def test_speculation_is_told_as_it_happens(monkeypatch):
    monkeypatch.setattr(speculation, "TURNS", 2)
    model = small(n_layers=3)
    draft, sampling = early_exit(model, 2), Sampling(temperature=0.7)
    items = list(speculation.watch(model, draft, IDS, sampling, 3, 4, 16))
    passes = [one for one in items if isinstance(one, speculation.Pass)]
    found = speculative(model, draft, IDS, Sampling(temperature=0.7), max_new_tokens=16, guess=3, seed=4)
    assert [token for one in passes for token in one.ids] == list(found.ids)
    guesses = [guess for one in passes for guess in one.guesses]
    assert sum(guess.state == "accepted" for guess in guesses) == found.accepted
    assert len(guesses) == found.drafted
    assert all(guess.error < 1e-6 for guess in guesses)
    assert all(guess.overlap <= 1.0001 for guess in guesses)
    read = [guess for guess in guesses if guess.state != "discarded"]
    assert speculation.acceptance(passes) == pytest.approx(np.mean([guess.overlap for guess in read]))
    for guess in guesses:
        assert len(guess.tokens) == len(guess.p_all) == len(guess.q_all) == speculation.SHOWN
        at = list(guess.tokens).index(guess.token) if guess.token in guess.tokens else None
        assert at is None or (guess.p_all[at], guess.q_all[at]) == pytest.approx((guess.p, guess.q))
    timings = items[len(passes) :]
    assert len(timings) == speculation.TURNS
    assert all(min(one.alone, one.together, one.draft, one.one, one.several) > 0 for one in timings)


def test_a_pass_is_timed_where_the_context_has_room_for_less():
    assert speculation._pass(small(), [1] * 30, 5) > 0


def test_the_formulas_by_hand():
    assert speculation.expected_tokens(0.8, 2) == pytest.approx((1 - 0.8**3) / (1 - 0.8))
    assert speculation.expected_tokens(1.0, 4) == 5
    assert speculation.expected_speed_up(0.8, 5, 0.02) == pytest.approx(3.354, abs=1e-3)
    assert speculation.expected_speed_up(0.8, 0, 0.02) == 1
    assert speculation.best_guess(0.2, 0.5, 8) == 0  # no guess is worth half a token
    assert speculation.best_guess(0.9, 0.01, 8) == 8
    assert speculation.acceptance([]) == 0


def planted(settings, *, place, u):
    """A step over five tokens a to e, made by hand: the model's distribution, top-k 3 and top-p behind it."""
    own, rest = [0.4, 0.3, 0.15, 0.1, 0.05], [0.5, 0.375, 0.125, 0.0, 0.0]
    rows = np.array([own, own, own, rest, rest, rest], dtype=np.float32)
    on = (True, False, False, True, False, settings)
    return next_token.NextToken(Sampling(top_k=3), (), np.arange(5), rows, on, place, u, dict(enumerate("abcd\n")))


def test_what_the_filters_leave_is_counted():
    found = say.filter_cuts(planted(True, place=1, u=0.55))
    assert (found.values["by_model"], found.values["by_filters"]) == pytest.approx((0.3, 0.375))
    assert found.sentence == (
        "Of 5 tokens top-k leaves 3, min-p leaves 3; drawn: 'b', 0.300 by the model, 0.375 after all filters."
    )
    off = say.filter_cuts(next_token.next_token(small(), BYTES, IDS, Sampling(temperature=0.5), 0, 0))
    # temperature cuts nothing away
    assert off.sentence.startswith("Of 61 tokens none is cut away; drawn: ")


def test_the_draw_is_where_u_falls():
    found = say.where_drawn(planted(True, place=1, u=0.6))
    assert (found.token, found.unfiltered, found.is_cut) == ("b", "b", False)
    assert (found.start, found.length) == pytest.approx((0.5, 0.375))
    cut = say.where_drawn(planted(True, place=2, u=0.96))  # without filters the last 0.05 of the line
    assert (cut.token, cut.unfiltered, cut.is_cut) == ("c", "\n", True)
    assert cut.start == pytest.approx(0.875)
    assert cut.sentence == (
        "The draw: u = 0.9600 falls on 'c', which covers 0.1250 of the lower line from about 0.8750 on. Without "
        "filters the same u would fall on '⏎', which the filters cut."
    )
    assert say.where_drawn(planted(True, place=2, u=0.9)).unfiltered == "d"


def test_the_ends_of_the_distribution_and_its_entropy():
    step = planted(True, place=0, u=0.1)
    assert str(say.ranks(step)) == "All 5 probabilities by rank, from 0.400 to 5.0e-02; after the filters 3 are left."
    bits = [-sum(p * math.log2(p) for p in row if p > 0) for row in step.probabilities.tolist()]
    assert step.entropy[[0, -1]].tolist() == pytest.approx([bits[0], bits[-1]], abs=1e-5)
    assert [one.value for one in views.entropy_numbers(step)] == ["2.01 bits", "1.41 bits", "85.0%"]


def test_the_last_tokens_of_a_text():
    found = decoding.last_tokens(small(), BYTES, "0123456789" * 3, 8)
    assert (bytes(found.ids), found.total) == (b"23456789", 30)
    assert bytes(decoding.last_tokens(small(), BYTES, "0123456789" * 3, 100).ids) == b"4567890123456789"  # half of 32


def test_scores_of_texts():
    texts = decoding.by_strategy(
        [("pure", decoding.WrittenToken(1, 0.5, 1)), None, *[("greedy", decoding.WrittenToken(7, 0.25, 2, 0.3))] * 5]
    )
    assert {name: len(found) for name, found in texts.items()} == {"greedy": 5, "beam": 0, "sampling": 0, "pure": 1}
    found = say.text_scores(texts)
    assert [(one.strategy, one.mean, one.repeated) for one in found.scores] == [
        ("greedy", pytest.approx(math.log(0.25)), pytest.approx(2 / 3)),  # 777 three times
        ("sampling, no filters", pytest.approx(math.log(0.5)), 0),
    ]
    assert found.sentence == (
        "Mean log-probability of the texts, in nats per token: greedy -1.39; sampling, no filters -0.69. Repeated "
        "trigrams: greedy 67%; sampling, no filters 0%."
    )
    assert str(found.scores[0]) == "Mean log-probability -1.39 nats; repeated trigrams: 67%."
    assert "nothing yet" in str(say.text_scores(decoding.by_strategy([])))
    assert texts["greedy"][0].title == "by the model 0.250, rank 2; drawn with 0.300"


def test_a_rank_counts_the_tokens_before():
    p = torch.tensor([0.1, 0.4, 0.2, 0.3])
    assert [decoding.written_token(p, token).rank for token in range(4)] == [4, 1, 3, 2]


def test_a_search_is_counted():
    tree = beam_tree.beam_tree(small(), BYTES, IDS, beams=2, tokens=4, length_penalty=1.0)
    found = say.beam_summary(tree)
    kept = 0
    for node in tree.nodes:
        kept += node.state in ("kept", "finished")
    assert (found.beams, found.steps, found.considered, found.kept) == (2, 4, len(tree.nodes), kept)
    assert len(tree.nodes) == 4 * 2 * 2, "of each step twice as many as there are beams"
    alone = replace(tree, nodes=[node for node in tree.nodes if node.state != "dropped"])
    assert say.beam_summary(alone).kept == kept, "though half of all are"
    assert found.best == max(one.score for one in tree.results)
    assert (found.greedy, found.left_at) == (tree.greedy.score, tree.left_at)
    assert tree.texts == tuple(BYTES.decode(list(one.ids)) for one in (*tree.results, tree.greedy))
    assert [node.token for node in tree.nodes] == [BYTES.tokens([node.ids[-1]])[0] for node in tree.nodes]
    planted = say.BeamSummary(3, 8, 48, 24, -0.9, -1.25, 5)
    assert planted.sentence == (
        "Beam search with 3 beams over 8 tokens: 48 texts considered, 24 kept; the best scores -0.900, greedy -1.250; "
        "greedy's text is dropped at token 5."
    )
    assert replace(planted, left_at=0).sentence.endswith("greedy's text is never dropped.")


def test_the_best_score_is_compared_with_greedy():
    tree = beam_tree.beam_tree(small(), BYTES, IDS, beams=3, tokens=4, length_penalty=1.0)
    found = say.beam_scores(tree)
    assert (found.finished, found.best, found.greedy) == (3, tree.results[0].score, tree.greedy.score)
    better = say.BeamScores(3, -0.9, -1.25)
    assert better.sentence == "Scores of 3 finished texts, the best -0.900, better than greedy's -1.250."
    assert replace(better, best=-1.5).relation == "worse than"
    assert replace(better, best=-1.25005).relation == "the same as"


def guess_of(p, q, state, overlap=0.5, error=0.0):
    some = np.zeros(1, dtype=int)
    return speculation.Guess(7, p, q, state, overlap, error, some, some.astype(float), some.astype(float))


PASSES = [
    speculation.Pass(
        (
            guess_of(0.6, 0.3, "accepted", 0.9, 1e-8),
            guess_of(0.1, 0.4, "rejected", 0.5, 3e-7),
            guess_of(0.0, 1.0, "discarded", 0.0, 1.0),
        ),
        5,
        (7, 5),
    ),
    speculation.Pass((guess_of(0.2, 0.25, "accepted", 0.8, 2e-8),) * 2, 5, (7, 7, 5)),
]


def test_accepted_draft_tokens_are_counted():
    found = say.acceptance_found(PASSES, 3)
    assert found.values == {
        "accepted": 3,
        "verified": 4,
        "alpha": pytest.approx((0.9 + 0.5 + 0.8 + 0.8) / 4),
        "per_pass": 5 / 2,
        "expected": pytest.approx(1 + 0.75 + 0.75**2 + 0.75**3),
        "error": 3e-7,
    }
    assert found.sentence == (
        "3 of 4 verified draft tokens were accepted; the formula expects 2.73 tokens per pass. The rule gives the "
        "model's distribution to within 3e-07."
    )
    numbers = [(one.value, one.note) for one in views.speculation_numbers(PASSES, 3)]
    assert numbers == [
        ("3 of 4", "expected: α = 0.75"),
        ("2.50", "formula: 2.73"),
        ("…", "timed next"),
        ("3e-07", "4 places, all tokens"),
    ]
    none = say.acceptance_found([speculation.Pass((), 5, (5,))], 0).values
    assert none == {"accepted": 0, "verified": 0, "alpha": 0, "per_pass": 1, "expected": 1, "error": 0}


def test_a_draft_token_says_what_decided():
    rejected = PASSES[0].guesses[1]
    assert (rejected.accepted_with, rejected.note) == (0.25, "✗ 0.25")
    assert rejected.title == "q = 0.400, p = 0.100, accepted with probability 0.25: rejected"
    assert [guess.note for guess in PASSES[0].guesses] == ["✓ 1.00", "✗ 0.25", "–"]
    assert say.draft_token(rejected, 4, " it").sentence == (
        "Draft token 4, '·it': q = 0.400, p = 0.100, so it is accepted with probability 0.25; rejected. Green + blue = "
        "p, over all tokens to within 3e-07; green sums to 0.500."
    )


def test_the_speed_up_takes_the_quickest_of_each():
    timings = [
        speculation.Timing(alone=0.04, together=0.03, draft=0.02, one=0.05, several=0.08),
        speculation.Timing(alone=0.05, together=0.02, draft=0.01, one=0.04, several=0.09),
    ]
    found = speculation.speed_up(PASSES, timings, 3)
    assert (found.runs, found.guess) == (2, 3)
    assert (found.ratio, found.cost, found.check) == pytest.approx((2, 0.25, 2))
    expected = {n: sum(0.75**i for i in range(n + 1)) / (0.25 * n + 1) for n in range(9)}
    assert found.expected == pytest.approx(expected[3])
    assert found.best == max(expected, key=expected.get)
    curves = found.curves
    assert curves["speed"] == pytest.approx(list(expected.values()))
    assert curves["tokens"][2] == pytest.approx(1 + 0.75 + 0.75**2)
    said = say.Gain(found)
    assert said.sentence == (
        "With α = 0.75. Measured: 2.50 tokens per pass, speed-up 2.00. A draft token costs c = 0.25 of a target token, "
        f"verifying 4 tokens 2.00 passes (the formula says 1). By the formula draft length {found.best} would be best."
    )
    assert said.words == ("2.00", f"formula: {expected[3]:.2f}")
    assert "fastest of 2 runs" in said.help
    assert "no draft length makes it faster" in str(say.Gain(replace(found, best=0)))
    early = speculation.speed_up(PASSES, [], 3)
    assert str(say.Gain(early)) == "With α = 0.75. Measured: 2.50 tokens per pass."
    assert (say.Gain(early).words, say.Gain(early).help, list(early.curves)) == (("…", "timed next"), "", ["tokens"])
    quick = [speculation.Timing(1.0, 1.0, 1.0, 2.0, 1.0)]
    assert speculation.speed_up(PASSES, quick, 3).check == 1  # a pass over more tokens cannot cost less


def test_seconds_are_those_of_a_token(monkeypatch):
    """8 tokens alone in 4 s, 8 together in 2 s, 8 by the draft alone in 1 s, by a clock that is planted."""
    clock = iter([0.0, 4.0, 6.0, 7.0])
    monkeypatch.setattr(speculation, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(speculation, "_pass", lambda _, __, tokens: tokens / 100)
    model = small()
    found = speculation.time_once(model, early_exit(model, 1), IDS, Sampling(temperature=0), 3, 0, 8)
    assert found == speculation.Timing(alone=0.5, together=0.25, draft=0.125, one=0.01, several=0.04)


def test_scores_that_are_nearly_the_same():
    assert BeamScores(1, -1.0, -1.0 - SAME_SCORE / 2).relation == "the same as"
    assert BeamScores(1, -1.0, -2.0).relation == "better than"
