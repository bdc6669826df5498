"""Pictures and sounds from bytes that anyone may have sent: measured before they are unpacked, and bounded.

Libraries do the decoding; these functions only say what is let in. Nothing is written or kept.
"""

import base64
import io
import wave

import numpy as np
from jaxtyping import Float, UInt8
from numpy import ndarray
from PIL import Image, ImageOps

PICTURE_MEGABYTES, PICTURE_PIXELS, PICTURE_SIDE = 8, 25_000_000, 448
SOUND_MEGABYTES, SOUND_SECONDS, SHORTEST_SOUND = 8, 30, 0.1
RATE = 16_000  # samples a second, as speech models take them


def picture(data: bytes, side: int) -> UInt8[ndarray, "side side 3"]:
    """Decode a PNG or JPEG picture, turn it as its EXIF orientation says, and crop and scale it to a square.

    Transparent parts become white. The size is read from the file's head and refused before anything is unpacked, so
    that a small file cannot grow into gigabytes.

    Raises:
        ValueError: bytes that are no such picture, or too many of them, or of pixels.
    """
    _limit(data, PICTURE_MEGABYTES, "picture")
    try:
        image = Image.open(io.BytesIO(data), formats=("PNG", "JPEG"))  # reads the head only
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ValueError(_too_many_pixels("far")) from error
    except Exception as error:  # a decoder may raise anything at all when its file is damaged
        raise ValueError("this is no PNG or JPEG picture; save it as one of these") from error
    width, height = image.size
    if width * height > PICTURE_PIXELS:
        raise ValueError(_too_many_pixels(f"with {width:,} x {height:,}"))
    try:
        image.draft("RGB", (side, side))  # lets JPEG unpack at a half, a quarter or an eighth
        upright = ImageOps.exif_transpose(image).convert("RGBA")
    except Exception as error:
        raise ValueError("this picture is damaged or incomplete; save it again and try once more") from error
    white = Image.new("RGBA", upright.size, "white")
    square = ImageOps.fit(Image.alpha_composite(white, upright).convert("RGB"), (side, side))
    return np.asarray(square)


def scaled(image: UInt8[ndarray, "side side 3"], side: int) -> UInt8[ndarray, "new new 3"]:
    """A square image at another size."""
    return np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.BICUBIC))


def _too_many_pixels(how: str) -> str:
    return (
        f"this picture has too many pixels ({how}); {PICTURE_PIXELS // 10**6} million are the limit, so make it smaller"
    )


def _limit(data: bytes, megabytes: int, what: str) -> None:
    if len(data) > megabytes * 10**6:
        raise ValueError(f"this {what} has {len(data) / 1e6:.1f} MB; {megabytes} MB are the limit, so make it smaller")


def sound(data: bytes) -> Float[ndarray, " sample"]:
    """Decode a WAV file: all channels mixed, at most 30 seconds, at 16,000 samples a second, from -1 to 1.

    Raises:
        ValueError: bytes that are no uncompressed WAV, too many of them, or too short a sound.
    """
    _limit(data, SOUND_MEGABYTES, "sound")
    try:
        with wave.open(io.BytesIO(data)) as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            raw = file.readframes(min(file.getnframes(), SOUND_SECONDS * rate))
    except Exception as error:  # a damaged head may make the module raise anything
        raise ValueError("this is no uncompressed (PCM) WAV file; save the sound as one") from error
    if width > 4:
        raise ValueError(f"this sound has {8 * width} bits per sample; save it with 16, 24 or 32")
    if not 4_000 <= rate <= 192_000:
        raise ValueError(f"this sound has {rate:,} samples per second; use 4,000 to 192,000, for example 44,100")
    mono = _samples(raw, channels, width)
    if len(mono) < SHORTEST_SOUND * rate:
        raise ValueError(f"this sound has {len(mono) / rate:.3f} seconds; use at least {SHORTEST_SOUND}")
    return resample(mono, rate)


def _samples(raw: bytes, channels: int, width: int) -> Float[ndarray, " sample"]:
    """Bytes of 8, 16, 24 or 32 bits a sample as numbers from -1 to 1, the channels averaged."""
    raw = raw[: len(raw) - len(raw) % (channels * width)]
    if width == 1:  # the only one without a sign
        values = np.frombuffer(raw, np.uint8).astype(np.float32) / 128 - 1
    else:
        parts = np.frombuffer(raw, np.uint8).reshape(-1, width)
        padded = np.zeros((len(parts), 4), np.uint8)
        padded[:, 4 - width :] = parts  # little endian: the high bytes come last
        values = (padded.view("<i4")[:, 0] / 2.0**31).astype(np.float32)
    return values.reshape(-1, channels).mean(axis=1)


def resample(samples: Float[ndarray, " sample"], rate: int) -> Float[ndarray, " new"]:
    """The same sound at 16,000 samples a second: its spectrum cut or filled up, so nothing folds back."""
    if rate == RATE:
        return samples
    n = round(len(samples) * RATE / rate)
    spectrum = np.fft.rfft(samples)[: n // 2 + 1]
    return (np.fft.irfft(spectrum, n) * (n / len(samples))).astype(np.float32)


def data_address(image: UInt8[ndarray, "height width 3"], kind: str = "JPEG") -> str:
    """An image as an address that holds it (data:...), for a figure: JPEG for a photo, PNG for a few exact pixels."""
    file = io.BytesIO()
    Image.fromarray(image).save(file, kind, quality=88)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(file.getvalue()).decode()}"
