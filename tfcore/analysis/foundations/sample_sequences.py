"""Things to cut up that nobody has to bring: a drawn picture, played notes, a series. The same every time."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from jaxtyping import Float, UInt8
from numpy import ndarray

from tfcore.analysis.foundations.media import RATE

Melody = Literal["notes", "sweep", "vowel"]


def scene(side: int) -> UInt8[ndarray, "side side 3"]:
    """A house between a tree and the sea at evening, drawn at any size by comparing coordinates."""
    y, x = np.mgrid[0:side, 0:side] / side  # 0 at the top and at the left
    sky = np.array([250, 214, 165]) + (np.array([92, 138, 196]) - np.array([250, 214, 165])) * (1 - y / 0.62)[..., None]
    picture = np.clip(sky, 0, 255)

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
    tones = sum(np.sin(2 * np.pi * k * scale[note % 8] * since) * np.exp(-since * 5 * k) / k for k in range(1, 7))
    return tones * np.minimum(since / 0.005, 1) / 2


def _sweep(time: ndarray, seconds: float) -> ndarray:
    return np.sin(2 * np.pi * (100 * time + (7_000 - 100) / (2 * seconds) * time**2))


def _vowel(time: ndarray, seconds: float) -> ndarray:
    part = (time / seconds)[:, None]
    resonances = np.array([730.0, 1090, 2440]) * (1 - part) + np.array([270.0, 2290, 3010]) * part  # hertz
    pitch = 120 + 15 * np.sin(2 * np.pi * 2.5 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    voice = np.zeros_like(time)
    for k in range(1, 40):  # overtones, louder near a resonance
        loud = (1 / (1 + ((k * pitch[:, None] - resonances) / 90) ** 2)).sum(axis=1)
        voice += loud * np.sin(k * phase) * (k * pitch < RATE / 2)
    return voice / np.abs(voice).max()


_MELODIES: dict[Melody, Callable[[ndarray, float], ndarray]] = {"notes": _notes, "sweep": _sweep, "vowel": _vowel}


def temperatures(days: int = 336) -> Float[ndarray, " time"]:
    """Made-up daily temperatures: a year's wave, a week of weather after week, and noise from a fixed formula."""
    t = np.arange(days)
    weather = 2.5 * np.sin(2 * np.pi * t / 17 + np.sin(t / 23)) + 1.2 * np.sin(2 * np.pi * t / 7)
    noise = np.modf(np.sin(12.9898 * t) * 43_758.5453)[0]
    return np.round(11 - 9 * np.cos(2 * np.pi * t / 336) + weather + 1.5 * noise, 1)
