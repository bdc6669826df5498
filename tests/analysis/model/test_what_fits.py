"""What fits: the bytes by hand, from the formula on the page."""

import pytest

from tests import small
from tfcore import presets
from tfcore.analysis.model.what_fits import free_now, needs


def test_bytes_are_those_of_the_formula():
    config = presets.llama3_8b()
    for dtype, b in (("float32", 4), ("bfloat16", 2)):
        (need,) = needs({"x": config}, 1000, dtype)
        assert need.weights == b * 8_030_261_248
        assert need.cache == 2 * b * 32 * 8 * 128 * 1000
        assert need.total == need.weights + need.cache


def test_a_text_is_no_longer_than_the_context():
    (need,) = needs({"x": small.config(max_seq_len=32)}, 1000, "float32")
    assert need.tokens == 32


def test_an_encoder_keeps_no_cache():
    (need,) = needs({"bert": presets.bert_base()}, 512, "float32")
    assert need.cache == 0


@pytest.mark.parametrize(("room", "fits"), [(0, False), (10**12, True)])
def test_fitting(room, fits):
    (need,) = needs({"x": small.config()}, 16, "float32")
    assert need.fits(room) is fits
    assert need.fits(need.total)
    assert not need.fits(need.total - 1)


def test_free_now_is_a_number_of_this_machine():
    assert 10**7 < free_now() < 10**14
