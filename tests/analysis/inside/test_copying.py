"""Texts that repeat, against loops and against the definitions of TransformerLens's head detector."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests import small
from tfcore.analysis.foundations import heads
from tfcore.analysis.inside.induction_heads import ablate_each_head, copying, foreseeable, random_rows, ranked, twice
from tfcore.inspection.edits import Edit


def subject(**values):
    return small.model(**({"max_seq_len": 40} | values))


def detector(pattern, ids, kind):
    """TransformerLens 2, head_detector.py, error_measure "mul": the share of a head's attention on such places."""
    n, on, total = len(ids), 0.0, 0.0
    for q in range(n):
        for k in range(q + 1):
            total += pattern[q, k]
            wanted = {
                "previous token": k == q - 1,
                "duplicate": k != q and ids[k] == ids[q],
                "induction": k >= 1 and k - 1 != q and ids[k - 1] == ids[q],
            }[kind]
            on += pattern[q, k] * wanted
    return on / total


@pytest.mark.parametrize(
    ("kind", "having"), [("previous token", 1), ("duplicate", None), ("induction", None)], ids=lambda v: str(v)
)
def test_scores_are_the_detectors_per_query_that_has_something_to_find(kind, having):
    once = random_rows(61, 11, 1, 3)
    ids = twice(once)
    found = copying(subject(), ids, 11)
    n = ids.shape[1]
    queries = n - 1 if having else 11  # that have a token before, or an earlier occurrence
    for layer, head in ((0, 0), (1, 4)):
        share = detector(found.patterns[layer, head], ids[0].tolist(), kind)
        assert found.scores[kind][layer, head] * queries / n == pytest.approx(share, abs=1e-6)


def test_scores_are_those_of_the_standard_test_of_heads():
    model = subject()
    rows = random_rows(61, 9, 4, 5)
    found, standard = copying(model, twice(rows), 9), heads.repeated_tokens(model, 5, 9, 4, distinct=True)
    np.testing.assert_allclose(found.scores["induction"], standard.induction, atol=1e-6)
    np.testing.assert_allclose(found.scores["previous token"], standard.previous, atol=1e-6)
    assert found.first_loss == pytest.approx(standard.first_loss, abs=1e-5)
    assert found.second_loss == pytest.approx(standard.second_loss, abs=1e-5)


def test_heads_off_are_the_model_without_what_they_write():
    model, ids = subject(n_kv_heads=3), twice(random_rows(61, 8, 3, 0))
    off = [(0, 2), (1, 5)]
    found = copying(model, ids, 8, off)
    w_out = [block.attn.out.weight.clone() for block in model.decoder.blocks]
    try:  # the same by hand: the columns of W_O that belong to these heads, set to 0
        for layer, head in off:
            model.decoder.blocks[layer].attn.out.weight[:, 4 * head : 4 * head + 4] = 0
        logits = model(ids).logits
    finally:
        for block, weight in zip(model.decoder.blocks, w_out, strict=True):
            block.attn.out.weight.copy_(weight)
    for i in range(15):
        loss = np.mean([float(F.cross_entropy(logits[row, i], ids[row, i + 1])) for row in range(3)])
        assert found.losses[i] == pytest.approx(loss, abs=1e-5)
    assert found.second_loss != pytest.approx(copying(model, ids, 8).second_loss, abs=1e-4)


def test_what_can_be_foreseen():
    ids = np.array([7, 1, 2, 3, 1, 2, 4, 1, 2, 9])
    naive = [any(ids[j] == ids[i] and ids[j + 1] == ids[i + 1] for j in range(i)) for i in range(9)]
    assert foreseeable(ids).tolist() == naive
    assert naive == [False] * 4 + [True] + [False] * 2 + [True, False]


def test_a_text_as_it_is_and_one_without_repetition():
    found = copying(subject(), torch.tensor([[7, 1, 2, 3, 1, 2, 4]]))
    assert found.repeated.tolist() == [False] * 4 + [True, False]
    assert (found.new ^ found.repeated).all()
    nothing = copying(subject(), torch.arange(9)[None])
    assert nothing.second_loss == 0
    assert not nothing.scores["induction"].any()


def test_the_step_between_the_copies_is_neither():
    found = copying(subject(), twice(random_rows(61, 6, 2, 0)), 6)
    assert found.new.tolist() == [True] * 5 + [False] * 6
    assert found.repeated.tolist() == [False] * 6 + [True] * 5


def test_one_head_at_a_time():
    model, ids = subject(n_heads=2, d_model=16), twice(random_rows(61, 6, 1, 0))
    every = ablate_each_head(model, ids, 6)
    assert every.shape == (2, 2)
    assert every[1, 0] == pytest.approx(copying(model, ids, 6, [(1, 0)]).second_loss)
    assert ranked(every)[0] == np.unravel_index(every.argmax(), every.shape)


def test_other_changes_act_too():
    model, ids = subject(), twice(random_rows(61, 6, 1, 0))
    changed = copying(model, ids, 6, edits=[Edit.zero("blocks.0.attn.z", heads=[1])])
    assert changed.second_loss == pytest.approx(copying(model, ids, 6, [(0, 1)]).second_loss)


def test_too_little_and_other_models_are_refused():
    with pytest.raises(ValueError, match="two tokens"):
        copying(subject(), torch.tensor([[3]]))
    with pytest.raises(ValueError, match="decoder"):
        copying(subject(architecture="encoder"), torch.tensor([[3, 4]]))


def test_random_rows_hold_no_token_twice():
    rows = random_rows(20, 20, 3, 1)
    assert all(sorted(row) == list(range(20)) for row in rows.tolist())
    assert torch.equal(rows, random_rows(20, 20, 3, 1))
