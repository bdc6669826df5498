"""Activation patching against edits written out by hand, and as TransformerLens defines it."""

import numpy as np
import pytest
import torch

from tests import small
from tests.nightly import often, often_named
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import load
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.interventions import effect
from tfcore.measures.lenses import unembedding
from tfcore.part_configs import ExpertsConfig
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.views.inside.interventions.measure.patching import (
    PromptPair,
    all_shares,
    estimate_patches,
    groups,
    known_shares,
    pair,
    patch,
    patch_each,
    patched_names,
    patched_title,
    source_values,
)
from tfcore.views.inside.interventions.say import estimated_shares, patched_shares, where_it_is

TEXT = small.ids(1, 9)[0].tolist()
OTHER = [*TEXT[:3], (TEXT[3] + 1) % 61, *TEXT[4:6], (TEXT[6] + 1) % 61, *TEXT[7:]]


def logits(model, ids, *edits):
    return model(torch.tensor([list(ids)]), edits=edits).logits[0]


MODELS = {
    **small.WIRINGS,
    "a hybrid": small.HYBRID,
    "grouped, windowed": {"n_kv_heads": 2, "window": 4},
    "learned positions, alibi-free": {"positions": "relative"},
    "experts with a capacity": {"experts": ExpertsConfig(n_experts=4, capacity_factor=0.5)},
}


def shares_of(model, both, kind):
    return all_shares(list(patch_each(model, both, kind)), len(both.target))


@pytest.mark.usefixtures("unchecked")  # so many runs
@pytest.mark.parametrize("values", often_named(MODELS, "like GPT-2", "grouped, windowed"))
@pytest.mark.parametrize("kind", ["residual", "attention", "feed-forward"])
def test_every_patch_is_one_of_a_loop_over_positions(kind, values):
    """As get_act_patch_resid_pre, _attn_out and _mlp_out of TransformerLens: run the corrupted text, at one position
    put in the clean run's activation, and measure the logit difference on the scale from corrupted to clean."""
    model = small.model(**values)
    if not patched_names(model.config, kind):
        return
    both = pair(model, TEXT, OTHER)
    shares = shares_of(model, both, kind)
    assert not shares[:, :3].any()
    assert both.differing == (3, 6)
    clean, corrupted = (logits(model, ids)[-1] for ids in (TEXT, OTHER))
    lead = clean.softmax(-1) - corrupted.softmax(-1)
    assert both.answers == (int(lead.argmax()), int(lead.argmin()))
    mine, theirs = both.answers
    for row, name in zip(shares, patched_names(model.config, kind), strict=True):
        cache = model(torch.tensor([TEXT]), capture=(name,)).activations[name]
        for position in range(9):
            edit = Edit.replace(name, cache[:, position : position + 1], positions=[position])
            patched = logits(model, OTHER, edit)[-1]
            base = float(corrupted[mine] - corrupted[theirs])
            whole = float(clean[mine] - clean[theirs])
            share = (float(patched[mine] - patched[theirs]) - base) / (whole - base)
            assert row[position] == pytest.approx(share, abs=1e-4, rel=1e-4)
    found = effect(model, OTHER, [patch(source_values(model, both, name), name, 8)], 8)
    np.testing.assert_allclose(found.after, patched.softmax(-1), atol=1e-6)


def test_what_is_patched():
    config = small.config()
    assert patched_names(config, "residual") == ("blocks.0.resid_pre", "blocks.1.resid_pre", "blocks.1.resid_post")
    assert patched_names(config, "attention") == ("blocks.0.attn_out", "blocks.1.attn_out")
    assert patched_names(config, "feed-forward") == ("blocks.0.mlp_out", "blocks.1.mlp_out")


def test_patching_explains_who_sam_is():
    """The default example: the difference is at the word "boy" until attention 2 carries it to the last token."""
    model, tokenizer = load("stories", device="cpu")
    source, target = (
        tokenizer.encode(f"There was a little {child}. One day, Sam said that") for child in ("girl", "boy")
    )
    both = pair(model, source, target)
    assert tokenizer.tokens(list(both.answers)) == [" she", " he"]
    assert both.differing == (4,)
    stream = shares_of(model, both, "residual")
    assert stream[:3, 4].min() > 0.9
    assert stream[3:, 4].max() < 0.1
    assert stream[:3, -1].max() < 0.1
    assert stream[3:, -1].min() > 0.85
    attention = shares_of(model, both, "attention")
    assert attention[:, -1].argmax() == 2
    assert attention[2, -1] > 0.8


@pytest.mark.parametrize("kind", ["residual", "attention", "feed-forward"])
@pytest.mark.parametrize("answers", often([(7, 30), (7, 7)], [(7, 30)]))
def test_an_estimate_is_the_slope_of_a_small_step_towards_the_patch(kind, answers):
    """A thousandth of the way to the source's value changes what is measured by a thousandth of the estimate."""
    model, step = small.model().double(), 1e-3
    both = pair(model, TEXT, OTHER, answers)
    found = estimate_patches(model, both, kind)

    def value(*edits):
        last = logits(model, OTHER, *edits)[-1]
        return float(last.log_softmax(-1)[7] if answers[0] == answers[1] else last[7] - last[30])

    for row, name in zip(found, patched_names(model.config, kind), strict=True):
        clean, own = (model(torch.tensor([ids]), capture=(name,)).activations[name] for ids in (TEXT, OTHER))
        for at in range(9):
            there, back = (
                value(Edit.add(name, sign * step * (clean - own)[:, at : at + 1], positions=[at])) for sign in (1, -1)
            )
            slope = (there - back) / (2 * step) / (both.difference[0] - both.difference[1])
            assert row[at] == pytest.approx(slope, rel=1e-3, abs=1e-4)
    assert not any(p.requires_grad or p.grad is not None for p in model.parameters())


def test_estimates_are_compared_with_exact_shares():
    both = PromptPair((1, 2, 3), (1, 5, 6), (7, 8), (1.0, 0.0), (1, 2))
    estimate = np.array([[0.0, 0.4, 0.1], [0.0, 0.2, 0.9]])
    exact = np.array([[0.0, 1.0, 0.1], [0.0, 0.1, 0.8]])
    said = estimated_shares(both, estimate, exact, ["attention 0", "attention 1"], ["a", "b", "c"])
    assert said.values["correlation"] == pytest.approx(np.corrcoef([0.4, 0.1, 0.2, 0.9], [1.0, 0.1, 0.1, 0.8])[0, 1])
    assert "farthest off for attention 0 at 'b' (1): 0.40, exactly 1.00" in str(said)
    assert "Correlation" not in str(estimated_shares(both, 0 * estimate, exact, ["x", "y"], ["a", "b", "c"]))


def test_longer_texts_are_patched_in_groups(monkeypatch):
    """Whatever the size of the groups, and whichever positions are known already."""
    model, text = small.model(), small.ids(1, 21)[0].tolist()
    both = pair(model, text, [*text[:4], 5, *text[5:]], answers=(7, 30))
    assert both.answers == (7, 30)
    columns = list(patch_each(model, both, "residual"))
    assert [one.start for one in columns] == [*range(20, 3, -2), 0]
    part = all_shares(columns[:5], 21)
    assert np.isnan(part[:, :12]).all()
    whole = all_shares(columns, 21)
    merged = known_shares(columns[:5], np.full((len(whole), 21), 7.0))
    np.testing.assert_array_equal(merged[:, 12:], whole[:, 12:])
    assert (merged[:, :12] == 7).all()
    assert (known_shares([], merged) == merged).all()
    np.testing.assert_array_equal(part[:, 12:], whole[:, 12:])
    monkeypatch.setattr("tfcore.views.inside.interventions.measure.patching.TOGETHER", 3)
    np.testing.assert_allclose(shares_of(model, both, "residual"), whole, atol=1e-5)


@pytest.mark.parametrize("first", [0, 1, 8])
def test_as_many_results_as_are_foretold(first):
    """Before the first position that differs there is one of zeros, if there is any position before it."""
    model = small.model()
    both = pair(model, TEXT, [*TEXT[:first], *[(token + 1) % 61 for token in TEXT[first:]]])
    columns = list(patch_each(model, both, "attention"))
    assert len(columns) == groups(model.config, both)
    assert sorted(one.start + i for one in columns for i in range(one.shares.shape[1])) == list(range(9))


def test_answers_that_do_not_tell_the_texts_apart_are_refused():
    model = small.model()
    torch.nn.init.zeros_(unembedding(model))
    for answers in ((7, 7), (7, 8)):
        with pytest.raises(ValueError, match="the same on both texts"):
            pair(model, TEXT, OTHER, answers=answers)


def test_a_patch_is_measured_on_the_log_probability_of_one_token():
    model = small.model()
    both = pair(model, OTHER, TEXT, answers=(7, 7))
    assert both.quantity == Quantity("prediction", 7)

    def chance(ids, *edits):
        return float(model(torch.tensor([ids]), edits=edits).logits[0, -1].log_softmax(-1)[7])

    source, target = chance(OTHER), chance(TEXT)
    assert both.difference == pytest.approx((source, target), abs=1e-5)
    at = both.differing[0]
    value = model(torch.tensor([OTHER]), capture=["blocks.1.resid_pre"]).activations["blocks.1.resid_pre"]
    now = chance(TEXT, Edit.replace("blocks.1.resid_pre", value[0, at], positions=[at]))
    found = shares_of(model, both, "residual")
    assert found[1, at] == pytest.approx((now - target) / (source - target), abs=1e-3)
    names = NamedTokenizer([f"x{i}" for i in range(64)])
    said = str(patched_shares(both, found, [str(row) for row in range(len(found))], names.tokens(both.target), names))
    assert said.startswith("0: as in this text, 1: as in the source text, by the log-probability of 'x7', which goes ")


@pytest.mark.parametrize(("source", "message"), [(TEXT, "the same"), (TEXT[:5], "5 and 9 tokens")])
def test_pairs_that_cannot_be_patched_are_refused(source, message):
    with pytest.raises(ValueError, match=message):
        pair(small.model(), source, TEXT)


def test_where_patching_the_last_position_brings_most():
    rows, tokens = ["before block 0", "before block 1", "after block 1"], ["a", " b", "c"]
    shares = np.array([[0.9, 0.1, 0.0], [0.2, 0.1, 0.7], [0.0, 0.0, 1.0]])
    assert where_it_is(shares, "residual", rows, tokens).values == {"row": "before block 1"}
    assert str(where_it_is(shares, "residual", rows, tokens)) == (
        "At the last position, where the prediction is read, it brings most from the row “before block 1” on."
    )
    never = where_it_is(shares[:, ::-1], "residual", rows, tokens)
    assert never.values == {"row": "before block 0"}
    never = where_it_is(shares[:1], "residual", rows[:1], tokens)
    assert str(never) == "At the last position, where the prediction is read, it never brings most."
    shares[1, 1] = 2.5
    found = where_it_is(shares, "attention", ["attention 0", "attention 1", "attention 2"], tokens)
    assert str(found) == "The largest share is that of attention 1 at '·b' (1): 2.50."


def test_the_peak_of_each_row_is_that_of_a_loop():
    shares = np.random.default_rng(2).normal(size=(3, 4))
    both = PromptPair((0, 1, 2, 3), (0, 1, 2, 4), (5, 6), (2.5, -1.25), (3,))
    letters = NamedTokenizer(list("abcdefgh"))
    found = patched_shares(both, shares, ["x", "y", "z"], letters.tokens(both.target), letters).values
    for name, row, peak in zip("xyz", shares.tolist(), found["peaks"].split("; "), strict=True):
        share, at = max((value, i) for i, value in enumerate(row))
        assert peak == f"{name}: {share:.2f} at '{'abce'[at]}' ({at})"
    assert (found["other"], found["own"]) == ("f", "g")
    tops = np.array([0.5, 1.0, 7.0, 5.0, 2.0, 9.0, 4.0])
    said = patched_shares(both, np.outer(tops, [0, 0, 1, 0]), list("tuvwxyz"), letters.tokens(both.target), letters)
    rows = [peak[0] for peak in said.values["peaks"].split("; ")]
    assert rows == ["t", "v", "w", "y", "z"], "the first, the last and the largest between, in their order"
    shares[:] = 0
    shares[0, 3], shares[1, 0], shares[2, 1] = 1, 0.5, 0.25
    assert str(patched_shares(both, shares, ["x", "y", "z"], letters.tokens(both.target), letters)) == (
        "0: this text's own prediction ('g'), 1: the source text's ('f'), measured by their logit difference, which "
        "goes from -1.25 to 2.50. Largest in a row: x: 1.00 at 'e' (3); y: 0.50 at 'a' (0); z: 0.25 at 'b' (1)."
    )
    assert patched_title(small.config(n_layers=4), "blocks.2.resid_pre", "residual") == "before block 2"
    assert patched_title(small.config(n_layers=4), "blocks.3.resid_post", "residual") == "after block 3"
    assert patched_title(small.config(n_layers=4), "blocks.1.mlp_out", "feed-forward") == "feed-forward 1"
