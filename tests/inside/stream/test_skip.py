"""Skipped layers are edits one by one, and a stream that runs past what is skipped."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.measures.interventions import effect
from tfcore.views.inside.stream.measure.skip import Skips, all_skips, skip_each, skip_edits, skip_name, skips
from tfcore.views.inside.stream.say.skip import loss_increases

TEXT = small.ids(1, 9)[0].tolist()

TITLES = ["attention 0", "feed-forward 0", "block 0"]


def test_skips_are_edits_one_by_one():
    model = small.model()
    layers = list(skip_each(model, TEXT))
    found = all_skips(model.config, layers)
    part = all_skips(model.config, layers[1:])
    assert np.isnan(part.loss_increase[:3]).all()
    np.testing.assert_array_equal(part.loss_increase[3:], found.loss_increase[3:])
    a, m = "blocks.{}.attn_out", "blocks.{}.mlp_out"
    assert found.skipped == tuple(
        names for i in range(2) for names in ((a.format(i),), (m.format(i),), (a.format(i), m.format(i)))
    )
    for row, names in enumerate(found.skipped):
        one = effect(model, TEXT, skip_edits(names), 6)
        np.testing.assert_allclose(found.loss_increase[row], one.losses_after - one.losses_before, atol=1e-5)
    assert skips(small.config(d_ff=0)) == (("blocks.0.attn_out",), ("blocks.1.attn_out",))


def test_a_block_left_out_is_a_stream_that_runs_past_it():
    model, name = small.model(), "blocks.1.resid_pre"
    before = model(torch.tensor([TEXT]), capture=(name,)).activations[name]
    after = model.decoder.ln_final(before) @ model.embed.weight.T
    found = effect(model, TEXT, skip_edits(("blocks.1.attn_out", "blocks.1.mlp_out")), 8)
    np.testing.assert_allclose(found.after, after[0, 8].softmax(-1), atol=1e-6)


def test_the_skip_that_costs_most():
    rng = np.random.default_rng(1)
    names = (("blocks.0.attn_out",), ("blocks.0.mlp_out",), ("blocks.0.attn_out", "blocks.0.mlp_out"))
    increase = rng.normal(size=(3, 7))
    increase[1] += 3
    found = loss_increases(Skips(names, increase), 2, TITLES).values
    means = [sum(row) / 7 for row in increase.tolist()]
    assert (found["worst"], found["worst_mean"]) == ("feed-forward 0", pytest.approx(max(means)))
    assert (found["chosen"], found["chosen_mean"]) == ("block 0", pytest.approx(means[2]))
    assert (found["raised"], found["tokens"]) == (sum(value > 1 for value in increase[2].tolist()), 7)
    assert [skip_name(small.config(), one) for one in names] == TITLES
    increase[:] = [[0.5] * 7, [0.25] * 7, [2.0, -1, 2, 1, 1, 1, 1]]
    assert str(loss_increases(Skips(names, increase), 0, TITLES)) == (
        "Largest mean on this text: block 0, +1.00 nats per token; attention 0: +0.50; tokens whose loss rises by more "
        "than 1 nat with it: 0 of 7."
    )
    assert loss_increases(Skips(names, increase), 2, TITLES).values["raised"] == 2, "by more than 1 nat"


def test_what_is_not_measured_yet_is_said():
    increase = np.array([[0.5, 0.5], [np.nan, np.nan], [1.0, 2.0]])
    names = (("blocks.0.attn_out",), ("blocks.0.mlp_out",), ("blocks.1.attn_out",))
    titles = ["attention 0", "feed-forward 0", "attention 1"]
    assert str(loss_increases(Skips(names, increase), 1, titles)) == (
        "Largest mean on this text until now: attention 1, +1.50 nats per token; feed-forward 0 is not measured yet."
    )
    assert "attention 0: +0.50" in str(loss_increases(Skips(names, increase), 0, titles))
