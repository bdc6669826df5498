"""Signals before they are cut into tokens: pictures, sounds and tables that a visitor brings, and samples of each."""

import base64
import csv
import io
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, UInt8
from numpy import ndarray
from PIL import Image, ImageOps

from tfcore.measures.token_counts import RATE

PICTURE_MEGABYTES = 8  # of a file
PICTURE_KINDS = ("png", "jpg", "jpeg", "webp")  # endings of files
PICTURE_PIXELS = 25_000_000  # 100 MB once unpacked with transparency
WEBP_PIXELS = 12_000_000  # whose decoder needs 320 MB for so many, as PNG's for twice as many
PICTURE_SIDE = 448  # pixels, after scaling
SOUND_MEGABYTES = 8  # of a file
SOUND_SECONDS = 30  # of a sound; the rest is left out
SHORTEST_SOUND = 0.1  # seconds
PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE  # kinds of samples in a WAV file; the last says the kind further on
MOST_CHANNELS = 64
MOST_CHUNKS = 1_000  # parts of a WAV file, of which all but two are left out


def read_picture(data: bytes, side: int) -> UInt8[ndarray, "side side 3"]:
    """Decode a PNG, JPEG or WebP picture, turn it as its EXIF orientation says, and crop and scale it to a square.

    Transparent parts become white; of a moving picture the first frame is read. The size is read from the file's head
    and refused before anything is unpacked, so that a small file cannot grow into gigabytes.

    Raises:
        ValueError: bytes that are no such picture, or too many of them, or of pixels.
    """
    _limit(data, PICTURE_MEGABYTES, "picture")
    if data[:4] + data[8:12] == b"RIFFWEBP":  # which Pillow makes room for as soon as it opens it
        _refuse_size(_webp_size(data), WEBP_PIXELS)
    try:
        image = Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP"))  # reads the head only
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ValueError(_too_many_pixels("far", PICTURE_PIXELS)) from error
    except Exception as error:  # a decoder may raise anything at all when its file is damaged
        raise ValueError("this is no PNG, JPEG or WebP picture; save it as one of these") from error
    _refuse_size(image.size, PICTURE_PIXELS)
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


def _webp_size(data: bytes) -> tuple[int, int]:
    """Width and height that the head of a WebP file says; (0, 0) where it says none (RFC 9649, sections 2.5 to 2.7)."""
    head = data[12:30].ljust(18, b"\0")
    match head[:4]:
        case b"VP8X":  # the canvas, of which all frames are parts
            return int.from_bytes(head[12:15], "little") + 1, int.from_bytes(head[15:18], "little") + 1
        case b"VP8L":
            bits = int.from_bytes(head[9:13], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return int.from_bytes(head[14:16], "little") & 0x3FFF, int.from_bytes(head[16:18], "little") & 0x3FFF
    return 0, 0


def _refuse_size(size: tuple[int, int], most: int) -> None:
    width, height = size
    if width * height > most:
        raise ValueError(_too_many_pixels(f"with {width:,} x {height:,}", most))


def _too_many_pixels(how: str, most: int) -> str:
    return f"this picture has too many pixels ({how}); {most // 10**6} million are the limit, so make it smaller"


def _limit(data: bytes, megabytes: int, what: str) -> None:
    if len(data) > megabytes * 10**6:
        raise ValueError(f"this {what} has {len(data) / 1e6:.1f} MB; {megabytes} MB are the limit, so make it smaller")


def read_sound(data: bytes) -> Float[ndarray, " sample"]:
    """Decode a WAV file: all channels mixed, at most 30 seconds, at 16,000 samples a second, from -1 to 1.

    Raises:
        ValueError: bytes that are no uncompressed WAV, too many of them, or too short a sound.
    """
    _limit(data, SOUND_MEGABYTES, "sound")
    try:
        form, channels, rate, width, raw = _chunks(data)
    except (struct.error, ValueError) as error:
        raise ValueError("this is no uncompressed (PCM) WAV file; save the sound as one") from error
    raw = raw[: SOUND_SECONDS * rate * channels * width]
    if form == FLOAT and width not in (4, 8):
        raise ValueError(f"this sound has floats of {8 * width} bits; save it with 32 or 64, or with 16 bits of PCM")
    if form == PCM and width > 4:
        raise ValueError(f"this sound has {8 * width} bits per sample; save it with 16, 24 or 32")
    if not 4_000 <= rate <= 192_000:
        raise ValueError(f"this sound has {rate:,} samples per second; use 4,000 to 192,000, for example 44,100")
    mono = _floats(raw, channels, width) if form == FLOAT else _samples(raw, channels, width)
    if len(mono) < SHORTEST_SOUND * rate:
        raise ValueError(f"this sound has {len(mono) / rate:.3f} seconds; use at least {SHORTEST_SOUND}")
    return resample(mono, rate)


def _chunks(data: bytes) -> tuple[int, int, int, int, bytes]:
    """The kind of samples in a WAV file, its channels, its rate, the bytes of a sample, and the samples.

    Raises:
        ValueError, struct.error: it is none, or lacks one of its two parts.
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise ValueError("no RIFF file of waves")
    at, head = 12, None
    for _ in range(MOST_CHUNKS):
        if at + 8 > len(data):
            break
        name, length = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        if name == b"fmt ":
            form, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", data, at + 8)
            if form == EXTENSIBLE:
                (form,) = struct.unpack_from("<H", data, at + 8 + 24)
            if form not in (PCM, FLOAT) or not 1 <= channels <= MOST_CHANNELS or not 1 <= bits <= 64:
                raise ValueError("another kind of samples")
            head = form, channels, rate, (bits + 7) // 8
        elif name == b"data" and head is not None:
            return *head, data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2
    raise ValueError("no samples")


def _floats(raw: bytes, channels: int, width: int) -> Float[ndarray, " sample"]:
    """Bytes of floats, the channels averaged, from -1 to 1; what is no number counts as 0."""
    raw = raw[: len(raw) - len(raw) % (channels * width)]
    values = np.nan_to_num(np.frombuffer(raw, f"<f{width}"), posinf=0, neginf=0).clip(-1, 1).astype(np.float32)
    return values.reshape(-1, channels).mean(axis=1)


def _samples(raw: bytes, channels: int, width: int) -> Float[ndarray, " sample"]:
    """Bytes of 8, 16, 24 or 32 bits a sample as numbers from -1 to 1, the channels averaged."""
    raw = raw[: len(raw) - len(raw) % (channels * width)]
    if width == 1:  # the only one without a sign
        values = np.frombuffer(raw, np.uint8).astype(np.float32) / 128 - 1
    else:
        parts = np.frombuffer(raw, np.uint8).reshape(-1, width)
        padded = np.zeros((len(parts), 4), np.uint8)
        padded[:, 4 - width :] = parts  # little endian: the high bytes come last
        values = (padded.view("<i4").ravel() / 2.0**31).astype(np.float32)
    return values.reshape(-1, channels).mean(axis=1)


def resample(samples: Float[ndarray, " sample"], rate: int) -> Float[ndarray, " new"]:
    """A sound at 16,000 samples a second: its spectrum cut or filled up, so nothing folds back."""
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


DELIMITERS = "\t;,"
LARGEST = 1e15  # beyond it, float64 no longer tells neighbouring whole numbers apart


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column of a pasted table.

    Args:
        names: of all columns, from the header, or "column 1" ... where there is none.
        index: of the column that was read.
        values: its numbers, in order.
        skipped: (line, what stands there) of the rows without a number in this column.
    """

    names: tuple[str, ...]
    index: int
    values: Float[ndarray, " time"]
    skipped: tuple[tuple[int, str], ...]


def read_column(text: str, index: int | None = None) -> TableColumn:
    """Read one column of numbers from CSV text.

    The delimiter is whichever of tab, semicolon and comma stands in the first line with text; with one of the first
    two, a comma inside a number is a decimal comma. The first line is a header if it has no number at all.

    Args:
        text: the table.
        index: of the column; None takes the last one with a number in half of the rows or more (counters and dates come
            first), or else the one with the most numbers.

    Raises:
        ValueError: no number in the column, or no such column.
    """
    rows, decimal_comma = _rows(text)
    if not rows:
        raise ValueError("there is no table yet; paste one number a line, or rows of a CSV file")
    header = all(parse_number(cell, decimal_comma) is None for cell in rows[0][1]) and len(rows) > 1
    body = rows[1:] if header else rows
    width = max(len(cells) for _, cells in rows)
    given = rows[0][1] if header else []
    names = tuple((given[i].strip() if i < len(given) else "") or f"column {i + 1}" for i in range(width))
    if index is None:
        numbers = [
            sum(parse_number(_cell(cells, i), decimal_comma) is not None for _, cells in body) for i in range(width)
        ]
        index = max(range(width), key=lambda i: (min(2 * numbers[i], len(body)), i))
    if not 0 <= index < width:
        raise ValueError(f"there is no column {index + 1}; this table has {width}")
    read = [(line, _cell(cells, index), parse_number(_cell(cells, index), decimal_comma)) for line, cells in body]
    values = np.array([value for *_, value in read if value is not None], dtype=np.float64)
    skipped = tuple((line, cell) for line, cell, value in read if value is None)
    if not len(values):
        raise ValueError(f"no row has a number in {names[index]!r}; choose another column, or paste numbers like 3.5")
    return TableColumn(names, index, values, skipped)


def parse_number(cell: str, decimal_comma: bool = False) -> float | None:
    """The number a cell holds, or None: words, blanks, infinities and numbers beyond 1e15 are none."""
    cell = cell.strip().replace("−", "-")
    if decimal_comma and cell.count(",") == 1 and "." not in cell:
        cell = cell.replace(",", ".")
    try:
        value = float(cell) if "_" not in cell else math.nan
    except ValueError:
        return None
    return value if abs(value) <= LARGEST else None


def _rows(text: str) -> tuple[list[tuple[int, list[str]]], bool]:
    """(line, cells) of every line that is not blank, and whether a comma is a decimal comma."""
    lines = [(i, line) for i, line in enumerate(text.replace("\0", "").splitlines(), start=1) if line.strip()]
    if not lines:
        return [], False
    delimiter = next((d for d in DELIMITERS if d in lines[0][1]), ",")
    rows = [(i, next(csv.reader([line], delimiter=delimiter), [""])) for i, line in lines]
    return rows, delimiter != ","


def _cell(cells: list[str], index: int) -> str:
    return cells[index] if index < len(cells) else ""


Melody = Literal["notes", "sweep", "vowel"]


def scene(side: int) -> UInt8[ndarray, "side side 3"]:
    """A house between a tree and the sea at evening, drawn at any size by comparing coordinates."""
    y, x = np.mgrid[0:side, 0:side] / side  # 0 at the top and at the left
    low, high = np.array([250, 214, 165]), np.array([92, 138, 196])  # the sky, at the sea and at the top
    picture = low + (high - low) * (1 - y / 0.62)[..., None]

    def paint(where: ndarray, *colour: int) -> None:
        picture[where] = colour

    paint((x - 0.74) ** 2 + (y - 0.40) ** 2 < 0.085**2, 253, 236, 150)
    sea = y > 0.62
    paint(sea, 44, 96, 130)
    paint(sea & (np.sin(60 * y**2 + 4 * np.sin(18 * x)) > 0.75), 92, 146, 170)
    paint(sea & (abs(x - 0.74) < 0.03 + 0.1 * (y - 0.62)) & (np.sin(160 * y) > 0), 246, 222, 150)
    paint(y > 0.70 + 0.06 * np.sin(3.2 * x + 0.4), 88, 128, 74)
    paint((x > 0.26) & (x < 0.56) & (y > 0.46) & (y < 0.80), 214, 190, 160)
    paint((y > 0.28) & (y < 0.46) & (abs(x - 0.41) < (y - 0.28) * 1.05), 150, 62, 52)
    paint((x > 0.48) & (x < 0.52) & (y > 0.25) & (y < 0.40), 120, 70, 60)
    paint((x > 0.375) & (x < 0.445) & (y > 0.62) & (y < 0.80), 92, 62, 46)
    for left in (0.29, 0.47):
        window = (x > left) & (x < left + 0.065) & (y > 0.53) & (y < 0.60)
        paint(window, 255, 232, 140)
        paint(window & ((abs(x - left - 0.0325) < 0.004) | (abs(y - 0.565) < 0.004)), 92, 62, 46)
    paint((abs(x - 0.13) < 0.014) & (y > 0.50) & (y < 0.82), 84, 58, 42)
    for cx, cy, radius in ((0.13, 0.42, 0.105), (0.075, 0.48, 0.07), (0.185, 0.49, 0.075)):
        paint((x - cx) ** 2 + (y - cy) ** 2 < radius**2, 52, 98, 60)
        paint((x - cx - 0.02) ** 2 + (y - cy + 0.02) ** 2 < (0.55 * radius) ** 2, 82, 132, 76)
    return picture.round().astype(np.uint8)


def melody(kind: Melody, seconds: float) -> Float[ndarray, " sample"]:
    """A sound of so many seconds at 16,000 samples a second, from -1 to 1.

    notes: one of a rising chord every quarter of a second, each with overtones, dying away. sweep: one tone from 100
    to 7,000 hertz. vowel: a buzzing voice whose resonances move from "ah" to "ee".
    """
    time = np.arange(round(seconds * RATE)) / RATE
    return (0.9 * _MELODIES[kind](time, seconds)).astype(np.float32)


def _notes(time: ndarray, _: float) -> ndarray:
    scale = np.array([261.63, 329.63, 392.00, 523.25, 659.26, 523.25, 392.00, 329.63])  # C E G C' E' C' G E
    note = (time / 0.25).astype(int)
    since = time - 0.25 * note
    tones = sum(
        np.sin(2 * np.pi * k * scale[note % len(scale)] * since) * np.exp(-since * 5 * k) / k for k in range(1, 7)
    )
    return tones * np.minimum(since / 0.005, 1) / 2


def _sweep(time: ndarray, seconds: float) -> ndarray:
    return np.sin(2 * np.pi * (100 * time + (7_000 - 100) / (2 * seconds) * time**2))


def _vowel(time: ndarray, seconds: float) -> ndarray:
    part = (time / seconds)[:, None]
    resonances = np.array([730.0, 1090, 2440]) * (1 - part) + np.array([270.0, 2290, 3010]) * part  # hertz
    pitch = 120 + 15 * np.sin(2 * np.pi * 2.5 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    voice = np.zeros_like(time)
    for k in range(1, 40):  # overtones up to 5,265 hertz, louder near a resonance
        loud = (1 / (1 + ((k * pitch[:, None] - resonances) / 90) ** 2)).sum(axis=1)
        voice += loud * np.sin(k * phase)
    return voice / np.abs(voice).max()


_MELODIES: dict[Melody, Callable[[ndarray, float], ndarray]] = {"notes": _notes, "sweep": _sweep, "vowel": _vowel}


def temperatures(days: int = 336) -> Float[ndarray, " time"]:
    """Made-up daily temperatures: a year's wave, a week of weather after week, and noise from a fixed formula."""
    t = np.arange(days)
    weather = 2.5 * np.sin(2 * np.pi * t / 17 + np.sin(t / 23)) + 1.2 * np.sin(2 * np.pi * t / 7)
    noise = np.modf(np.sin(12.9898 * t) * 43_758.5453)[0]
    return np.round(11 - 9 * np.cos(2 * np.pi * t / 336) + weather + 1.5 * noise, 1)
