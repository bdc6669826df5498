"""Attribution patching against a loop of gradients written apart, and against exact knock-outs."""

import numpy as np
import pytest
import torch

from tests import small
from tests.nightly import nightly, often_named
from tests.real import real
from tfcore.inspection.edits import Edit
from tfcore.measures.attribution_patching import estimate_effects
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.interventions import parts_of
from tfcore.measures.knock_outs import all_effects, knock_out_each
from tfcore.norms import NoNorm
from tfcore.views.inside.interventions.say import estimate_against_exact

TEXT = small.ids(1, 9)[0].tolist()
DIFFERENCE = Quantity("difference", 7, 30)
QUANTITIES = [DIFFERENCE, Quantity("prediction", 7), Quantity("text")]


def exact(model, ids, quantity, action):
    return all_effects(list(knock_out_each(model, ids, quantity, action)), model.config.n_layers)


@pytest.mark.parametrize("values", often_named(small.WIRINGS, "like GPT-2", "sandwich"))
@pytest.mark.parametrize("action", ["zero", "mean"])
def test_it_is_the_slope_of_a_small_step_towards_the_ablation(values, action):
    """Scaling a part a thousandth of the way to its ablation moves the quantity by a thousandth of the estimate."""
    model, step = small.model(**values).double(), 1e-4
    kept = model(torch.tensor([TEXT]), capture=("blocks.*.attn.z", "blocks.*_out")).activations

    def difference(*edits):
        logits = model(torch.tensor([TEXT]), edits=edits).logits[0, -1]
        return float(logits[7] - logits[30])

    found = estimate_effects(model, TEXT, DIFFERENCE, action)
    for layer, parts in enumerate(parts_of(model.config)):
        for column, part in enumerate(parts):
            name = f"blocks.{layer}.{'attn.z' if part.is_head else 'mlp_out'}"
            heads = None if part.head == "ff" else [part.head]
            own = kept[name] if heads is None else kept[name][:, heads]
            end = own.mean(-2, keepdim=True) if action == "mean" else 0 * own
            moved = difference(Edit.add(name, step * (end - own), heads=heads))
            back = difference(Edit.add(name, -step * (end - own), heads=heads))
            assert found[layer, column] == pytest.approx((back - moved) / (2 * step), rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("action", ["zero", "mean"])
def test_it_is_exact_where_the_model_is_linear(action):
    """One layer of attention, and no final norm: logits are linear in what the heads write."""
    model = small.model(n_layers=1, d_ff=0)
    model.decoder.ln_final = NoNorm()  # type: ignore[assignment]
    found = estimate_effects(model, TEXT, DIFFERENCE, action)
    np.testing.assert_allclose(found, exact(model, TEXT, DIFFERENCE, action), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda one: one.kind)
def test_small_effects_are_estimated_well(quantity):
    """With little weight on each part the model is nearly linear in it, and estimates come near the exact effects."""
    model = small.model(init_std=0.1)
    found, known = estimate_effects(model, TEXT, quantity, "zero"), exact(model, TEXT, quantity, "zero")
    said = estimate_against_exact(found, known, parts_of(model.config), quantity.unit)
    assert said.values["every"] > 0.9
    assert said.values["same_sign"] >= 0.9 * said.values["counted"]


def test_a_text_of_one_token_has_no_loss_that_anything_could_change():
    found = estimate_effects(small.model(), TEXT[:1], Quantity("text"), "zero")
    np.testing.assert_array_equal(found, np.zeros_like(found))
    assert found.shape == (2, 7)


def test_nothing_stays_on_the_model():
    model = small.model()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with torch.no_grad():  # as the app calls it, from wherever
        one = estimate_effects(model, TEXT, DIFFERENCE, "zero")
    np.testing.assert_array_equal(one, estimate_effects(model, TEXT, DIFFERENCE, "zero"))
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert all(p.grad is None and not p.requires_grad for p in model.parameters())
    assert not any(module._forward_hooks or module._backward_hooks for module in model.modules())


def test_the_comparison_is_that_of_a_loop():
    parts = parts_of(small.config())
    rng = np.random.default_rng(3)
    known = rng.normal(size=(2, 7))
    estimate = known + rng.normal(size=(2, 7))
    estimate[1, 6] = known[1, 6] + 5
    said = estimate_against_exact(estimate, known, parts, "logits")
    found = said.values
    a, b = (values.ravel().tolist() for values in (estimate, known))
    mean_a, mean_b = sum(a) / 14, sum(b) / 14
    cross = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    spread = sum((x - mean_a) ** 2 for x in a) ** 0.5 * sum((y - mean_b) ** 2 for y in b) ** 0.5
    assert found["every"] == pytest.approx(cross / spread)
    heads = [(a[i], b[i]) for i in range(14) if i not in (6, 13)]
    assert found["heads"] == pytest.approx(np.corrcoef([x for x, _ in heads], [y for _, y in heads])[0, 1])
    counted = [(x, y) for x, y in zip(a, b, strict=True) if abs(y) >= max(map(abs, b)) / 10]
    assert (found["counted"], found["same_sign"]) == (len(counted), sum(x * y > 0 for x, y in counted))
    assert (found["part"], found["estimate"], found["exact"]) == ("feed-forward 1", a[13], b[13])
    assert "Farthest off: feed-forward 1" in str(said)
    tenths = np.where(np.arange(14).reshape(2, 7) == 3, -1.0, 0.1)
    found = estimate_against_exact(abs(tenths), tenths, parts, "logits").values
    assert (found["least"], found["counted"], found["same_sign"]) == (0.1, 14, 13), "a tenth of the largest counts"
    nothing = estimate_against_exact(0 * estimate, known, parts, "nats")
    assert nothing.values["every"] is None
    assert str(nothing).startswith("Of the ")


@nightly
def test_smollm2_has_the_effects_of_full_runs_and_estimates_near_them(real_models):
    """The example of Mary and John. A few of the 300 exact effects in a pass of their own; estimates over all heads, as
    three feed-forward layers are far from linear, see the page."""
    model, tokenizer = real("smollm2")
    ids = tokenizer.encode("When Mary and John went to the store, John gave a drink to")
    mary, john = (tokenizer.encode(name)[0] for name in (" Mary", " John"))
    quantity = Quantity("difference", mary, john)
    found, known = estimate_effects(model, ids, quantity, "zero"), exact(model, ids, quantity, "zero")
    said = estimate_against_exact(found, known, parts_of(model.config), quantity.unit)
    assert said.values["heads"] > 0.75
    assert found[:, :9].argmax() == known[:, :9].argmax() == 23 * 9 + 3

    def difference(*edits):
        logits = model(torch.tensor([ids]), edits=edits).logits[0, -1]
        return float(logits[mary] - logits[john])

    whole = difference()
    for layer, head in ((23, 3), (29, 1), (0, None), (11, None)):
        name = f"blocks.{layer}.{'mlp_out' if head is None else 'attn.z'}"
        without = difference(Edit.scale(name, 0.0, heads=None if head is None else [head]))
        assert known[layer, 9 if head is None else head] == pytest.approx(whole - without, abs=5e-4)
