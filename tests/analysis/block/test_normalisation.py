"""LayerNorm and RMSNorm by hand: equal to torch's, to the formula, and only over the features is nothing mixed."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests import small
from tfcore.analysis.block.normalisation import AXES, axis_leak, normalisation_steps, normalise

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
        (ROWS, 2, 0, 9, "row=2"),
        (ROWS, 0, 4, 9, "position=4"),
        (ROWS, 0, 0, 1, "replacement=1"),
    ],
)
def test_what_makes_no_experiment_is_refused(rows, row, position, new, named):
    with pytest.raises(ValueError, match=named):
        axis_leak(small.model(), rows, row, position, new, "layernorm")
