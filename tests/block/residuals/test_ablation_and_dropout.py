"""Every set of sublayers left out, against edits of the model one by one; dropout against torch's own module."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests import small
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.inspection.edits import Edit
from tfcore.views.block.residuals.measure.ablation import (
    SubsetLosses,
    continue_without,
    every_subset,
    single_rises,
    sublayer_outputs,
)
from tfcore.views.block.residuals.measure.dropout import DropoutDraws, draw_dropout, dropout, two_passes
from tfcore.views.block.residuals.say import (
    ChosenSubset,
    TwoPasses,
    chosen_subset,
    dropout_count,
    dropout_means,
    single_ablations,
)

TEXT = small.ids(1, 9)[0].tolist()


def test_every_subset_is_the_model_with_these_sublayers_set_to_zero():
    model = small.model()
    result, every = every_subset(model, TEXT), sublayer_outputs(2)
    assert every == ["blocks.0.attn_out", "blocks.0.mlp_out", "blocks.1.attn_out", "blocks.1.mlp_out"]
    for size in range(5):
        for without in itertools.combinations(range(4), size):
            logits = model(torch.tensor([TEXT]), edits=[Edit.zero(every[s]) for s in without]).logits[0, :-1]
            expected = F.cross_entropy(logits, torch.tensor(TEXT[1:]), reduction="none")
            row = result.row(without)
            assert result.removed[row] == size
            np.testing.assert_allclose(result.losses[row], expected.numpy(), atol=2e-5)


def test_counts_are_binomial():
    result = every_subset(small.model(), TEXT)
    assert np.bincount(result.removed).tolist() == [1, 4, 6, 4, 1]


def test_the_whole_model_goes_on_as_generate_does():
    model = small.model()
    assert continue_without(model, TEXT, (), 12) == generate(model, TEXT, Sampling(temperature=0), max_new_tokens=12)


def test_without_sublayers_it_goes_on_as_without_a_cache():
    model, without = small.model(), (0, 3)
    edits = [Edit.zero(sublayer_outputs(2)[s]) for s in without]
    text = list(TEXT)
    for _ in range(5):
        text.append(int(model(torch.tensor([text]), edits=edits).logits[0, -1].argmax()))
    assert continue_without(model, TEXT, without, 5) == text[len(TEXT) :]


def test_a_full_context_is_not_exceeded():
    model = small.model()
    assert len(continue_without(model, small.ids(1, 30)[0].tolist(), (1,), 12)) == 2


def test_too_little_text_and_other_kinds_of_models_are_refused():
    with pytest.raises(ValueError, match="at least two"):
        every_subset(small.model(), [3])
    assert every_subset(small.model(), [3, 4]).losses.shape == (16, 1)
    for other in ({"norm_placement": "post"}, {"positions": "alibi"}, {"parallel": True}):
        with pytest.raises(ValueError, match="pre-norm"):
            every_subset(small.model(**other), TEXT)


def test_the_rise_of_one_sublayer_is_that_of_running_without_it():
    model, targets = small.model(), torch.tensor(TEXT[1:])
    losses = [
        float(F.cross_entropy(model(torch.tensor([TEXT]), edits=edits).logits[0, :-1], targets))
        for edits in ([], *([Edit.zero(name)] for name in sublayer_outputs(2)))
    ]
    assert single_rises(every_subset(model, TEXT)) == pytest.approx([loss - losses[0] for loss in losses[1:]], abs=1e-4)


X = torch.randn(20_000, generator=torch.Generator().manual_seed(1))


def draw(p, training=True, seed=0, x=X):
    return dropout(x, p, training, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_mask_and_factor(p):
    after = draw(p)
    kept = after != 0
    torch.testing.assert_close(after[kept], X[kept] / (1 - p))
    assert float((~kept).float().mean()) == pytest.approx(p, abs=0.015)
    module = torch.nn.Dropout(p)(X)
    assert float((module == 0).float().mean()) == pytest.approx(float((~kept).float().mean()), abs=0.02)
    torch.testing.assert_close(module[module != 0], X[module != 0] / (1 - p))


def test_nothing_happens_at_inference_or_at_zero():
    assert torch.equal(draw(0.5, training=False), X)
    assert torch.equal(draw(0.0), X)
    assert torch.equal(draw(0.5, training=False), torch.nn.Dropout(0.5).eval()(X))


def test_the_mean_is_preserved_with_the_spread_that_theory_gives():
    result = draw_dropout(small.model(), TEXT, "blocks.1.mlp_out", 0.4, True, 0)
    assert result.means.mean() == pytest.approx(result.mean, abs=4 * result.spread / np.sqrt(len(result.means)))
    assert result.means.std() == pytest.approx(result.spread, rel=0.06)
    assert result.spread == pytest.approx(np.sqrt(0.4 / 0.6 * (result.before**2).mean() / len(result.before)))
    np.testing.assert_allclose(result.after[result.kept], result.before[result.kept] / 0.6, rtol=1e-6)


def test_inference_leaves_the_activation_alone():
    result = draw_dropout(small.model(), TEXT, "blocks.1.mlp_out", 0.4, False, 0)
    name = "blocks.1.mlp_out"
    np.testing.assert_array_equal(result.before, small.model().activations(torch.tensor([TEXT]), name)[name][0, -1])
    assert np.array_equal(result.before, result.after)
    assert result.kept.all()
    assert result.spread == 0
    np.testing.assert_allclose(result.means, result.mean, atol=1e-6)


def test_two_passes_differ_in_training_only_and_leave_the_global_generator_alone():
    state = torch.get_rng_state()
    assert two_passes(0.3, True) > 0.01
    assert two_passes(0.3, False) == 0.0
    assert two_passes(0.0, True) == 0.0
    assert torch.equal(torch.get_rng_state(), state)


def random_losses(seed=0):
    """Two blocks: 16 sets of 4 sublayers."""
    removed = np.array([4 - bin(row).count("1") for row in range(16)])
    return SubsetLosses(np.random.default_rng(seed).random((16, 7)), removed)


@pytest.mark.parametrize("without", [(), (2,), (0, 3)])
def test_the_chosen_set_is_found_by_its_sublayers(without):
    losses = random_losses()
    found = chosen_subset(losses, without)
    row = sum(2**s for s in range(4) if s not in without)
    assert found.loss == pytest.approx(losses.losses[row].sum() / 7)
    assert found.whole == pytest.approx(losses.losses[15].sum() / 7)
    for size in (1, 2, 4):
        sets = [losses.losses[r].sum() / 7 for r in range(16) if bin(r).count("1") == 4 - size]
        assert found.means[size] == pytest.approx(sum(sets) / len(sets))
    assert (found.sets, found.tokens, sorted(found.means)) == (16, 8, [1, 2, 4])
    assert found.without == tuple(
        ("attention 0", "feed-forward 0", "attention 1", "feed-forward 1")[s] for s in without
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_least_and_the_most_of_single_sublayers(seed):
    losses = random_losses(seed)
    names = ("attention 0", "feed-forward 0", "attention 1", "feed-forward 1")
    whole = losses.losses[15].sum() / 7
    rises = {name: losses.losses[15 - 2**s].sum() / 7 - whole for s, name in enumerate(names)}
    found = single_ablations(losses)
    assert found.values == {
        "least": min(rises, key=rises.get),
        "least_rise": pytest.approx(min(rises.values())),
        "most": max(rises, key=rises.get),
        "most_rise": pytest.approx(max(rises.values())),
    }


def test_what_is_said_of_sets():
    found = ChosenSubset(256, 40, ("attention 2", "feed-forward 2"), 2.5, 2.0, {1: 2.25, 2: 3.0, 8: 9.0})
    assert str(found) == (
        "All 2^8 = 256 ways to leave out sublayers, on 40 tokens. Without attention 2, feed-forward 2: 2.50 nats, "
        "whole model 2.00; mean with 1, 2, 8 left out: 2.25, 3.00, 9.00."
    )
    assert (found.whole_loss, found.chosen_loss, found.increase) == ("2.00", "2.50", "+0.50")
    assert ChosenSubset(256, 40, (), 2.0, 2.0, {}).words == "with nothing left out"


def test_what_is_said_of_single_sublayers():
    losses = np.full((16, 1), 9.0)
    for kept, loss in ((0b1111, 2.0), (0b1110, 8.071), (0b1101, 2.5), (0b1011, 1.99), (0b0111, 2.0)):
        losses[kept] = loss
    assert str(single_ablations(SubsetLosses(losses, random_losses().removed))) == (
        "Loss increase on this text when one sublayer alone is left out: from -0.01 (attention 1) to +6.07 nats "
        "(attention 0)."
    )


def test_dropped_numbers_and_means_are_counted_one_by_one():
    kept = np.array([True, False, True, True, False])
    means = np.array([0.1, 0.2, 0.6])
    draws = DropoutDraws(np.ones(5), kept * 2.0, kept, 0.25, means, 0.125)
    count = dropout_count(draws, 0.75, True, 1, "stories").values
    assert (count["numbers"], count["dropped"], count["kept"], count["factor"]) == (5, 2, 3, 4.0)
    assert dropout_count(draws, 0.75, False, 1, "stories").values["factor"] == 1.0
    mean = sum(means) / 3
    assert dropout_means(draws).values == {
        "draws": 3,
        "measured": pytest.approx(mean),
        "before": 0.25,
        "spread": pytest.approx((sum((m - mean) ** 2 for m in means) / 3) ** 0.5),
        "theory": 0.125,
    }


def test_what_is_said_of_dropout():
    kept = np.arange(192) >= 57
    means = np.full(4_000, 0.0123456)
    draws = DropoutDraws(np.ones(192), kept / 0.7, kept, 0.012, means, 0.031)
    assert str(dropout_count(draws, 0.3, True, 1, "stories")) == (
        "What feed-forward layer 1 of stories adds for the last token of a text, 192 numbers: 57 dropped, 135 "
        "multiplied by 1.43."
    )
    assert str(dropout_means(draws)) == (
        "4,000 draws: their means average 0.01235 (before: 0.01200), with standard deviation 0.00000; theory says "
        "0.03100."
    )
    assert str(TwoPasses(1.234)) == "Two passes differ by up to 1.2: dropout is on."
    assert str(TwoPasses(0.0)) == "Two passes differ by up to 0.0: equal to the last bit."
