"""Files from strangers: decoded as they should be, or refused in one sentence, never unpacked beyond the limit."""

import io
import struct
import wave
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tfcore.analysis.foundations import media

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


def tone(rate, hertz=440.0, seconds=0.5):
    return np.sin(2 * np.pi * hertz * np.arange(round(rate * seconds)) / rate)


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
@pytest.mark.parametrize("size", [(300, 200), (1, 1), (5, 900)])
def test_a_picture_becomes_a_square(kind, size):
    found = media.picture(encoded(Image.new("RGB", size, RED), kind), 64)
    assert found.shape == (64, 64, 3)
    assert np.abs(found.astype(int) - RED).max() < 4


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGBA", "I;16", "CMYK"])
def test_every_mode_is_read(mode):
    image = Image.new(mode, (20, 20))
    assert media.picture(encoded(image, "JPEG" if mode == "CMYK" else "PNG"), 16).shape == (16, 16, 3)


def test_what_is_transparent_is_white():
    assert (media.picture(encoded(Image.new("RGBA", (9, 9), (0, 0, 0, 0))), 8) == 255).all()


def test_a_picture_taken_sideways_is_turned():
    image = Image.new("RGB", (40, 40), "white")
    image.paste(RED, (0, 0, 40, 20))  # red on top
    exif = Image.Exif()
    exif[0x0112] = 3  # turned by 180 degrees
    found = media.picture(encoded(image, "JPEG", exif=exif), 40)
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
        media.picture(bomb(*size), 64)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no PNG or JPEG"),
        (b"<svg onload=alert(1)>", "no PNG or JPEG"),
        (encoded(Image.new("RGB", (9, 9)), "GIF"), "no PNG or JPEG"),
        (encoded(Image.new("RGB", (9, 9)), "TIFF"), "no PNG or JPEG"),
        (bomb(50, 50), "damaged"),
        (encoded(Image.new("RGB", (99, 99), RED), "JPEG")[:-200], "damaged"),
        (b"\0" * 8_000_001, "8.0 MB"),
    ],
)
def test_what_is_no_picture_is_refused_in_a_sentence(data, words):
    with pytest.raises(ValueError, match=words):
        media.picture(data, 64)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 400), st.binary(min_size=1, max_size=6))
def test_damage_anywhere_is_survived(place, patch):
    for good, read in (
        (encoded(Image.new("RGB", (30, 20), RED)), lambda d: media.picture(d, 16)),
        (wav((tone(8_000) * 9_000).astype("<i2").tobytes(), 8_000), media.sound),
    ):
        at = place % len(good)
        said = ""
        try:
            read(good[:at] + patch + good[at + len(patch) :])
        except ValueError as problem:
            said = str(problem)
        assert not said or said.startswith("this ")


def test_scaling_keeps_the_picture():
    image = media.picture(encoded(Image.new("RGB", (64, 64), RED)), 64)
    assert (media.scaled(image, 32) == RED).all()


def test_an_address_holds_the_picture():
    import base64

    image = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    head, _, body = media.data_address(image, "PNG").partition(",")
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
    found = media.sound(wav(raw, channels=channels, width=width))
    np.testing.assert_allclose(found, 0.5 * tone(16_000), atol=0.02 if width == 1 else 1e-3)


@pytest.mark.parametrize("rate", [8_000, 22_050, 44_100, 48_000])
def test_another_rate_keeps_pitch_and_loudness(rate):
    found = media.sound(wav((tone(rate, 1_000) * 32_000).astype("<i2").tobytes(), rate))
    assert len(found) == 8_000
    spectrum = np.abs(np.fft.rfft(found))
    assert np.argmax(spectrum) * 2 == 1_000  # half a second: 2 hertz a bin
    assert np.abs(found[500:-500]).max() == pytest.approx(32_000 / 2**15, abs=0.02)


def test_thirty_seconds_are_enough():
    assert len(media.sound(wav(bytes(2 * 8_000 * 40), 8_000))) == 30 * 16_000


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no uncompressed"),
        (b"RIFF0000WAVEfmt ", "no uncompressed"),
        (wav(b"\0\0" * 100), "0.006 seconds"),
        (wav(b"\0\0" * 1000, rate=100), "100 samples per second"),
        (b"\0" * 8_000_001, "8.0 MB"),
    ],
)
def test_what_is_no_sound_is_refused_in_a_sentence(data, words):
    with pytest.raises(ValueError, match=words):
        media.sound(data)
