"""Sounds of notes, made from a seed: a few notes of one octave, each with overtones that die away, in some noise."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.sounds import RATE

NOTES = {"C": 261.63, "D": 293.66, "E": 329.63, "F": 349.23, "G": 392.00, "A": 440.00, "B": 493.88, "c": 523.25}
FEWEST = 2
MOST = 5
SHORTEST = 0.22  # seconds from one note to the next
LONGEST = 0.42
PAUSE = 0.3  # seconds that may pass before the first
LASTS = 0.7  # seconds, after which a note is cut off
OVERTONES = 4
RISE = 0.008  # seconds until a note is at its loudest


def melody_of(seed: int, seconds: float) -> tuple[list[int], list[float]]:
    """Notes by their numbers in NOTES, and the seconds at which each begins; any note may follow any."""
    draws = np.random.default_rng(seed)
    at, notes, begins = draws.uniform(0, PAUSE), list[int](), list[float]()
    for _ in range(draws.integers(FEWEST, MOST + 1)):
        step = draws.uniform(SHORTEST, LONGEST)
        if at + SHORTEST > seconds:
            break
        notes.append(int(draws.integers(len(NOTES))))
        begins.append(float(at))
        at += step
    return notes, begins


def played(notes: list[int], begins: list[float], seconds: float, seed: int) -> Float[ndarray, " sample"]:
    """The sound of notes that begin at these seconds, in a timbre and noise from a seed; from -1 to 1."""
    draws = np.random.default_rng((seed, 1))
    loud = draws.uniform(0.2, 1.0, OVERTONES) / np.arange(1, OVERTONES + 1)
    fade, detune = draws.uniform(3, 8), draws.uniform(0.985, 1.015)
    noise = np.float32(10 ** draws.uniform(-4, -2))
    sound = draws.standard_normal(round(seconds * RATE), dtype=np.float32) * noise
    pitches = [*NOTES.values()]
    for note, begin in zip(notes, begins, strict=True):
        first = round(begin * RATE)
        since = np.arange(min(len(sound) - first, round(LASTS * RATE)), dtype=np.float32) / np.float32(RATE)
        tone = sum(
            np.float32(loud[k - 1]) * np.sin(np.float32(2 * np.pi * k * pitches[note] * detune) * since)
            for k in range(1, OVERTONES + 1)
        )
        sound[first : first + len(since)] += tone * np.exp(np.float32(-fade) * since) * np.minimum(since / RISE, 1)
    return (0.8 * sound / np.abs(sound).max()).astype(np.float32)
