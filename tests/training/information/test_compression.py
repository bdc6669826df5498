"""Coders that know no language: their own formulas and libraries; and models in order beside them."""

import lzma
import math
import zlib

import numpy as np
import pytest

from tfcore.measures.text_loss import TextBits
from tfcore.views.training.information.measure.compression import Coder, adaptive, peers, per_byte
from tfcore.views.training.information.say.text_bits import every_coder, least_bits


def test_peers_are_what_they_say():
    data = b"the cat and the dog and the cat and the dog" * 3
    every, counts, learned, deflate, xz = (peer.per_byte for peer in peers(data.decode()))
    assert every == 8
    assert counts == pytest.approx(
        -sum(data.count(b) / len(data) * math.log2(data.count(b) / len(data)) for b in set(data))
    )
    assert counts < learned < 8
    assert deflate * len(data) / 8 == len(zlib.compress(data, 9)) - 6  # header and checksum
    packed = len(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    assert xz * len(data) / 8 == pytest.approx(packed - 57, abs=3)  # without the file's headers, checksum and padding


def test_counting_as_one_reads_is_the_formula():
    # Bytes a, a, b: 1/2 / 128, then 3/2 / 129, then 1/2 / 130.
    product = (0.5 / 128) * (1.5 / 129) * (0.5 / 130)
    assert adaptive(b"aab") * 3 == pytest.approx(-math.log2(product))


def text_of(total, whole=True):
    return TextBits((0,), ("abcd",), np.array([float(total)]), np.array([4]), 4, "", whole)


def test_models_and_other_coders_stand_in_order():
    models = {"large": text_of(6), "small": text_of(20), "changes": text_of(1, whole=False)}
    found = per_byte(models, [Coder("zlib", "deflate", 4.5), Coder("uniform", "a guess", 8.0)])
    assert [(one.name, one.per_byte) for one in found.coders] == [
        ("large", 1.5),
        ("zlib", 4.5),
        ("small", 5.0),
        ("uniform", 8.0),
    ]
    assert found.coders[0].how == "6.0 bits over 4 bytes"
    assert str(every_coder(found)) == "Bits per byte: large 1.500, zlib 4.500, small 5.000, uniform 8.000."
    assert str(least_bits(found)) == (
        "Least: large with 1.500 bits per byte. Not compared, as the tokenizer changes the text: changes."
    )
    assert str(least_bits(per_byte({}, [Coder("zlib", "deflate", 4.5)]))) == "Least: zlib with 4.500 bits per byte."
