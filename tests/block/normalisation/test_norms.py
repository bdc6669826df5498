"""LayerNorm and RMSNorm by hand: equal to torch's, to the formula, and only over the features is nothing mixed."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests import small
from tfcore.views.block.normalisation.measure.norms import (
    AXES,
    AxisLeak,
    axis_leak,
    batch,
    normalisation_steps,
    normalise,
    replace_token,
)
from tfcore.views.block.normalisation.say import AxisChanges, against_torch, axis_changes, norm_divisors
from tfcore.views.sources import opened

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=32).map(tuple)
FEW = (2.0, 4.0, 4.0, 5.0, 7.0, 8.0)
ROWS = [[1, 2, 3, 4], [5, 6, 7, 8]]


def test_the_numbers_of_the_page_by_hand():
    steps = normalisation_steps(FEW, "layernorm", eps=0.0)
    assert (steps.mean, steps.variance, steps.divisor) == (5.0, 4.0, 2.0)
    assert steps.stages[1].tolist() == [-3, -1, -1, 0, 2, 3]
    assert steps.stages[2].tolist() == [-1.5, -0.5, -0.5, 0, 1, 1.5]
    rms = normalisation_steps(FEW, "rmsnorm", eps=0.0)
    assert (rms.mean, rms.divisor) == (0.0, math.sqrt(29))
    np.testing.assert_allclose(rms.stages[3], rms.stages[0] / math.sqrt(29))


@given(numbers=NUMBERS, scale=st.floats(-3, 3), shift=st.floats(-3, 3), power=st.integers(-12, 1))
@pytest.mark.parametrize("kind", ["layernorm", "rmsnorm"])
def test_the_last_step_is_torch_s_to_the_printed_digits(kind, numbers, scale, shift, power):
    steps = normalisation_steps(numbers, kind, scale, shift, 10.0**power)
    largest = max(1.0, float(np.abs(steps.stages[3]).max()))
    # Equal numbers leave a rounding error where the mean was, and the smallest eps makes much of it.
    tolerance = 1e-6 * largest if np.ptp(numbers) > 1e-6 or kind == "rmsnorm" else 1e-3
    assert steps.difference <= tolerance


def test_layernorm_ignores_shift_and_scale_and_rmsnorm_only_scale():
    numbers = np.array(FEW)
    for kind, moved in (("layernorm", True), ("rmsnorm", False)):
        plain, ten, hundred = (
            normalisation_steps(tuple(x.tolist()), kind, eps=0.0).stages[3]
            for x in (numbers, 10 * numbers, numbers + 100)
        )
        np.testing.assert_allclose(ten, plain)
        assert np.allclose(hundred, plain) == moved


def test_equal_numbers_and_a_single_one_are_saved_by_eps():
    assert normalisation_steps((3.0, 3.0, 3.0), "layernorm").stages[3].tolist() == [0, 0, 0]
    assert normalisation_steps((3.0,), "layernorm").stages[3].tolist() == [0]


def test_no_number_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        normalisation_steps((), "layernorm")


@pytest.mark.parametrize("dims", list(AXES.values()))
@pytest.mark.parametrize("centre", [True, False])
def test_normalise_over_any_axes_against_numpy(dims, centre):
    x = torch.randn(3, 4, 5, dtype=torch.float64)
    left = x.numpy() - (x.numpy().mean(dims, keepdims=True) if centre else 0)
    expected = left / np.sqrt((left**2).mean(dims, keepdims=True) + 1e-5)
    np.testing.assert_allclose(normalise(x, dims, centre).numpy(), expected)


@pytest.mark.parametrize("kind", ["layernorm", "rmsnorm"])
def test_only_the_features_keep_a_change_to_its_token(kind):
    leak = axis_leak(small.model(), ROWS, 0, 3, 9, kind)
    assert leak.others("features", 0, 3) == (0, 0.0)
    assert leak.change["features"][0, 3] > 0.1
    reached = {axis: leak.others(axis, 0, 3)[0] for axis in AXES}
    assert reached == {"features": 0, "tokens": 3, "texts": 1, "everything": 7}
    assert leak.change["tokens"][0, 0] > 0  # the future reaches the first token
    assert leak.spread["features"] < 1e-4 < leak.spread["tokens"]


@pytest.mark.parametrize(
    ("rows", "row", "position", "new", "named"),
    [
        ([[1, 2], [3]], 0, 0, 9, "2, 1 tokens"),
        (ROWS, 2, 0, 9, "row=2 must be between 0 and 1"),
        (ROWS, 0, 4, 9, "position=4 must be between 0 and 3"),
        (ROWS, 0, 0, 1, "replacement=1"),
    ],
)
def test_what_makes_no_experiment_is_refused(rows, row, position, new, named):
    with pytest.raises(ValueError, match=named):
        axis_leak(small.model(), rows, row, position, new, "layernorm")


def test_the_divisors_of_the_two_norms():
    layer, rms = (normalisation_steps(FEW, kind, 1.5, 0.5) for kind in ("layernorm", "rmsnorm"))
    mean = sum(FEW) / len(FEW)
    variance = sum((x - mean) ** 2 for x in FEW) / len(FEW)
    assert norm_divisors(layer, rms).values == {
        "count": 6,
        "mean": mean,
        "variance": variance,
        "layer_divisor": pytest.approx(math.sqrt(variance + 1e-5)),
        "rms_divisor": pytest.approx(math.sqrt(sum(x * x for x in FEW) / len(FEW) + 1e-5)),
    }
    differences = [abs(a - b) for steps in (layer, rms) for a, b in zip(steps.stages[3], steps.torch, strict=True)]
    assert against_torch(layer, rms).values == {"difference": max(differences)}


def test_what_is_said_of_the_divisors():
    layer, rms = (normalisation_steps(FEW, kind) for kind in ("layernorm", "rmsnorm"))
    assert str(norm_divisors(layer, rms)) == (
        "6 features of one token; mean 5, variance 4: LayerNorm divides by 2, RMSNorm by 5.385."
    )
    apart = replace(rms, torch=rms.stages[3] + 3.21e-3)
    assert str(against_torch(layer, apart)) == (
        "Against torch.nn.LayerNorm and torch.nn.RMSNorm on the same numbers in float64: the last step differs by "
        "3.2e-03 at most."
    )


def test_the_changes_beside_the_replaced_token_are_counted_one_by_one():
    generator = np.random.default_rng(0)
    change = {axis: generator.random((2, 3)) * (generator.random((2, 3)) > 0.4) for axis in AXES}
    spread = {axis: i / 10 for i, axis in enumerate(AXES, 1)}
    found = axis_changes(AxisLeak(change, spread), 1, 0)
    for axis, values in change.items():
        others = [values[r, p] for r in range(2) for p in range(3) if (r, p) != (1, 0)]
        assert found.others[axis] == (sum(value > 0 for value in others), max(others))
    assert (found.row, found.position, found.total, found.spread) == (1, 0, 5, spread)


def test_what_is_said_of_the_axes():
    others = {"features": (0, 0.0), "tokens": (5, 0.123), "texts": (1, 2.0), "everything": (11, 0.5)}
    found = AxisChanges(0, 3, 11, others, {"features": 0.00002, "tokens": 1.234, "texts": 0.1, "everything": 0.2})
    assert str(found) == (
        "Replacing token 3 of text 0: over the features 0 of 11 other tokens change; over the tokens 5 of 11 other "
        "tokens change, by up to 0.12; over the texts 1 of 11 other tokens change, by up to 2; over everything 11 of "
        "11 other tokens change, by up to 0.5."
    )
    assert found.sizes == (
        "Nor is the size kept: over the features each vector ends within 2e-05 of 1, over the tokens one is off by "
        "1.23."
    )


def test_a_batch_is_as_long_as_its_shortest_text_and_the_limit():
    model, tokenizer = opened("stories")
    texts = ("The dog ran to the park", "She saw a")
    rows = batch(model, tokenizer, texts, 6)
    assert rows == [tokenizer.encode(text)[:3] for text in texts]
    assert batch(model, tokenizer, texts, 2) == [ids[:2] for ids in rows]
    assert batch(model, tokenizer, ("a", ""), 6) == []


def test_the_token_that_is_replaced_is_the_one_that_is_named():
    model, tokenizer = opened("stories")
    found = replace_token(model, tokenizer, ("The dog ran", "She saw a"), 6, 1, 2, "rmsnorm")
    assert found.tokens[1][2].strip("· ") == "a"
    assert found.new != found.tokens[1][2]
    assert np.argwhere(found.leak.change["features"] > 0).tolist() == [[1, 2]]
