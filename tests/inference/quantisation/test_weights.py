"""A row on its grid and the errors of all matrices, beside loops over the matrices by name."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.small import DEBERTA, config, model
from tfcore.measures.quantisation.formats import Scheme, bits_per_value, rounded
from tfcore.measures.quantisation.matrices import kinds_of, matrices, matrix_of, model_bits, no_matrices, quantised_copy
from tfcore.views.inference.quantisation import say
from tfcore.views.inference.quantisation.measure.weights import (
    MatrixErrors,
    matrix_errors,
    matrix_memory,
    outlying,
    outlying_row,
    row_on_grid,
    shape_of,
    shared_width,
)

GROUPED = {"d_model": 48, "n_heads": 6, "n_kv_heads": 2, "d_ff": 64, "activation": "swiglu"}
SCHEME = Scheme(format="int4", per="16")


@pytest.fixture(scope="module")
def grouped():
    return model(**GROUPED)


def by_name(of, layer):
    """The matrices of a block, cut out by hand: six query heads and two of keys and values, of width 8."""
    block = of.decoder.blocks[layer]
    qkv, up = block.attn.qkv.weight, block.mlp.up.weight
    return {
        "q": qkv[:48],
        "k": qkv[48:64],
        "v": qkv[64:80],
        "out": block.attn.out.weight,
        "gate": up[:64],
        "up": up[64:],
        "down": block.mlp.down.weight,
    }


def test_every_matrix_by_layer_and_kind(grouped):
    found = {(one.layer, one.kind): one.weight for one in matrices(grouped)}
    assert len(found) == 2 * 7
    for layer in range(2):
        for kind, weight in by_name(grouped, layer).items():
            assert torch.equal(found[layer, kind], weight)
            assert shape_of(grouped, layer, kind) == tuple(weight.shape)
    assert shared_width(grouped) == 16  # of 48 and 64


def test_an_encoder_without_gates_has_six_kinds():
    of = model(architecture="encoder", activation="gelu", bias=True)
    assert kinds_of(of.config) == ("q", "k", "v", "out", "up", "down")
    assert len(list(matrices(of))) == 12
    with pytest.raises(ValueError, match="layer=0, kind='gate' is not in this model; kinds are q, k, v, out, up, down"):
        matrix_of(of, 0, "gate")


def test_models_of_another_build_are_refused_with_a_reason():
    assert no_matrices(config(architecture="encoder-decoder")) == "it has two stacks, and one is shown."
    assert "attention alone" in no_matrices(config(d_ff=0))
    assert no_matrices(config()) is None
    assert no_matrices(config(**DEBERTA | {"relative_shared": True})) is None
    assert "matrices of their own (disentangled attention)" in no_matrices(config(**DEBERTA))
    with pytest.raises(ValueError, match="cannot be told apart"):
        list(matrices(model(**DEBERTA)))


def test_attention_alone_has_four_kinds():
    alone = model(d_ff=0, tie_embeddings=False)
    assert kinds_of(alone.config) == ("q", "k", "v", "out")
    assert [one.kind for one in matrices(alone)] == ["q", "k", "v", "out"] * 2
    scheme = Scheme(format="int4", per="row")
    copied = quantised_copy(alone, scheme)
    assert torch.equal(matrix_of(copied, 1, "out"), rounded(matrix_of(alone, 1, "out"), scheme))
    assert not torch.equal(matrix_of(copied, 1, "out"), matrix_of(alone, 1, "out"))


def test_a_copy_has_every_matrix_rounded_and_shares_the_rest(grouped):
    before = {name: value.clone() for name, value in grouped.state_dict().items()}
    copied = quantised_copy(grouped, SCHEME)
    for layer in range(2):
        for kind, weight in by_name(grouped, layer).items():
            assert torch.equal(by_name(copied, layer)[kind], rounded(weight, SCHEME))
    assert copied.embed.weight is grouped.embed.weight
    assert copied.decoder.blocks[0].ln1.weight is grouped.decoder.blocks[0].ln1.weight
    for name, value in grouped.state_dict().items():
        assert torch.equal(value, before[name])


def test_bits_of_a_model_are_the_mean_over_its_weights(grouped):
    assert model_bits(grouped, SCHEME) == 5
    scheme = Scheme(format="int8", per="row")
    every = [weight for layer in range(2) for weight in by_name(grouped, layer).values()]
    bits = sum(weight.numel() * bits_per_value(scheme, *weight.shape) for weight in every)
    assert model_bits(grouped, scheme) == pytest.approx(bits / sum(weight.numel() for weight in every))


@pytest.mark.parametrize("scheme", [SCHEME, Scheme(format="int3", per="row"), Scheme(format="int6", per="matrix")])
def test_a_row_lies_on_the_grid_of_its_groups(grouped, scheme):
    found = row_on_grid(grouped, 1, "down", 5, scheme)
    weight = by_name(grouped, 1)["down"]
    assert np.array_equal(found.values, weight[5].numpy())
    assert np.array_equal(found.rounded, rounded(weight, scheme)[5].numpy())
    assert found.group == {"16": 16, "row": 64, "matrix": 64}[scheme.per]
    for column, value in enumerate(found.rounded):
        assert value == pytest.approx(min(found.grid[column // found.group], key=lambda level: abs(level - value)))
        distances = np.abs(found.grid[column // found.group] - found.values[column])
        assert abs(value - found.values[column]) == pytest.approx(distances.min(), abs=1e-3)


def test_what_is_said_of_a_row():
    of = model(**GROUPED)
    with torch.no_grad():
        of.decoder.blocks[0].mlp.down.weight[3] = 0.1
        of.decoder.blocks[0].mlp.down.weight[3, 7] = 7.0
    found = row_on_grid(of, 0, "down", 3, Scheme(format="int4", per="row"))
    assert found.zeros == 63 / 64
    assert replace(found, values=np.array([0.0, 0.1, 1.0]), rounded=np.array([0.0, 0.0, 1.0])).zeros == 1 / 3
    assert found.distinct == 2
    assert found.largest == pytest.approx(0.1)
    assert found.error == pytest.approx((63 * 0.01 / (63 * 0.01 + 49)) ** 0.5, rel=1e-3)
    assert str(say.row("small", found)) == (
        "Row 3 of W_down in layer 0 of small as int4, one scale per row: 4.25 bits per weight, RMS error 11 % of the "
        "weights' RMS, at most 0.1. 2 different values become 2; 98 % of the weights become 0."
    )


def test_a_fine_grid_is_not_listed(grouped):
    assert row_on_grid(grouped, 0, "q", 0, Scheme(format="bfloat16")).grid.shape == (1, 0)
    assert row_on_grid(grouped, 0, "q", 0, Scheme(format="float8", per="16")).grid.shape == (3, 253)


def test_a_row_with_an_outlier_of_six_times_its_rms():
    of = model(**GROUPED)
    with torch.no_grad():
        of.decoder.blocks[0].mlp.down.weight[9] = 0.1
        of.decoder.blocks[0].mlp.down.weight[9, 40] = 0.1 * 7.9  # 6.0 times the RMS of that row
    row, column = outlying(of, 0, "down")
    assert (row, column) == (9, 40)


def test_a_row_of_zeros_has_no_outlier():
    weight = torch.zeros(2, 36)
    weight[1, 3] = 1.0
    assert outlying_row(weight) == (1, 3)


def test_errors_are_those_of_the_matrices(grouped):
    for scheme in (SCHEME, Scheme(format="int4", per="matrix")):
        found = matrix_errors(grouped, scheme)
        for layer in range(2):
            for place, (kind, weight) in enumerate(by_name(grouped, layer).items()):
                after = rounded(weight, scheme)
                expected = float(((after - weight).double().square().sum() / weight.double().square().sum()).sqrt())
                assert found.errors[layer, place] == pytest.approx(expected, rel=1e-5), kind


def test_some_rows_stand_for_many_with_the_scale_of_the_whole():
    of = model(d_ff=300, activation="gelu")
    with torch.no_grad():
        of.decoder.blocks[0].mlp.up.weight[1, 0] = 50.0  # not among the rows that are measured
    scheme = Scheme(format="int4", per="matrix")
    found = matrix_errors(of, scheme)
    up = of.decoder.blocks[0].mlp.up.weight
    sample, after = up[::5], rounded(up, scheme)[::5]
    expected = float((after - sample).square().sum().sqrt() / sample.square().sum().sqrt())
    assert found.errors[0, 4] == pytest.approx(expected, rel=1e-5)
    assert found.worst[:2] == (0, "up")


def test_what_is_said_of_all_matrices():
    found = MatrixErrors(SCHEME, ("q", "down"), np.array([[0.1, 0.02], [0.05, 0.3]]))
    assert str(say.matrices("small", found)) == (
        "small as int4, groups of 16: the RMS error is largest in W_down of layer 1, 30 % of the weights' RMS, "
        "smallest in W_down of layer 0, 2 %; on average 12 %."
    )


def test_memory_is_weights_times_bits(grouped):
    count = 2 * (48 * 48 + 2 * 16 * 48 + 48 * 48 + 3 * 64 * 48)
    found = matrix_memory(grouped, SCHEME)
    assert (found.weights, found.plain, found.stored) == (count, 4 * count, count * 5 / 8)
    assert str(say.memory(found)) == (
        "These matrices have 30.72 k weights: 123 kB in float32, 19.2 kB in this scheme (5.00 bits per weight)."
    )
