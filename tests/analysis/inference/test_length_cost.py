"""What length costs: by hand for one model, and growing as it must."""

import numpy as np
import pytest

from tfcore import presets
from tfcore.analysis.inference.length_cost import length_cost


def test_gpt2_small_by_hand():
    cost = length_cost(presets.gpt2_small(), [1024, 4096, 2**20])
    assert cost.cells[1] == 16_777_216
    assert cost.matrices[1] == 2 * 12 * 4096**2
    assert cost.vectors[1] == 2 * 4 * 768 * 4096
    assert cost.squared[1] == 12 * 4 * 4096**2 * 768
    assert cost.linear[1] == 4096 * (12 * 24 * 768**2 + 2 * 768 * 50_257)
    np.testing.assert_allclose(cost.share, cost.squared / (cost.squared + cost.linear))


@pytest.mark.parametrize("preset", [presets.gpt2_small, presets.gpt3_175b, presets.llama3_8b])
def test_the_crossing_is_where_both_are_equal(preset):
    crossing = round(length_cost(preset(), [128]).crossing)
    cost = length_cost(preset(), [crossing, 2 * crossing])
    assert cost.squared[0] == pytest.approx(cost.linear[0], rel=1e-3)
    assert cost.squared[1] == 4 * cost.squared[0]
    assert cost.linear[1] == 2 * cost.linear[0]
    assert cost.matrices[1] == 4 * cost.matrices[0]


def test_shared_keys_take_less_memory():
    cost = length_cost(presets.llama3_8b(), [1000])
    assert cost.vectors[0] == 2 * 1000 * 128 * (2 * 32 + 2 * 8)
