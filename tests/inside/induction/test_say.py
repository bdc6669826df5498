"""Sentences about copying agree with what is measured by other means."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import tfcore
from pages.reference.check.training import QUESTIONS
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.measures.heads.induction_heads import (
    Copying,
    HeadsByScore,
    HeadTests,
    copying,
    random_rows,
    scores_of,
    twice,
)
from tfcore.training.repeated_rows import RECIPES, repeated_rows, training_note
from tfcore.views.inside.induction.say import circuit
from tfcore.views.inside.induction.say import find as findings


def measured(off=()):
    model = tfcore.load("stories")[0].eval()
    return copying(model, twice(random_rows(2048, 24, 8, 0)), 24, off)


def test_what_ablation_costs_is_the_measured_loss():
    whole, one, both = measured(), measured([(3, 0)]), measured([(3, 0), (3, 2)])
    found = findings.ablation_cost(whole, both, [(3, 2), (3, 0)])
    assert isinstance(found, findings.AblationCost)
    assert (found.whole, found.ablated, found.new) == (whole.second_loss, both.second_loss, both.first_loss)
    share = (both.second_loss - whole.second_loss) / (both.first_loss - whole.second_loss)
    assert found.lost_share == pytest.approx(share)
    assert str(found) == (
        f"Zero ablation of 3.0, 3.2 takes the loss on repeated tokens from {whole.second_loss:.2f} to "
        f"{both.second_loss:.2f} nats, where new ones cost {both.first_loss:.2f}: nearly all of the copying is gone."
    )
    assert str(findings.ablation_cost(whole, one, [(3, 0)])).endswith("copies nearly as well without them.")
    assert str(findings.AblationCost(((0, 1),), 1.0, 3.0, 5.0)).endswith("a part of the copying is left.")
    assert findings.AblationCost(((0, 1),), 5.0, 3.0, 5.0).lost_share == 0
    assert str(findings.AblationCost(((0, 1),), 5.0, 5.1, 4.9)).endswith("the whole model does not copy here.")
    for ablated, verdict in ((0.8, "is gone."), (0.79, "is left."), (0.1, "is left."), (0.09, "without them.")):
        assert str(findings.AblationCost(((0, 1),), 0.0, ablated, 1.0)).endswith(verdict)
    assert findings.AblationCost(((0, 1),), 1.0, 1.25, 1.5).lost_share == 0.5
    nothing = copying(tfcore.load("stories")[0], torch.arange(9)[None])
    assert str(findings.ablation_cost(nothing, one, [])) == (
        "No two tokens come again in the same order, so there is nothing to copy."
    )


def test_heads_are_named_or_the_best_one_with_its_score():
    def kinds(heads, best, score):
        return findings.induction_heads(HeadsByScore(heads, [], [], best, score))

    assert str(kinds([(3, 2), (3, 0)], (3, 2), 0.9)) == (
        "On repeated random tokens, the usual test, 2 heads put a mean weight of 0.33 or more on that token and count "
        "as induction heads: 3.0, 3.2."
    )
    assert str(kinds([(1, 2)], (1, 2), 0.9)).endswith(
        "one head puts a mean weight of 0.33 or more on that token and counts as an induction head: 1.2."
    )
    assert str(kinds([], (1, 4), 0.21)).endswith("the nearest is 1.4 with 0.21.")


def test_the_stripe_is_that_of_the_text_in_sight():
    """By hand: the weights on the token after each earlier occurrence, of every head."""
    once = planted()  # 4 7 1 4 7 1 4: places 3 to 6 find something, the last two of them two tokens
    found = findings.find_stripe(once, copies=False)
    layer, head = np.unravel_index(once.scores["induction"].argmax(), (2, 3))
    assert (found.best, found.weight) == ((layer, head), once.scores["induction"].max())
    nothing = replace(once, ids=np.arange(7))
    assert "No token of this text stood in it before" in str(findings.find_stripe(nothing, copies=False))
    assert "second copy" in str(findings.Stripe(True, (3, 0), 0.9))
    assert str(findings.Stripe(False, (3, 0), 0.9)).endswith(
        "In this text it is clearest in 3.0, with a mean weight of 0.90."
    )
    assert str(findings.Stripe(False, (3, 0), 0.2)).endswith(
        "No head shows it clearly in this text: the nearest is 3.0, with a mean weight of 0.20."
    )


def planted(seed: int = 0) -> Copying:
    rng = np.random.default_rng(seed)
    ids = np.array([4, 7, 1, 4, 7, 1, 4])
    new = np.array([True, True, False, False, False, False])
    scores = {kind: rng.random((2, 3)) for kind in ("induction", "previous token", "duplicate")}
    return Copying(ids, rng.random((2, 3, 7, 7)), scores, rng.random(6) * 9, new, np.array([False] * 3 + [True] * 3))


def test_where_one_head_attends():
    now = planted()
    assert findings.induction_stripe(now, (1, 2), []).values["weight"] == now.scores["induction"][1][2]
    assert str(findings.induction_stripe(now, (0, 1), [(0, 1)])) == (
        f"Layer 0, head 1 (ablated: it attends, but writes nothing) puts {now.scores['induction'][0][1]:.2f} of its "
        "weight on the token after an earlier occurrence of the query token."
    )
    once = replace(now, ids=np.arange(7))
    assert str(findings.induction_stripe(once, (1, 0), [])) == (
        "No token of this text comes twice, so layer 1, head 0 has nothing to find."
    )


def test_the_heads_with_the_highest_scores():
    values = np.array([[0.1, 0.75, 0.3], [0.5, 0.2, 0.0]])
    assert str(findings.highest_scores(0 * values, "induction")).endswith(f"query token: 0 in all {values.size} heads.")
    found = findings.highest_scores(values, "duplicate")
    assert str(found) == (
        "Mean weight on earlier occurrences of the query token, of 6 heads; the highest: 0.1 0.75, 1.0 0.50, 0.2 0.30."
    )


def test_losses_of_new_and_of_repeated_tokens():
    whole, cut = planted(), planted(3)
    found = findings.copy_losses(whole, cut, [(1, 2), (0, 0)], copies=True)
    for run, new, again in ((whole, found.new, found.repeated), (cut, found.new_ablated, found.repeated_ablated)):
        losses = run.losses.tolist()
        assert new == pytest.approx((losses[0] + losses[1]) / 2)
        assert again == pytest.approx(sum(losses[3:]) / 3)
    written = replace(found, new=5.0, repeated=0.25, new_ablated=5.5, repeated_ablated=4.0)
    assert str(written) == (
        "Loss of each token: 5.00 nats on the first copy by the whole model; on the second copy 0.25 nats by the whole "
        "model; without 0.0, 1.2 4.00."
    )
    assert written.metrics == [("first copy", "5.50", "+0.50 nats"), ("second copy", "4.00", "+3.75 nats")]
    plain = findings.copy_losses(whole, None, [], copies=False)
    assert str(plain).endswith("by the whole model; nothing is ablated.")
    assert [(name, change) for name, _, change in plain.metrics] == [("new tokens", None), ("repeated tokens", None)]
    nothing = findings.copy_losses(replace(whole, repeated=np.zeros(6, bool)), None, [], copies=False)
    assert str(nothing).endswith("no two tokens come again in the same order, so there is nothing to copy.")
    assert nothing.metrics[1] == ("repeated tokens", None, None)


def two_layers() -> HeadTests:
    """Of two layers of two heads."""
    prefix, copied = np.array([[0.9, 0.2], [0.5, 0.75]]), np.array([[0.1, 0.8], [-0.5, 0.25]])
    first, rank = np.array([[0.0, 0.0], [0.875, 0.125]]), np.array([[13.0, 12.0], [1.5, 9.25]])
    return HeadTests(prefix, copied, prefix, first, rank)


def test_the_heads_by_rank():
    found = circuit.rank_of_head(two_layers(), [(1, 0), (1, 1)], 25)
    assert (found.head, found.prefix_first, found.copying_first, found.copying_rank) == ((1, 1), 0.75, 0.125, 9.25)
    assert (found.copies, found.copies_first, found.copies_rank) == ((1, 0), 0.875, 1.5)
    assert str(found) == (
        "By rank: head 1.1 has its largest weight on the right token at 75% of the queries, and raises the logit of "
        "the token it attends to most of all 25 in 12% of the cases (mean rank 9.2, by chance 13). Of the induction "
        "heads, 1.0 copies best by rank: 88%, mean rank 1.5."
    )
    assert str(circuit.rank_of_head(two_layers(), [(1, 1)], 25)).endswith("by chance 13).")
    assert circuit.rank_of_head(two_layers(), [], 25) is None
    result = two_layers()
    for rank, copies in ((8.75, (1, 0)), (8.8, (1, 1))):  # half a rank nearer, and less
        result.copying_rank[1, 0] = rank
        assert circuit.rank_of_head(result, [(1, 0), (1, 1)], 25).copies == copies


def test_the_best_head_of_both_tests():
    result = two_layers()
    found = circuit.best_induction_head(result, [(1, 0), (1, 1)], 25)
    assert (found.head, found.prefix, found.copying) == ((1, 1), 0.75, 0.25)
    assert str(found) == (
        "Prefix matching and copying scores of 4 heads, 25 random tokens, 10 examples: head 1.1 scores 0.75 in prefix "
        "matching and 0.25 in copying."
    )
    none = circuit.best_induction_head(result, [], 25)
    assert none == circuit.BestInductionHead(4, 25, 10, None, 0.0, 0.0)
    assert str(none).endswith("no head of this model is an induction head.")


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
    assert "nothing but repeated random tokens" in training_note("induction")
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
