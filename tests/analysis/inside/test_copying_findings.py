"""Sentences about copying agree with what is measured by other means."""

import math
import re

import numpy as np
import pytest
import torch

import tfcore
from pages.reference.check.training import QUESTIONS
from tfcore.analysis.inside import induction_heads as findings
from tfcore.analysis.inside.circuits import Composition, PatchedRun
from tfcore.analysis.inside.induction_heads import copying, random_rows, scores_of, twice
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.training.repeated_rows import RECIPES, repeated_rows, training_note


def measured(off=()):
    model = tfcore.load("stories")[0].eval()
    return copying(model, twice(random_rows(2048, 24, 8, 0)), 24, off)


def test_what_ablation_costs_is_the_measured_loss():
    whole, one, both = measured(), measured([(3, 0)]), measured([(3, 0), (3, 2)])
    words = findings.ablated(whole, both, [(3, 2), (3, 0)])
    assert re.findall(r"\d+\.\d\d", words) == [
        f"{loss:.2f}" for loss in (whole.second_loss, both.second_loss, both.first_loss)
    ]
    assert "3.0, 3.2" in words
    assert words.endswith("nearly all of the copying is gone.")
    assert findings.ablated(whole, one, [(3, 0)]).endswith("copies nearly as well without them.")
    assert "nothing to copy" in findings.ablated(copying(tfcore.load("stories")[0], torch.arange(9)[None]), one, [])


def test_heads_are_named_or_the_best_one_with_its_score():
    assert "2 heads reach" in findings.induction_heads([(3, 2), (3, 0)], (3, 2), 0.9)
    assert findings.induction_heads([(1, 2)], (1, 2), 0.9).startswith("One head reaches")
    none = findings.induction_heads([], (1, 4), 0.21)
    assert "the nearest is 1.4 with 0.21" in none


def test_path_patching_names_the_input_that_matters_most():
    closed = [
        PatchedRun(door, 0.5, 5.0, loss)
        for door, loss in (("none", 1.0), ("query", 1.5), ("key", 9.0), ("value", 1.25), ("all", 12.0))
    ]
    words = findings.patched(closed)
    assert "in their key input alone, the loss on the second copy rises by 8.00" in words
    assert "query input by 0.50" in words
    assert "value input by 0.25" in words


def test_the_composition_that_stands_out_is_counted_from_random_matrices():
    scores = {kind: np.full((2, 1, 2), 0.1) for kind in ("query", "key", "value")}
    scores["key"][1, 0, 1] = 0.4
    result = Composition(scores, 0.1, 0.01)
    words = findings.composed(result, 1, [(0, 1)], [(1, 1)])
    assert "K-composition stands out" in words
    assert "K 0.400 (+30 σ)" in words
    assert "No induction head of layer 1" in findings.composed(result, 1, [(0, 1)], [(2, 0)])


@pytest.mark.parametrize("model", RECIPES)
def test_the_repeated_rows_are_those_of_the_card(model):
    card = (PRETRAINED / model / "CARD.md").read_text("utf-8")
    found = repeated_rows(model)
    if model == "stories-moe":  # its card refers to that of stories
        card = (PRETRAINED / "stories" / "CARD.md").read_text("utf-8")
    assert int(re.search(r"1\. (\d+) steps of \d+ rows of \d+ repeated random tokens", card)[1]) == found.alone
    rows, text = re.search(r"steps of (\d+) rows of \d+ tokens.*?(\d+)\s+of the\s+rows are text", card, re.S).groups()
    assert (int(rows), int(rows) - int(text)) == (found.batch, found.rows)
    assert f"{found.rows} of the {found.batch} sequences" in training_note(model)


def test_a_model_that_was_not_trained_here_has_no_note():
    assert "nothing but such repetition" in training_note("induction")
    assert training_note("somebody/else") == ""
    assert repeated_rows("induction") is None


def detector(pattern, ids, *, itself):
    """TransformerLens's induction pattern per query that has something to find; `itself`: the query may be the key."""
    n, rows = len(ids), []
    for q in range(n):
        keys = [k for k in range(1, q + 1) if k - 1 != q and ids[k - 1] == ids[q] and (itself or k != q)]
        if keys:
            rows.append(sum(pattern[q, k] for k in keys))
    return sum(rows) / len(rows)


def test_a_doubled_token_is_where_the_score_differs_from_the_detector():
    pattern = np.tril(np.random.default_rng(0).random((9, 9)))
    pattern /= pattern.sum(1, keepdims=True)
    single, doubled = np.array([4, 1, 2, 3, 4, 1, 2, 3, 4]), np.array([4, 1, 1, 3, 4, 1, 1, 3, 4])
    for ids, same in ((single, True), (doubled, False)):
        score = scores_of(pattern[None, None], ids)["induction"][0, 0]
        assert score == pytest.approx(detector(pattern, ids, itself=False))
        assert (score == pytest.approx(detector(pattern, ids, itself=True))) == same


def test_only_a_model_of_nothing_else_pays_about_ln_v_for_new_random_tokens():
    """What the question on the first loss sends to: the model induction, and not a language model."""
    ratios = {}
    for name in ("induction", "stories"):
        model = tfcore.load(name)[0].eval()
        vocab = model.config.vocab_size
        ratios[name] = copying(model, twice(random_rows(vocab, 24, 8, 0)), 24).first_loss / math.log(vocab)
    assert ratios["induction"] == pytest.approx(1, abs=0.05)
    assert ratios["stories"] > 1.8
    (question,) = [one for one in QUESTIONS if one.name == "chance"]
    assert question.look.view["model"] == "induction"
