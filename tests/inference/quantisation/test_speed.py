"""Products in several data types: their results and bytes; times are not compared, they are the machine's."""

import math

import gguf
import pytest
import torch

from tfcore.views.inference.quantisation.measure import speed
from tfcore.views.inference.quantisation.measure.speed import SpeedPoint, packed, products, speed_points, unpacked
from tfcore.views.inference.quantisation.say import FormatSpeeds, speeds


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(speed, "ROWS", 64)
    monkeypatch.setattr(speed, "COLUMNS", 96)
    monkeypatch.setattr(speed, "REPEATS", 2)
    monkeypatch.setattr(speed, "SPENT", math.inf)


def test_two_integers_in_a_byte_and_back():
    codes = torch.arange(-7, 8).repeat(4)[:56].reshape(4, 14)
    content = packed(codes)
    assert content.dtype == torch.uint8
    assert content.shape == (4, 7)
    assert torch.equal(unpacked(content), codes.float())
    assert content[0, 0] == (-7 + 8) | ((-6 + 8) << 4)


def test_every_product_is_that_of_float32_within_its_bits():
    generator = torch.Generator().manual_seed(0)
    weight, x = torch.randn(64, 96, generator=generator), torch.randn(3, 96, generator=generator)
    allowed = {"float32": 1e-6, "bfloat16": 1e-2, "float16": 2e-3, "float8": 5e-2, "int8": 2e-2, "int4": 0.15}
    stored = {"float32": 4, "bfloat16": 2, "float16": 2}
    for name, size, product in products(weight):
        key = name.split()[0]
        exact = x.double() @ weight.double().T
        error = float((product(x).double() - exact).norm() / exact.norm())
        assert error < allowed[key], name
        if key in stored:
            assert size == 64 * 96 * stored[key]
    assert size == 64 * 96 // 32 * gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType.Q4_0][1]  # 18 bytes for 32, the last


@pytest.mark.usefixtures("small")
def test_a_race_measures_every_type_with_one_token_and_with_many():
    points = speed_points(0)
    assert len(points) == 6 * 2
    assert {point.tokens for point in points} == set(speed.TOKENS)
    assert all(point.seconds > 0 and point.runs == 2 for point in points)


def test_what_is_said_of_times():
    points = [SpeedPoint("float32", 1, 0.002, 5, 400, 0.0), SpeedPoint("int8 via float32", 1, 0.008, 5, 100, 0.01)]
    assert speeds(points, 1) == FormatSpeeds(1, 0.002, {"int8 via float32": (4.0, 0.25)})
    assert str(speeds(points, 1)) == (
        "With 1 token the product in float32 takes 2 ms; int8 via float32: 25% of the memory, 4.0 times slower."
    )
    quick = [points[0], SpeedPoint("float16", 1, 0.001, 5, 200, 0.0)]
    assert "float16: 50% of the memory, 2.0 times as fast." in str(speeds(quick, 1))
    assert str(speeds([], 64)) == "Nothing to compare yet."


def test_equal_times_are_once_as_fast():
    assert "1.0 times as fast" in str(FormatSpeeds(8, 1.0, {"float16": (1.0, 0.5)}))
    assert "1.5 times slower" in str(FormatSpeeds(8, 1.0, {"float16": (1.5, 0.5)}))
