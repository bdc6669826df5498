"""Input attribution against loops, finite differences and the completeness of integrated gradients."""

import numpy as np
import pytest
import torch

from tests import small
from tests.nightly import nightly, often
from tests.real import real
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import load
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.statistics import rank_correlation
from tfcore.part_configs import ExpertsConfig
from tfcore.views.inside.interventions import say
from tfcore.views.inside.interventions.measure import input_attribution
from tfcore.views.inside.interventions.measure.input_attribution import (
    AT_ONCE,
    InputAttribution,
    attribute_by_steps,
    constant_baseline,
    count_steps,
    most_named,
    without_rounding,
)

TEXT = small.ids(1, 9)[0].tolist()
OTHER = [TEXT[0], *[(token + 7) % 61 for token in TEXT[1:5]], *TEXT[5:]]
QUANTITIES = (Quantity("difference", 3, 8), Quantity("prediction", 5), Quantity("text"))
KINDS = {**small.WIRINGS, "experts with a capacity": {"experts": ExpertsConfig(n_experts=4, capacity_factor=0.5)}}


def value(model, ids, quantity, rows=None, targets=None):
    """The quantity by a run of its own; `rows` are the embeddings that the run is given."""
    edits = [] if rows is None else [Edit.replace("embed", rows[None])]
    log = model(torch.tensor([list(ids)]), edits=edits).logits[0].double()
    if quantity.kind == "difference":
        return log[-1, quantity.token] - log[-1, quantity.against]
    log = log.log_softmax(-1)
    if quantity.kind == "prediction":
        return log[-1, quantity.token]
    following = list(targets or ids)[1:]
    return sum(log[i, token] for i, token in enumerate(following)) / len(following)


def attributed(*given, **values):
    return list(attribute_by_steps(*given, **values))[-1]


def embedded(model, ids):
    return model(torch.tensor([list(ids)]), capture=("embed",)).activations["embed"][0]


@pytest.mark.usefixtures("unchecked")  # so many runs
@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda quantity: quantity.kind)
@pytest.mark.parametrize("kind", often(KINDS, ["like GPT-2"]))
@pytest.mark.parametrize("other", [OTHER, "mean"], ids=["another text", "average token"])
def test_occlusion_is_a_run_for_every_token(kind, quantity, other):
    model = small.model(**KINDS[kind])
    found = attributed(model, TEXT, quantity, other, steps=2)
    text = embedded(model, TEXT)
    base = torch.stack([text[0], *[text.mean(0)] * (len(TEXT) - 1)]) if other == "mean" else embedded(model, other)
    whole = value(model, TEXT, quantity)
    assert found.value == pytest.approx(float(whole), abs=1e-4)
    assert found.baseline == pytest.approx(float(value(model, TEXT, quantity, base)), abs=1e-4)
    for i in range(len(TEXT)):
        without = value(model, TEXT[:i] + TEXT[i + 1 :], quantity)
        assert found.left_out[i] == pytest.approx(float(whole - without), abs=1e-4)
        rows = text.clone()
        rows[i] = base[i]
        assert found.replaced[i] == pytest.approx(float(whole - value(model, TEXT, quantity, rows)), abs=1e-4)
    assert found.methods("left out")["occlusion (left out)"] is found.left_out
    assert found.methods("replaced")["occlusion (replaced)"] is found.replaced


@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda quantity: quantity.kind)
def test_gradient_times_input_is_the_slope_by_finite_differences(quantity):
    model = small.model().double()
    found = attributed(model, TEXT, quantity, OTHER, steps=2)
    text, base = embedded(model, TEXT), embedded(model, OTHER)
    for i in range(len(TEXT)):
        step = torch.zeros_like(text)
        step[i] = 1e-4 * (text - base)[i]
        up, down = (value(model, TEXT, quantity, text + sign * step) for sign in (1, -1))
        assert found.gradient[i] == pytest.approx(float(up - down) / 2e-4, abs=1e-3)


# along the way between the texts a router may choose other experts, and the quantity jumps
SMOOTH = [kind for kind, values in small.WIRINGS.items() if "experts" not in values]


@pytest.mark.parametrize("kind", often(SMOOTH, ["like GPT-2"]))
def test_integrated_gradients_sum_to_the_difference_of_the_two_texts(kind):
    """Completeness (arXiv:1703.01365, proposition 1), to within what a sum of many points leaves."""
    model = small.model(**{"init_std": 0.1, **small.WIRINGS[kind]})
    found = attributed(model, TEXT, QUANTITIES[0], OTHER, steps=64)
    said = say.completeness(found, "the other text", "logits").values
    assert found.gap == pytest.approx(0, abs=1e-3)
    assert said["total"] == pytest.approx(float(found.integrated.sum()))
    assert said["difference"] == pytest.approx(found.value - found.baseline)
    same = [i for i, (a, b) in enumerate(zip(TEXT, OTHER, strict=True)) if a == b]
    assert not found.integrated[same].any()


@nightly
@pytest.mark.usefixtures("unchecked")  # so many runs
def test_they_are_the_integral_by_a_plain_riemann_sum():
    """Equation 3 of the paper, 400 points, one run for each; whatever the size of a pass."""
    model = small.model(init_std=0.1)
    text, base = embedded(model, TEXT), embedded(model, OTHER)
    total = torch.zeros_like(text)
    for k in range(400):
        point = (base + (k + 0.5) / 400 * (text - base)).requires_grad_()
        found = model(torch.tensor([TEXT]), edits=[Edit("embed", lambda _, point=point: point[None])]).logits[0, -1]
        total += torch.autograd.grad(found[3] - found[8], point)[0] / 400
    expected = ((text - base) * total).sum(-1)
    assert AT_ONCE // len(TEXT) < 40
    integrated = attributed(model, TEXT, QUANTITIES[0], OTHER, steps=40).integrated
    np.testing.assert_allclose(integrated, expected, atol=1e-4)


def test_the_model_is_left_as_it_was():
    model = small.model()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    attributed(model, TEXT, QUANTITIES[0], OTHER, steps=2)
    assert all(torch.equal(before[name], weight) for name, weight in model.state_dict().items())
    assert not any(weight.requires_grad or weight.grad is not None for weight in model.parameters())


@pytest.mark.parametrize(
    ("ids", "other", "message"), [(TEXT, TEXT[:4], "9 and 4 tokens"), ([3], "mean", "at least two")]
)
def test_what_cannot_be_attributed_is_refused(ids, other, message):
    with pytest.raises(ValueError, match=message):
        attributed(small.model(), ids, QUANTITIES[0], other)


def test_two_tokens_are_enough():
    assert attributed(small.model(), [3, 4], QUANTITIES[0], steps=2).complete


@pytest.mark.parametrize("kind", ["plain", "experts with a capacity"])
def test_what_is_known_grows_step_by_step_to_the_whole(kind, monkeypatch):
    monkeypatch.setattr(input_attribution, "AT_ONCE", 2 * len(TEXT))  # two tokens, or two points, in a pass
    model = small.model(**KINDS.get(kind, {}))
    seen = list(attribute_by_steps(model, TEXT, QUANTITIES[0], OTHER, steps=4))
    assert len(seen) == count_steps(model, len(TEXT), steps=4) == (14 if "experts" in kind else 1 + 5 + 2)
    assert not np.isnan(seen[0].gradient).any()
    known = [int((~np.isnan(found.left_out)).sum()) for found in seen]
    assert known == sorted(known)
    assert (known[0], known[-1]) == (0, len(TEXT))
    assert [found.complete for found in seen] == [False] * (len(seen) - 1) + [True]
    whole = attributed(model, TEXT, QUANTITIES[0], OTHER, steps=4)
    for name, values in seen[-1].methods("replaced").items():
        np.testing.assert_allclose(values, whole.methods("replaced")[name], atol=1e-5)
    half = next(found for found in seen if say.known_so_far(found).values["occluded"] >= 2)
    assert str(say.known_so_far(half)).startswith("Gradient × input is there, occlusion for ")
    assert str(say.known_so_far(whole)) == "All three methods are there for 9 tokens."
    assert most_named(half) == int(np.abs(half.gradient).argmax())


def test_where_methods_agree_and_disagree():
    a, b, c = (np.array(v) for v in ([0.0, 1, 2, 3], [0.0, -1, -5, -3], [0.0, 0, 0, 0]))
    found = say.method_agreement({"one": a, "two": b, "three": c}, ["w", "x", "y", "z"])
    assert found.values["correlations"]["one and two"] == pytest.approx(-0.8)  # 1 - 6 (9 + 1 + 4 + 4) / (4 * 15)
    assert found.values["correlations"]["one and three"] is None
    assert str(found).startswith("They do not name the same token first: one: 'z' (3), two: 'y' (2), three: 'w' (0).")
    assert "one and two -0.80, one and three undefined" in str(found)
    assert (
        str(say.method_agreement({"one": a, "two": 2 * a}, ["w", "x", "y", " z"]))
        == "Both name '·z' (3) first. Rank correlation: one and two 1.00."
    )


def test_equal_values_share_their_rank():
    """Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4, by Pearson's formula written out."""
    a, b = np.array([1.0, 2, 2, 9]), np.array([1.0, 2, 3, 4])
    one, other = np.array([1, 2.5, 2.5, 4]) - 2.5, np.array([1, 2, 3, 4]) - 2.5
    expected = (one * other).sum() / np.sqrt((one**2).sum() * (other**2).sum())
    assert rank_correlation(a, b) == pytest.approx(expected)


def test_rounding_errors_have_no_order():
    """Tokens that both texts share get none, whatever is left of them in float32."""
    assert without_rounding(np.array([1.0, 1e-5, -1e-5, 9e-6, -9e-6])).tolist() == [1, 1e-5, -1e-5, 0, 0]
    one, other = np.array([3e-8, 2.0, -1e-8]), np.array([-2e-8, 5.0, 4e-8])
    assert say.method_agreement({"one": one, "other": other}, "abc").values["correlations"] == {
        "one and other": pytest.approx(1)
    }


def test_the_named_token_is_the_largest_by_integrated_gradients_and_its_removal_is_exact():
    model = small.model(init_std=0.1)
    found = attributed(model, TEXT, QUANTITIES[0], OTHER, steps=16)
    at = max(range(len(TEXT)), key=lambda i: abs(found.integrated[i]))
    assert most_named(found) == at
    said = say.removed(found, at, [f" t{i}" for i in range(len(TEXT))], "logits")
    assert said.values["after"] == pytest.approx(
        float(value(model, TEXT[:at] + TEXT[at + 1 :], QUANTITIES[0])), abs=1e-4
    )
    assert said.values["before"] == found.value
    known = np.array([-0.9] * 4 + [6.6])
    alone = InputAttribution(np.ones(5), known, known, known, 3.0, 0.0, 16)
    assert str(say.removed(alone, 4, [*"acde", " b"], "logits")) == (
        "Exactly: without '·b' (4) in the text it goes from 3.00 to 2.00 logits, by -1.00; integrated gradients give "
        "the token +6.60."
    )
    assert str(say.completeness(planted(10.9, 10.0), "zero vectors", "logits")) == (
        "Integrated gradients from zero vectors, 32 points: they sum to +10.90 logits; the difference that they "
        "explain is +10.00; gap +0.90."
    )


def planted(total, difference):
    """Two tokens that share a sum equally."""
    known = np.full(2, total / 2)
    return InputAttribution(known, known, known, np.array([0.0, 1.0]), difference, 0.0, 32)


@pytest.mark.parametrize(
    ("total", "difference", "withheld"),
    [
        (54.0, 10.0, True),
        (-0.7, 6.1, True),
        (10.9, 10.0, False),
        (11.1, 10.0, True),
        (8.9, 10.0, True),
        (0.0, 0.0, False),
    ],
)
def test_integrated_gradients_that_do_not_add_up_are_withheld(total, difference, withheld):
    found = planted(total, difference)
    assert found.withheld == withheld
    assert ("integrated gradients" in found.methods("left out")) != withheld
    said = str(say.completeness(found, "zero vectors", "nats"))
    assert (f"are withheld: over 32 points they sum to {total:+.2f} nats, not {difference:+.2f}" in said) == withheld
    assert ("one word replaced would work as baseline" in said) == withheld
    assert ("give the token" in str(say.removed(found, 0, "ab", "nats"))) != withheld
    assert most_named(found) == int(withheld)


def test_a_constant_baseline():
    text = torch.tensor([[1.0, 2.0], [3.0, 0.0], [5.0, 1.0]])
    assert not constant_baseline(text, "zero").any()
    assert constant_baseline(text, "mean").tolist() == [[1.0, 2.0], [3.0, 1.0], [3.0, 1.0]]


NAMES = "When Mary and John went to the store, John gave a drink to"
TROPHY = "The trophy does not fit in the brown suitcase because it is too big."
GERMAN = "Der Zug nach Hamburg hatte vierzig Minuten Verspätung, weil ein Baum auf den Gleisen lag."


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("text", ["Sam was a little boy. One day, Sam said that", TROPHY, GERMAN, "我们去了公园。"])
def test_they_add_up_from_the_average_token_in_a_trained_model(text):
    model, tokenizer = load("stories")
    ids = tokenizer.encode(text)[:24]
    best = int(model(torch.tensor([ids])).logits[0, -1].argmax())
    found = attributed(model, ids, Quantity("prediction", best))
    assert abs(found.gap) < 0.1 * abs(found.difference)
    assert not found.withheld


@nightly
@pytest.mark.parametrize("text", [NAMES, TROPHY])
def test_in_smollm2_they_add_up_from_the_average_token_and_not_from_zero(text, real_models):
    model, tokenizer = real("smollm2")
    ids = tokenizer.encode(text)
    best = int(model(torch.tensor([ids])).logits[0, -1].argmax())
    found = {one: attributed(model, ids, Quantity("prediction", best), one) for one in ("mean", "zero")}
    assert {one: result.withheld for one, result in found.items()} == {"mean": False, "zero": True}


def test_the_work_of_all_methods():
    model, tokens, steps = small.model(), 5, 4
    weights = sum(parameter.numel() for name, parameter in model.named_parameters() if ".blocks." in name)
    run = 2 * (weights * tokens + model.config.d_model * model.config.vocab_size)
    left_out, replaced, texts, gradients = tokens, tokens, 2, 3 * (steps + 1)
    assert input_attribution.operations(model, tokens, steps) == (left_out + replaced + texts + gradients) * run
