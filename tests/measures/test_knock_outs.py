"""Knock-outs of every part against one full run each, on every wiring."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests import small
from tests.nightly import often_named
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import load
from tfcore.measures import effect_metric
from tfcore.measures.effect_metric import Quantity, measured, rival_name
from tfcore.measures.interventions import Part, parts_of
from tfcore.measures.knock_outs import LayerEffects, all_effects, knock_out_each, strongest_head, without_rounding
from tfcore.part_configs import ExpertsConfig
from tfcore.views.inside.interventions.say import filled_in, largest_effect
from tfcore.views.inside.scale_end import ScaleEnd, scale_end

TEXT = small.ids(1, 9)[0].tolist()
QUANTITIES = [Quantity("prediction", 7), Quantity("difference", 7, 30), Quantity("text")]
MODELS = {
    **small.WIRINGS,
    "grouped, windowed": {"n_kv_heads": 2, "window": 4},
    "alibi": {"positions": "alibi"},
    "post-norm": {"norm_placement": "post"},
    "a hybrid": small.HYBRID,
    "experts": {"experts": ExpertsConfig(n_experts=4)},
    "experts with a capacity": {"experts": ExpertsConfig(n_experts=4, capacity_factor=0.5)},
}


def value(model, quantity, *edits) -> float:
    """The quantity in a full run, written apart."""
    logits = model(torch.tensor([TEXT]), edits=edits).logits[0].double()
    if quantity.kind == "difference":
        return float(logits[-1, quantity.token] - logits[-1, quantity.against])
    if quantity.kind == "prediction":
        return float(logits[-1, quantity.token] - logits[-1].logsumexp(-1))
    return -float(F.cross_entropy(logits[:-1], torch.tensor(TEXT[1:])))


def alone(part, action) -> Edit:
    name = f"blocks.{part.layer}.{'attn.z' if part.is_head else {'ff': 'mlp_out', 'mix': 'attn_out'}[part.head]}"
    edit = Edit.zero if action == "zero" else Edit.mean
    return edit(name, heads=[part.head] if part.is_head else None)


@pytest.mark.usefixtures("unchecked")  # so many runs
@pytest.mark.parametrize("values", often_named(MODELS, "experts"))
def test_every_part_is_knocked_out_as_in_a_full_run(values):
    model = small.model(**values)
    every = parts_of(model.config)
    for quantity in QUANTITIES:
        for action in ("zero", "mean"):
            found = list(knock_out_each(model, TEXT, quantity, action))
            assert [one.layer for one in found] == [1, 0]
            whole = value(model, quantity)
            expected = [
                [np.nan if part is None else whole - value(model, quantity, alone(part, action)) for part in layer]
                for layer in every
            ]
            np.testing.assert_allclose(all_effects(found, 2), expected, atol=2e-5, rtol=1e-4)


def test_one_token_has_no_loss():
    model = small.model()
    assert not all_effects(list(knock_out_each(model, [3], Quantity("text"), "zero")), 2).any()
    hidden = model(torch.tensor([[3, 4]])).hidden
    assert measured(model, hidden, [3, 4], Quantity("text")).shape == (1,)


def test_a_model_without_a_language_head_is_refused():
    model = small.model(head="none")
    with pytest.raises(ValueError, match="no language head"):
        list(knock_out_each(model, TEXT, QUANTITIES[0], "zero"))


def test_layers_not_yet_measured_have_no_number():
    effects = all_effects([LayerEffects(2, np.ones(3, dtype=np.float32))], 4)
    assert np.isnan(effects[[0, 1, 3]]).all()
    assert (effects[2] == 1).all()


def test_the_largest_effect_is_that_of_a_loop():
    parts = parts_of(small.config())
    effects = np.random.default_rng(0).normal(size=(2, 7))
    effects[1, 6], effects[0, 2], effects[0, 5], effects[1, 0] = 4.125, 0.05, -9.0, np.nan
    found = largest_effect(effects, parts, "Zero ablation of each part alone", "log-probability of 'x'", "nats")
    rows = zip(effects.tolist(), parts, strict=True)
    named = [pair for row, own in rows for pair in zip(row, own, strict=True)]
    known = [(value, part) for value, part in named if value == value]
    small_ones = sum(abs(value) < 0.1 for value, _ in known)
    assert (found.values["effect"], found.values["part"]) == (4.125, "feed-forward 1")
    assert (found.values["lowest"], found.values["lowest_part"]) == (-9.0, "head 0.5")
    assert (found.values["small"], found.values["parts"]) == (small_ones, 13)
    assert str(found) == (
        "Zero ablation of each part alone: fall of the log-probability of 'x', in nats. Most: feed-forward 1, +4.12; "
        f"lowest: head 0.5, -9.00; {small_ones} of 13 change it by less than 0.1."
    )
    assert "lowest" not in str(largest_effect(np.abs(effects), parts, "x", "y", "logits"))


@pytest.mark.parametrize(
    ("exact", "said"),
    [
        (0, "All effects are estimates by attribution patching (arXiv:2310.10348), pale; exact ones are to come."),
        (7, "Exact in 7 of 30 layers; pale: estimates by attribution patching (arXiv:2310.10348)."),
        (30, "All effects are exact."),
    ],
)
def test_how_many_layers_are_exact_is_said(exact, said):
    assert str(filled_in(np.arange(90).reshape(30, 3) >= 3 * exact)) == said


def test_the_strongest_head_is_no_feedforward_layer():
    effects = np.zeros((2, 7))
    effects[1, 6], effects[0, 2], effects[1, 4] = 9.0, 3.0, -4.0
    assert strongest_head(effects, parts_of(small.config())) == Part(0, 2)


def test_effects_at_their_limits():
    """A tenth hardly matters no more, and a hundred thousandth is no rounding error yet."""
    assert without_rounding(np.array([1e-5, -1e-5, 9e-6, -9e-6])).tolist() == [1e-5, -1e-5, 0, 0]
    effects = np.zeros((2, 7))
    effects[:, 0], effects[1, 1] = (1.0, 0.1), -0.1
    said = str(largest_effect(effects, parts_of(small.config()), "x", "y", "nats"))
    assert said.endswith("Most: head 0.0, +1.00; lowest: head 1.1, -0.10; 11 of 14 change it by less than 0.1.")
    effects[1, 1] = -0.09
    assert "lowest" not in str(largest_effect(effects, parts_of(small.config()), "x", "y", "nats"))


@pytest.mark.parametrize(
    ("text", "rival"),
    [
        ("Lily and Tom went to the park. Lily gave the ball to", " Lily"),  # " Tom" is predicted
        ("Tom and Lily like to play. One day, Tom and", " Tom"),  # " Lily" is
        ("Sam saw a dog. Sam and", None),  # " the" is, which is no name
        ("Max ran. Max", None),  # one name alone
    ],
)
def test_the_other_name_of_a_text(text, rival):
    model, tokenizer = load("stories")
    found = rival_name(model, tokenizer.encode(text), tokenizer)
    assert (None if found is None else tokenizer.decode([found])) == rival


def test_values_beyond_the_scale_are_named():
    names = [["a", "b"], ["c", "d"]]
    assert scale_end(np.array([[1.0, -1.0], [np.nan, 1.0]]), names, 0.5) == ScaleEnd(1.0, ())
    assert scale_end(np.full((2, 2), -0.25), names, 0.5) == ScaleEnd(0.5, ())
    beyond = [(f"head 0.{i}", 9.0 - i) for i in range(6)]
    assert str(ScaleEnd(2.0, ())) == "Colours end at ±2.00, the largest value."
    assert str(ScaleEnd(2.0, tuple(beyond[:4]))) == (
        "Colours end at ±2.00; beyond, with a triangle: head 0.0 +9.00, head 0.1 +8.00, head 0.2 +7.00, head 0.3 +6.00."
    )
    assert str(ScaleEnd(2.0, tuple(beyond))).endswith("head 0.3 +6.00 and 2 more.")


def test_losses_come_out_alike_however_many_texts_are_read_together(monkeypatch):
    model = small.model()
    hidden = model(small.ids(5, 9)).hidden
    together = measured(model, hidden, TEXT, Quantity("text"))
    monkeypatch.setattr(effect_metric, "AT_ONCE", 1)
    torch.testing.assert_close(together, measured(model, hidden, TEXT, Quantity("text")))
