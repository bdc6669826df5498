"""What models need to write a text, and which of them fit: by the formula on the page."""

import pytest

from tests.small import config
from tfcore.presets import bert_base, llama3_8b
from tfcore.views.model.your_model.measure import Need, free_now, needs
from tfcore.views.model.your_model.say import ModelsThatFit, models_that_fit


def test_bytes_are_those_of_the_formula():
    subject = llama3_8b()
    for dtype, b in (("float32", 4), ("bfloat16", 2)):
        (need,) = needs({"x": subject}, 1000, dtype)
        assert need.weights == b * 8_030_261_248
        assert need.cache == 2 * b * 32 * 8 * 128 * 1000
        assert need.total == need.weights + need.cache


def test_a_text_is_no_longer_than_the_context():
    (need,) = needs({"x": config(max_seq_len=32)}, 1000, "float32")
    assert need.tokens == 32


def test_an_encoder_keeps_no_cache():
    (need,) = needs({"bert": bert_base()}, 512, "float32")
    assert need.cache == 0


@pytest.mark.parametrize(("room", "fits"), [(0, False), (10**12, True)])
def test_fitting(room, fits):
    (need,) = needs({"x": config()}, 16, "float32")
    assert need.fits(room) is fits
    assert need.fits(need.total)
    assert not need.fits(need.total - 1)


def test_free_now_is_a_number_of_this_machine():
    assert 10**7 < free_now() < 10**14


ROWS = [Need(name, 10, size, 5, 64) for name, size in (("mine", 95), ("small", 15), ("large", 995))]


@pytest.mark.parametrize("room", [None, 19, 20, 99, 100, 999, 1_000])
@pytest.mark.parametrize("limit", [None, 20, 100, 1_000])
def test_what_fits_is_below_both_bounds(room, limit):
    found = models_that_fit(ROWS, "org/mine", room, limit)
    fitting = 0
    for total in (100, 20, 1_000):
        fitting += (room is None or total <= room) and (limit is None or total <= limit)
    assert (found.fitting, found.models, found.room) == (fitting, 3, room)
    assert found.need is ROWS[0]
    assert found.fits == ((room is None or room >= 100) and (limit is None or limit >= 100))
    assert models_that_fit(ROWS, "", room, limit).need is None


def test_the_sentences_of_what_fits():
    need = Need("mine", 1_234, 5 * 10**9, 10**7, 2_048)
    assert str(ModelsThatFit("org/mine", need, False, 4, 9, 3 * 10**9)) == (
        "org/mine needs 5.0 GB for 1,234 parameters in float32 and 10 MB for the KV cache of 2,048 tokens, and does "
        "not fit; 4 of these 9 models fit. 3.0 GB are free."
    )
    assert ", and fits; 4 of" in str(ModelsThatFit("org/mine", need, True, 4, 9, None))
    assert str(ModelsThatFit("", None, True, 4, 9, None)) == (
        "4 of these 9 models fit. How much is free the system does not tell."
    )
