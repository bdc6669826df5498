"""Texts that repeat, and tests of heads, against loops and the definitions of TransformerLens's head detector."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests import small
from tests.foundations.heads.measure.test_kinds import wired
from tests.nightly import nightly
from tests.real import real
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import load
from tfcore.measures.heads import induction_heads as module
from tfcore.measures.heads import kinds
from tfcore.measures.heads.induction_heads import (
    ROWS,
    ROWS_OF_LARGE,
    Copying,
    ablate_each_head,
    copying,
    copying_ranks,
    copying_score,
    evaluate_heads,
    first_share,
    foreseeable,
    head_kinds,
    random_rows,
    ranked,
    rows_for,
    twice,
)
from tfcore.part_configs import LayerConfig, MixerConfig


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
    found, standard = copying(model, twice(rows), 9), kinds.repeated_tokens(model, 5, 9, 4, distinct=True)
    first = copying(model, twice(rows[:1]), 9)
    assert found.ids.tolist() == first.ids.tolist() == rows[0].tolist() * 2
    np.testing.assert_allclose(found.patterns, first.patterns, atol=1e-6)
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
    assert len(copying(subject(), torch.tensor([[3, 4]])).losses) == 1
    with pytest.raises(ValueError, match="decoder"):
        copying(subject(architecture="encoder"), torch.tensor([[3, 4]]))


def test_hybrids_are_refused_by_the_layer_that_has_no_heads():
    mixer, ids = MixerConfig(n_heads=3, decay="token"), torch.tensor([[3, 4, 3, 4]])
    for kinds_of_layers, words in (
        (("attention", "delta"), "layer 1 of this model has a state in the place of attention"),
        (("conv", "conv"), "layer 0 of this model has a short convolution in the place of attention"),
        (("delta", "delta"), "layer 0 of this model has a state in the place of attention"),
        (("attention+ssm", "attention"), "layer 0 of this model has a state beside attention"),
    ):
        hybrid = subject(layers=tuple(LayerConfig(mixer=one) for one in kinds_of_layers), mixer=mixer)
        with pytest.raises(ValueError, match=words):
            copying(hybrid, ids)
        induction = kinds.repeated_tokens(hybrid, rows=1).induction
        assert induction.any(1).tolist() == ["attention" in kind for kind in kinds_of_layers]


def test_random_rows_hold_no_token_twice():
    rows = random_rows(20, 20, 3, 1)
    assert all(sorted(row) == list(range(20)) for row in rows.tolist())
    assert torch.equal(rows, random_rows(20, 20, 3, 1))


def test_prefix_matching_is_the_weight_on_what_followed_earlier_copies():
    model = small.model(max_seq_len=32)  # room for 8 tokens, four times
    found = evaluate_heads(model, seed=4, examples=2)
    total, hits = [], []
    for row in random_rows(61, 8, 2, 4):
        ids = row.repeat(4)
        pattern = model(ids[None], capture=("blocks.1.attn.pattern",)).activations["blocks.1.attn.pattern"][0, 2]
        queries = range(8, 32)
        hits += [
            any(ids[k - 1] == ids[q] for k in [int(pattern[q].argmax())] if 0 < k <= q and k - 1 < q) for q in queries
        ]
        total += [  # from the second copy on, all earlier copies together
            sum(float(pattern[q, k]) for k in range(1, q + 1) if ids[k - 1] == ids[q] and k - 1 < q) for q in queries
        ]
    assert found.prefix[1, 2] == pytest.approx(np.mean(total), abs=1e-6)
    assert found.prefix_first[1, 2] == pytest.approx(np.mean(hits))


def test_copying_raises_the_logit_of_the_token_looked_at():
    model = small.model(n_kv_heads=3, tie_embeddings=False)
    model.decoder.ln_final.weight.copy_(torch.linspace(0.5, 1.5, 24))
    found = evaluate_heads(model, seed=1, examples=1)
    ids = random_rows(61, 8, 1, 1)
    layer, head = 1, 5
    attn, d = model.decoder.blocks[layer].attn, 4
    v = model(ids, capture=("blocks.1.attn.v",)).activations["blocks.1.attn.v"][0, head // 2]
    shares, ranks = [], []
    for i in range(8):
        written = attn.out.weight[:, head * d : (head + 1) * d] @ v[i] * model.decoder.ln_final.weight
        logits = model.unembed.weight @ written
        raised = (logits - logits.mean()).clamp(min=0)
        shares.append(float(raised[ids[0, i]] / raised[ids[0]].sum()))
        ranks.append(1 + sum(float(logits[other]) > float(logits[ids[0, i]]) for other in ids[0]))
    assert found.copying[layer, head] == pytest.approx(2 * np.mean(shares) - 1, abs=1e-5)
    assert found.copying_rank[layer, head] == pytest.approx(np.mean(ranks))
    assert found.copying_first[layer, head] == pytest.approx(ranks.count(1) / 8)


def test_the_ends_of_the_copying_score():
    own = torch.eye(5)[:, None].expand(5, 2, 5)
    assert copying_score(own).tolist() == pytest.approx([1, 1])
    assert copying_score(1 - own).tolist() == pytest.approx([-1, -1])
    assert copying_score(torch.ones(5, 1, 5)).tolist() == pytest.approx([2 / 5 - 1])
    assert copying_score(torch.zeros(5, 1, 5)).tolist() == [-1]


def test_ranks_count_the_tokens_that_are_raised_more():
    logits = torch.tensor([[3.0, 1.0, 2.0], [1.0, 5.0, 9.0], [1.0, 2.0, -4.0]])[:, None]  # (key, head, token)
    assert copying_ranks(logits).tolist() == [[1], [2], [3]]
    assert copying_ranks(-logits).tolist() == [[3], [2], [1]]


def test_the_first_share_counts_queries_with_a_target():
    pattern = np.array([[1.0, 0, 0], [0.4, 0.6, 0], [0.2, 0.5, 0.3]])[None, None]
    target = np.array([[False, False, False], [True, False, False], [False, True, False]])
    assert first_share(pattern, target).tolist() == [[0.5]]


def test_a_circuit_wired_by_hand_finds_and_copies():
    found = evaluate_heads(wired(), examples=2)
    assert found.prefix_first[1, 0] > 0.8
    assert found.copying_first[1, 0] == found.copying_rank[1, 0] == 1
    assert found.prefix[1, 0] > 0.8
    assert found.copying[1, 0] > 0.9
    assert found.prefix[0, 0] < 0.1


def test_the_kinds_of_heads_are_those_with_high_scores():
    """A loop over the scores of the same rows; the control heads are neither, and near the induction heads."""
    model, _ = load("stories")
    found = head_kinds(model)
    scores = copying(model, twice(random_rows(2048, 32, 8, 0)), 32).scores
    heads = [(layer, head) for layer in range(4) for head in range(6)]
    induction = {head for head in heads if scores["induction"][head] >= 1 / 3}
    assert set(found.induction) == induction == {(3, 0), (3, 2)}
    previous = {head for head in heads if scores["previous token"][head] >= 1 / 3 and head[0] < 3}
    assert set(found.previous) == previous
    assert scores["induction"][found.best] == found.score == max(scores["induction"].ravel())
    assert len(found.others) == 2
    assert all(head[0] == 3 and head not in induction | previous for head in found.others)


def test_a_large_model_is_measured_on_fewer_rows():
    """By the weights of its blocks, 12 d_model^2 each where d_ff is 4 d_model, and of its vocabulary."""
    assert rows_for(small.config()) == ROWS
    assert rows_for(small.config(d_model=516, n_layers=12, d_ff=2048)) == ROWS  # 38 million
    assert rows_for(small.config(d_model=576, n_layers=30, d_ff=1536)) == ROWS_OF_LARGE  # SmolLM2's shape
    assert rows_for(small.config(d_model=256, n_heads=32, n_layers=32, d_ff=704, vocab_size=151_936)) == ROWS_OF_LARGE


def planted(induction, previous):
    """What a model of heads with these scores does."""
    scores = {"induction": np.array(induction), "previous token": np.array(previous)}
    nothing = np.zeros(0, dtype=bool)
    return Copying(np.zeros(0, dtype=int), np.zeros((3, 2, 0, 0)), scores, np.zeros(0), nothing, nothing)


def test_a_third_is_enough_and_a_previous_token_head_lies_below_an_induction_head(monkeypatch):
    found = planted([[0, 0.3], [0, 0.2], [1 / 3, 0.1]], [[1 / 3, 0.3], [0.5, 0], [0, 0.9]])
    assert found.strong("induction") == [(2, 0)]
    assert found.strong("previous token") == [(2, 1), (1, 0), (0, 0)]
    monkeypatch.setattr(module, "copying_of_random_rows", lambda _: found)
    kinds = head_kinds(small.model())
    assert (kinds.induction, kinds.previous, kinds.best) == ([(2, 0)], [(1, 0), (0, 0)], (2, 0))
    assert kinds.others == [(2, 1)], "in the same layer"


def test_a_model_is_large_from_so_many_weights_on(monkeypatch):
    model = small.model(d_ff=40, activation="relu", n_layers=3)
    config, weights = model.config, sum(one.numel() for name, one in model.named_parameters() if "ln" not in name)
    monkeypatch.setattr(module, "LARGE", weights + 1)
    assert rows_for(config) == ROWS
    monkeypatch.setattr(module, "LARGE", weights)
    assert rows_for(config) == ROWS_OF_LARGE


def test_heads_are_tested_by_as_many_tokens_as_there_are():
    assert [module.tested_length(small.config(**one)) for one in ({}, {"max_seq_len": 99}, {"vocab_size": 7})] == [
        16,
        32,
        7,
    ]


@nightly
@pytest.mark.usefixtures("real_models")
def test_induction_heads_of_a_model_of_many_layers():
    model = real("smollm2")[0]
    found = head_kinds(model)
    scores = copying(model, twice(random_rows(49_152, 32, 2, 0)), 32).scores["induction"]
    assert scores[found.best] == scores.max() == pytest.approx(found.score)
    assert {layer for layer, _ in found.induction} <= set(range(17, 24))
    tests = evaluate_heads(model)
    assert tests.examples == 2
    assert tests.prefix[18, 6] > 0.9
    assert tests.copying_rank[18, 6] > 6 > 2 > tests.copying_rank[23, 2], "one finds the place, another copies"
    assert tests.copying[23, 2] < 0, "which the score does not show"
