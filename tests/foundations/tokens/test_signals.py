"""Files and tables from strangers: decoded as they should be, or refused in one sentence; and samples of our own."""

import io
import json
import struct
import wave
import zlib
from os import environ
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.pages.snapshot import ANEW
from tfcore.views.foundations.tokens.measure import signals
from tfcore.views.foundations.tokens.measure.signals import melody, parse_number, read_column, scene, temperatures
from tfcore.views.foundations.tokens.say.signals import ColumnReport, column_report

RED = (200, 30, 40)


def encoded(image, kind="PNG", **more):
    file = io.BytesIO()
    image.save(file, kind, **more)
    return file.getvalue()


def wav(samples, rate=16_000, channels=1, width=2):
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(width)
        out.setframerate(rate)
        out.writeframes(samples)
    return file.getvalue()


def of_bits(bits):
    """A sound whose head says that a sample has so many bits."""
    data = bytearray(wav(bytes(9_600)))
    data[34] = bits
    return bytes(data)


def tone(rate, hertz=440.0, seconds=0.5):
    return np.sin(2 * np.pi * hertz * np.arange(round(rate * seconds)) / rate)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize("size", [(300, 200), (1, 1), (5, 900)])
def test_a_picture_becomes_a_square(kind, size):
    found = signals.read_picture(encoded(Image.new("RGB", size, RED), kind), 64)
    assert found.shape == (64, 64, 3)
    assert np.abs(found.astype(int) - RED).max() < 4


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGBA", "I;16", "CMYK"])
def test_every_mode_is_read(mode):
    image = Image.new(mode, (20, 20))
    assert signals.read_picture(encoded(image, "JPEG" if mode == "CMYK" else "PNG"), 16).shape == (16, 16, 3)


def test_what_is_transparent_is_white():
    assert (signals.read_picture(encoded(Image.new("RGBA", (9, 9), (0, 0, 0, 0))), 8) == 255).all()


def test_a_picture_taken_sideways_is_turned():
    image = Image.new("RGB", (40, 40), "white")
    image.paste(RED, (0, 0, 40, 20))  # red on top
    exif = Image.Exif()
    exif[0x0112] = 3  # turned by 180 degrees
    found = signals.read_picture(encoded(image, "JPEG", exif=exif), 40)
    assert found[5].mean() > 200
    assert np.abs(found[-5].astype(int) - RED).max() < 12


def bomb(width, height):
    """A PNG of a few bytes that says it is huge."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(5_001, 5_000), (12_000, 9_000), (60_000, 60_000), (2**31 - 1, 2**31 - 1)])
def test_a_decompression_bomb_is_refused_by_its_head(size):
    with pytest.raises(ValueError, match="too many pixels"):
        signals.read_picture(bomb(*size), 64)


def webp(first, size, *, animated=False):
    """A WebP file whose head says another size."""
    more = {"save_all": True, "append_images": [Image.new("RGB", (40, 30), RED)]} if animated else {}
    data = bytearray(encoded(Image.new("RGB", (40, 30)), "WEBP", lossless=first == b"VP8L", **more))
    assert data[12:16] == first
    width, height = size
    if first == b"VP8X":
        data[24:30] = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif first == b"VP8L":
        data[21:25] = ((width - 1) | (height - 1) << 14).to_bytes(4, "little")
    else:
        data[26:30] = struct.pack("<HH", width, height)
    return bytes(data)


@pytest.mark.parametrize("first", [b"VP8X", b"VP8L", b"VP8 "])
def test_the_head_of_a_webp_file_is_read_before_it_is_opened(monkeypatch, first):
    small = webp(first, (40, 30), animated=first == b"VP8X")
    assert signals.read_picture(small, 16).shape == (16, 16, 3)
    monkeypatch.setattr(Image, "open", None)
    with pytest.raises(ValueError, match=r"with 16,000 x 9,000\); 12 million are the limit"):
        signals.read_picture(webp(first, (16_000, 9_000), animated=first == b"VP8X"), 16)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no PNG, JPEG or WebP"),
        (b"<svg onload=alert(1)>", "no PNG, JPEG or WebP"),
        (encoded(Image.new("RGB", (9, 9)), "GIF"), "no PNG, JPEG or WebP"),
        (encoded(Image.new("RGB", (9, 9)), "TIFF"), "no PNG, JPEG or WebP"),
        (b"RIFF    WEBPVP8X", "no PNG, JPEG or WebP"),
        (b"RIFF    WEBPname" + bytes(60), "no PNG, JPEG or WebP"),
        (encoded(Image.new("RGB", (99, 99), RED), "WEBP")[:-20], "no PNG, JPEG or WebP"),
        (bomb(50, 50), "damaged"),
        (bomb(5_000, 5_000), "damaged"),
        (b"\0" * 8_000_000, "no PNG, JPEG or WebP"),
        (encoded(Image.new("RGB", (99, 99), RED), "JPEG")[:-200], "damaged"),
        (b"\0" * 8_000_001, "8.0 MB"),
    ],
)
def test_what_is_no_picture_is_refused_in_a_sentence(data, words):
    with pytest.raises(ValueError, match=words):
        signals.read_picture(data, 64)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 400), st.binary(min_size=1, max_size=6))
def test_damage_anywhere_is_survived(place, patch):
    for good, read in (
        (encoded(Image.new("RGB", (30, 20), RED)), lambda d: signals.read_picture(d, 16)),
        (wav((tone(8_000) * 9_000).astype("<i2").tobytes(), 8_000), signals.read_sound),
    ):
        at = place % len(good)
        said = ""
        try:
            read(good[:at] + patch + good[at + len(patch) :])
        except ValueError as problem:
            said = str(problem)
        assert not said or said.startswith("this ")


def test_scaling_keeps_the_picture():
    image = signals.read_picture(encoded(Image.new("RGB", (64, 64), RED)), 64)
    assert (signals.scaled(image, 32) == RED).all()


def test_an_address_holds_the_picture():
    import base64

    image = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    head, _, body = signals.data_address(image, "PNG").partition(",")
    assert head == "data:image/png;base64"
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(base64.b64decode(body)))), image)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2])
def test_every_depth_of_a_wave(width, channels):
    signal = np.repeat(0.5 * tone(16_000), channels)
    if width == 1:
        raw = np.round(signal * 127 + 128).astype(np.uint8).tobytes()
    else:
        whole = np.round(signal * (2 ** (8 * width - 1) - 1)).astype("<i4")
        raw = whole.view(np.uint8).reshape(-1, 4)[:, :width].tobytes()
    found = signals.read_sound(wav(raw, channels=channels, width=width))
    np.testing.assert_allclose(found, 0.5 * tone(16_000), atol=0.02 if width == 1 else 1e-3)


def floats(values, channels=1, form=3, rate=16_000):
    """A WAV file of floats, written apart; form 0xFFFE says further on that they are."""
    raw = values.tobytes()
    width = values.dtype.itemsize
    head = struct.pack("<HHIIHH", form, channels, rate, rate * channels * width, channels * width, 8 * width)
    head += struct.pack("<HHIH14x", 22, 8 * width, 0, 3) if form == 0xFFFE else b""
    parts = b"fmt " + struct.pack("<I", len(head)) + head + b"LIST" + struct.pack("<I", 3) + b"abc\0"
    parts += b"data" + struct.pack("<I", len(raw)) + raw
    return b"RIFF" + struct.pack("<I", 4 + len(parts)) + b"WAVE" + parts


@pytest.mark.parametrize("form", [3, 0xFFFE])
@pytest.mark.parametrize("kind", ["<f4", "<f8"])
def test_floats_are_read(form, kind):
    both = np.stack((0.5 * tone(16_000), np.zeros(8_000)), axis=1).astype(kind)
    np.testing.assert_allclose(signals.read_sound(floats(both, 2, form)), 0.25 * tone(16_000), atol=1e-6)


def test_floats_that_are_no_numbers_are_silence_and_loud_ones_are_cut():
    values = np.array([np.nan, np.inf, -np.inf, 7, -7] * 400, dtype="<f4")
    assert signals.read_sound(floats(values)).tolist()[:5] == [0, 0, 0, 1, -1]


@pytest.mark.parametrize("rate", [8_000, 22_050, 44_100, 48_000])
def test_another_rate_keeps_pitch_and_loudness(rate):
    found = signals.read_sound(wav((tone(rate, 1_000) * 32_000).astype("<i2").tobytes(), rate))
    assert len(found) == 8_000
    spectrum = np.abs(np.fft.rfft(found))
    assert np.argmax(spectrum) * 2 == 1_000  # half a second: 2 hertz a bin
    assert np.abs(found[500:-500]).max() == pytest.approx(32_000 / 2**15, abs=0.02)


def test_a_file_that_ends_within_a_sample_is_read_up_to_there():
    whole = wav((tone(16_000) * 9_000).astype("<i2").tobytes(), channels=2)
    assert len(signals.read_sound(whole[:-1])) == len(signals.read_sound(whole)) - 1 == 3_999


@pytest.mark.parametrize("rate", [4_000, 16_000, 192_000])
def test_a_tenth_of_a_second_is_enough_at_any_rate(rate):
    assert len(signals.read_sound(wav(bytes(2 * rate // 10), rate))) == 1_600


def test_thirty_seconds_are_enough():
    assert len(signals.read_sound(wav(bytes(2 * 8_000 * 40), 8_000))) == 30 * 16_000


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no uncompressed"),
        (b"RIFF0000WAVEfmt ", "no uncompressed"),
        (wav(b"\0\0" * 100), "0.006 seconds"),
        (wav(b"\0\0" * 1599), "0.100 seconds"),
        (wav(b"\0\0" * 1000, rate=3_999), "3,999 samples per second"),
        (wav(b"\0\0" * 1000, rate=192_001), "192,001 samples per second"),
        (of_bits(40), "40 bits per sample"),
        (floats(np.zeros(4_000, dtype="<f2")), "floats of 16 bits"),
        (floats(np.zeros(4_000, dtype="<f4"), form=2), "no uncompressed"),
        (b"RIFF\0\0\0\0WAVE" + b"fact\0\0\0\0" * 900_000, "no uncompressed"),
        (b"\0" * 8_000_000, "no uncompressed"),
        (b"\0" * 8_000_001, "8.0 MB"),
    ],
)
def test_what_is_no_sound_is_refused_in_a_sentence(data, words):
    with pytest.raises(ValueError, match=words):
        signals.read_sound(data)


@pytest.mark.parametrize(
    ("text", "index", "names", "values"),
    [
        ("1\n2\n3", None, ("column 1",), [1, 2, 3]),
        ("x\n1\n2", None, ("x",), [1, 2]),
        ("day,t\n1,2.5\n2,3.5", None, ("day", "t"), [2.5, 3.5]),
        ("day,t\n1,2.5\n2,3.5", 0, ("day", "t"), [1, 2]),
        ("Monat;Wert\nJan;1,5\nFeb;-2,5", None, ("Monat", "Wert"), [1.5, -2.5]),
        ("a\tb\nx\t1e3\ny\t−4", None, ("a", "b"), [1000, -4]),
        ('name,"a, b"\n"x, y",7', None, ("name", "a, b"), [7]),
        ("\n\n  \nv\n\n1\n", None, ("v",), [1]),
        ("t,v\n1,2\n2,x\n3,4", None, ("t", "v"), [2, 4]),
        ("v,note\n1,\n2,\n3,7", None, ("v", "note"), [1, 2, 3]),
        ("1,2,3\n4", 2, ("column 1", "column 2", "column 3"), [3]),
    ],
)
def test_usual_tables(text, index, names, values):
    found = read_column(text, index)
    assert found.names == names
    np.testing.assert_array_equal(found.values, values)


def test_bad_rows_are_named_with_their_line():
    found = read_column("month;sales\nJan;12,5\nFeb;n/a\n\nMar;\nApr;inf\nMay;1\n", 1)
    assert found.values.tolist() == [12.5, 1.0]
    assert found.skipped == ((3, "n/a"), (5, ""), (6, "inf"))


@pytest.mark.parametrize(
    ("text", "index", "words"),
    [
        ("", None, "no table yet"),
        (" \n\t\n", None, "no table yet"),
        ("a,b\nc,d", None, "no row has a number"),
        ("1,2", 2, "no column 3; this table has 2"),
        ("1", -1, "no column 0"),
    ],
)
def test_what_is_no_column_is_said(text, index, words):
    with pytest.raises(ValueError, match=words):
        read_column(text, index)


@pytest.mark.parametrize("cell", ["", "x", "nan", "inf", "-inf", "1e400", "1e16", "1_000", "0x10", "1,5", "1 2"])
def test_what_is_no_number(cell):
    assert parse_number(cell) is None


@pytest.mark.parametrize("cell", ["1e15", "-1e15"])
def test_the_largest_number(cell):
    assert parse_number(cell) == float(cell)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_in_a_sentence(text):
    refusal = ""
    try:
        found = read_column(text)
    except ValueError as problem:
        refusal = str(problem)
    if refusal:
        assert len(refusal) > 20
    else:
        assert len(found.values) > 0
        assert np.isfinite(found.values).all()
        assert 0 <= found.index < len(found.names)


def test_the_samples_are_the_same_every_time_and_never_too_loud():
    assert scene(64).shape == (64, 64, 3)
    np.testing.assert_array_equal(scene(96), scene(96))
    for kind in ("notes", "sweep", "vowel"):
        sound = melody(kind, 1.0)
        assert len(sound) == 16_000
        assert 0.3 < np.abs(sound).max() <= 1
        np.testing.assert_array_equal(sound, melody(kind, 1.0))
    np.testing.assert_array_equal(temperatures(), temperatures())


def test_a_column_is_reported_with_the_rows_it_lacks():
    found = read_column("t;v\n1;2,5\n2;oops\n3;4,5\n4;\n5;1,0\n", 1)
    assert column_report(found, 9) == ColumnReport("v", 3, ((3, "oops"), (5, "")), 3)
    assert str(column_report(found, 2)) == (
        "3 numbers in “v”. 2 rows have no number there and were left out: line 3 (oops), line 5 (empty). The first 2 "
        "are used."
    )
    assert str(ColumnReport("v" * 40, 2_500, ((7, "x"),), 2_500)) == (
        f"2,500 numbers in “{'v' * 29}…”. 1 row has no number there and was left out: line 7 (x)."
    )
    many = tuple((line, "?") for line in range(1, 8))
    assert str(ColumnReport("v", 2, many, 2)).endswith("line 1 (?), line 2 (?), line 3 (?), line 4 (?) and 3 more.")
    assert str(ColumnReport("v", 2, many[:5], 2)).endswith("line 4 (?) and 1 more.")
    assert str(ColumnReport("v", 2, many[:4], 2)).endswith("line 3 (?), line 4 (?).")
    assert str(ColumnReport("v", 2, (), 2)) == "2 numbers in “v”."


DRAWN = Path(__file__).with_name("drawn_signals.png"), Path(__file__).with_name("drawn_signals.json")


def drawn() -> dict[str, list[float]]:
    """How loud each melody is in every fortieth of a second, how often it changes its sign, and the temperatures."""
    found = {}
    for kind in get_args(signals.Melody):
        sound = signals.melody(kind, 2.0).reshape(80, -1)
        found[kind] = np.sqrt((sound**2).mean(1)).round(4).tolist()
        found[f"{kind}: changes of sign"] = (np.diff(sound > 0, axis=1)).sum(1).tolist()
    return {**found, "temperatures": temperatures().tolist()}


def test_what_is_drawn_is_what_was_recorded():
    """No formula says what a house looks like: what changes shows in the difference of a commit. At 200 pixels edges
    lie on pixels."""
    picture, words = DRAWN
    if ANEW in environ:
        Image.fromarray(scene(200)).save(picture)
        words.write_text(json.dumps(drawn()) + "\n", "utf-8")
    apart = np.abs(scene(200).astype(int) - np.asarray(Image.open(picture)))
    assert (apart > 1).mean() < 1e-4
    for name, values in json.loads(words.read_text("utf-8")).items():
        assert drawn()[name] == pytest.approx(values, rel=0.01, abs=1 if "sign" in name else 2e-3), name
