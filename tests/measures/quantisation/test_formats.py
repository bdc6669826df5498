"""Data types with few bits, beside gguf.quants, torch's own and loops over the grid."""

import gguf
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tfcore.measures.quantisation.formats import (
    BITS,
    Scheme,
    bits_per_value,
    block_size,
    codes_of,
    quantise_absmax,
    quantise_minmax,
    rounded,
)

KINDS = {8: gguf.GGMLQuantizationType.Q8_0, 4: gguf.GGMLQuantizationType.Q4_1}


def weight(rows=24, columns=96, seed=0):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


def by_gguf(values, kind):
    return torch.from_numpy(gguf.quants.dequantize(gguf.quants.quantize(values.numpy(), kind), kind))


def test_int8_in_blocks_of_32_is_q8_0_of_gguf():
    w = weight()
    found = rounded(w, Scheme(format="int8", per="32"))
    torch.testing.assert_close(found, by_gguf(w, KINDS[8]), rtol=0, atol=0)


def test_int4_in_blocks_of_32_with_a_minimum_is_q4_1_of_gguf():
    """gguf adds 0.5 and cuts off, torch rounds halves to even: they differ on a tie at most, by one step."""
    w = weight()
    found, theirs = rounded(w, Scheme(format="int4", per="32", minimum=True)), by_gguf(w, KINDS[4])
    torch.testing.assert_close(found, theirs, rtol=0, atol=1e-6)


def test_what_is_on_the_grid_stays():
    w = by_gguf(weight(), KINDS[4])
    again = rounded(w, Scheme(format="int4", per="32", minimum=True))
    torch.testing.assert_close(again, w, rtol=0, atol=2e-3 * float(w.abs().max()))


@pytest.mark.parametrize(("name", "dtype"), [("bfloat16", torch.bfloat16), ("float16", torch.float16)])
def test_floats_are_torchs(name, dtype):
    w = weight()
    assert torch.equal(rounded(w, Scheme(format=name)), w.to(dtype).float())
    assert torch.equal(rounded(w, Scheme(format="float32")), w)


def e4m3(code):
    """The value of a byte: sign, 4 bits of exponent with bias 7, 3 of mantissa; 0x7f is not a number."""
    sign, exponent, mantissa = code >> 7, code >> 3 & 15, code & 7
    if exponent == mantissa + 8 == 15:
        return None
    size = mantissa / 8 * 2**-6 if exponent == 0 else (1 + mantissa / 8) * 2 ** (exponent - 7)
    return -size if sign else size


def test_the_grid_of_float8_is_its_definition():
    values = {e4m3(code) for code in range(256)} - {None}
    assert codes_of(Scheme(format="float8")).tolist() == sorted(values)
    assert len(values) == 253
    assert max(values) == 448


def test_float8_takes_the_nearest_value_of_its_grid():
    w = weight(4, 32)
    found = rounded(w, Scheme(format="float8", per="row"))
    grid = np.array(sorted({e4m3(code) for code in range(256)} - {None}))
    for row, after in zip(w.numpy(), found.numpy(), strict=True):
        scale = np.float64(np.float16(np.abs(row).max() / 448))
        own = grid * scale
        best = np.abs(own[:, None] - row).min(0)
        assert np.abs(after - row) == pytest.approx(best, abs=2e-3 * float(np.abs(row).max()))


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("minimum", [False, True])
def test_rounding_takes_the_nearest_level_of_each_block(bits, minimum):
    w = weight(3, 64)
    found = rounded(w, Scheme(format=f"int{bits}", per="16", minimum=minimum)).numpy()
    for row, after in zip(w.numpy(), found, strict=True):
        for start in range(0, 64, 16):
            block = row[start : start + 16].astype(np.float64)
            if minimum:
                step = (block.max() - block.min()) / (2**bits - 1)
                levels = block.min() + step * np.arange(2**bits)
            else:
                step = np.abs(block).max() / (2 ** (bits - 1) - 1)
                levels = step * np.arange(-(2 ** (bits - 1)) + 1, 2 ** (bits - 1))
            nearest = levels[np.abs(levels[:, None] - block).argmin(0)]
            assert after[start : start + 16] == pytest.approx(nearest, abs=5e-3 * float(np.abs(block).max()))


@pytest.mark.parametrize("per", ["matrix", "row", "32"])
def test_one_scale_serves_as_many_values_as_it_says(per):
    w = weight(8, 64)
    w[0, 0] = 100.0  # everything that shares its scale becomes 0
    lost = (rounded(w, Scheme(format="int4", per=per)) == 0) & (w != 0)
    assert int(lost.sum()) >= {"matrix": 8 * 64 - 1, "row": 63, "32": 31}[per]
    assert not lost[1:].all() or per == "matrix"
    assert block_size(per, 8, 64) == {"matrix": 512, "row": 64, "32": 32}[per]


def test_bits_count_the_scales():
    assert bits_per_value(Scheme(format="int4", per="32"), 8, 64) == 4.5
    assert bits_per_value(Scheme(format="int4", per="32", minimum=True), 8, 64) == 5  # Q4_1: 20 bytes for 32 values
    assert bits_per_value(Scheme(format="int8", per="32"), 8, 64) == 34 * 8 / 32  # Q8_0: 34 bytes
    assert bits_per_value(Scheme(format="int8", per="row"), 8, 64) == 8.25
    assert bits_per_value(Scheme(format="bfloat16"), 8, 64) == 16
    assert gguf.GGML_QUANT_SIZES[KINDS[4]] == (32, 20)
    assert gguf.GGML_QUANT_SIZES[KINDS[8]] == (32, 34)


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=40), st.sampled_from([2, 3, 4, 8]))
def test_no_error_is_larger_than_half_a_step(values, bits):
    x = torch.tensor([values])
    for stored, steps in ((quantise_absmax(x, bits), 2 ** (bits - 1) - 1), (quantise_minmax(x, bits), 2**bits - 1)):
        reach = float(x.max() - x.min()) if stored.codes.min() >= 0 and steps == 2**bits - 1 else float(x.abs().max())
        allowed = reach / steps / 2 + 2e-3 * float(x.abs().max()) + 1e-6
        assert stored.values.isfinite().all()
        assert float((stored.values - x).abs().max()) <= allowed


def test_equal_values_stay():
    for value in (0.0, 2.5):
        x = torch.full((1, 32), value)
        assert torch.equal(quantise_minmax(x, 4).values, x)
    assert torch.equal(quantise_absmax(torch.zeros(1, 32), 4).values, torch.zeros(1, 32))


def test_what_cannot_be_is_one_sentence():
    with pytest.raises(ValueError, match=r"has no minimum; minimum=True goes with int2 to int8"):
        Scheme(format="float8", minimum=True)
    with pytest.raises(ValueError, match=r"rows of 40 values cannot be cut into groups of 32; take per='row'"):
        rounded(weight(2, 40), Scheme(per="32"))
    with pytest.raises(ValueError, match="too fine to be listed"):
        codes_of(Scheme(format="bfloat16"))


def test_a_scheme_says_itself():
    assert str(Scheme(format="int4", per="32", minimum=True)) == "int4, groups of 32, with minimum"
    assert str(Scheme(format="float8", per="row")) == "float8, one scale per row"
    assert str(Scheme(format="bfloat16")) == "bfloat16"
    assert set(BITS) == {"float32", "bfloat16", "float16", "float8", *(f"int{bits}" for bits in (2, 3, 4, 5, 6, 8))}
