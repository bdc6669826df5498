"""Pictures, sounds and tables that lie about themselves: read as they are or refused, in bounded memory and time."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from tests.bounded import bounded
from tests.foundations.tokens.test_signals import encoded, wav
from tfcore.measures.token_counts import RATE
from tfcore.views.foundations.tokens.measure import signals
from tfcore.views.foundations.tokens.measure.signals import read_column

MEGABYTES, SECONDS = 150, 5  # that one file may take
RED = Image.new("RGB", (40, 30), (200, 30, 40))


@pytest.fixture(autouse=True)
def _bounded():
    with bounded(MEGABYTES, SECONDS):
        yield


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def with_chunk(name: bytes, data: bytes) -> bytes:
    """A small PNG with one more part after its head."""
    good = encoded(RED)
    return good[:33] + chunk(name, data) + good[33:]


def said_size(width: int, height: int) -> bytes:
    """A JPEG whose head says another size."""
    good = encoded(RED, "JPEG")
    at = good.index(b"\xff\xc0") + 5
    return good[:at] + struct.pack(">HH", height, width) + good[at + 4 :]


def animated(n: int, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    RED.save(file, kind, save_all=True, append_images=[Image.new("RGB", (40, 30), (i, 0, 0)) for i in range(n)])
    return file.getvalue()


ZEROS = zlib.compress(b"\0" * 60_000_000, 9)
PICTURES = {
    "a bomb among its words": with_chunk(b"zTXt", b"Comment\0\0" + ZEROS),
    "a bomb among its words in UTF-8": with_chunk(b"iTXt", b"Comment\0\x01\0\0\0" + ZEROS),
    "a bomb as its colours": with_chunk(b"iCCP", b"icc\0\0" + ZEROS),
    "EXIF of nonsense": with_chunk(b"eXIf", b"MM\0*" + b"\xff" * 5_000),
    "many frames": animated(60),
    "frames that it has not": with_chunk(b"acTL", struct.pack(">II", 2**31 - 1, 0)),
    "a JPEG of 65,535 lines": said_size(65_535, 65_535),
    "a JPEG that says 5,000 x 4,999": said_size(5_000, 4_999),
    "a JPEG of no lines": said_size(40, 0),
    "a WebP of 16,384 x 16,384": b"RIFF\xff\xff\xff\x7fWEBPVP8X\x0a\0\0\0\0\0\0\0\xff\x3f\0\xff\x3f\0",
    "a WebP whose frame is larger than it": encoded(RED, "WEBP")[:12]
    + b"VP8X\x0a\0\0\0\0\0\0\0\x01\0\0\x01\0\0"
    + encoded(RED, "WEBP")[12:],
    "many frames of WebP": animated(60, "WEBP"),
    "an SVG called PNG": b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    "an SVG behind a PNG's first bytes": b"\x89PNG\r\n\x1a\n<svg onload=alert(1)>",
    "a web page behind a picture": encoded(RED) + b"<script>alert(1)</script>" * 1_000,
    "a zip file": b"PK\x03\x04" + b"\0" * 500,
    "cut": encoded(RED)[:60],
}


@pytest.mark.parametrize("data", PICTURES.values(), ids=PICTURES)
def test_a_picture_is_a_square_or_one_sentence(data):
    refusal = "this one sentence"
    try:
        assert signals.read_picture(data, 64).shape == (64, 64, 3)
    except ValueError as refused:
        refusal = str(refused)
    assert refusal.startswith("this ")
    assert "\n" not in refusal
    assert len(refusal) < 200


def changed(at: int, kind: str, value: int) -> bytes:
    good = bytearray(wav(bytes(4_000)))
    struct.pack_into(kind, good, at, value)
    return bytes(good)


SOUNDS = {
    "4 GB of it": changed(4, "<I", 2**32 - 1),
    "4 GB of samples": changed(40, "<I", 2**32 - 1),
    "a head of 4 GB": changed(16, "<I", 2**32 - 1),
    "no channel": changed(22, "<H", 0),
    "65,535 channels": changed(22, "<H", 65_535),
    "no samples a second": changed(24, "<I", 0),
    "4 billion samples a second": changed(24, "<I", 2**32 - 1),
    "no bits": changed(34, "<H", 0),
    "65,535 bits": changed(34, "<H", 65_535),
    "another coding": changed(20, "<H", 85),
}


@pytest.mark.parametrize("data", SOUNDS.values(), ids=SOUNDS)
def test_a_sound_is_numbers_or_one_sentence(data):
    refusal = "this one sentence"
    try:
        samples = signals.read_sound(data)
        assert len(samples) <= signals.SOUND_SECONDS * RATE
        assert np.isfinite(samples).all()
    except ValueError as refused:
        refusal = str(refused)
    assert refusal.startswith("this ")
    assert "\n" not in refusal


TABLES = {
    "formulas": '=cmd|"/c calc"!A1,1\n@SUM(1),2\n+1+1,3',
    "zero bytes": "a\0,b\0\n1\0,2\0",
    "ragged": "1\n1,2\n1,2,3\n" * 1_000,
    "quotes without an end": '"' * 9_999,
    "columns": ",".join("1" * 9_999),
    "a cell": "9" * 20_000,
    "endings": "1\r2\r\n3\x0b4\x0c5\x1c6\u20287",
    "exponents": "\n".join(f"1e{i}" for i in range(-400, 400)),
    "digits of all scripts": "١\n२\n３\n𝟜",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_a_table_is_numbers_or_one_sentence(text):
    refusal = "one sentence"
    try:
        values = read_column(text).values
        assert len(values)
        assert np.isfinite(values).all()
    except ValueError as refused:
        refusal = str(refused)
    assert "\n" not in refusal
    assert len(refusal) < 300
