"""The panels on an image as patches and a sound as frames."""

from math import isqrt
from typing import Any

import pandas as pd
import streamlit as st

from pages.foundations.tokens import cost, experiments
from pages.foundations.tokens.uploads import upload
from pages.ui import cache, controls, page
from pages.ui.components.figure import Event, figure
from pages.ui.program import made
from tfcore.analysis.foundations import signal_tokens, signals
from tfcore.analysis.foundations.signal_tokens import AudioFrames, PatchVector
from tfcore.analysis.foundations.signals import Melody
from tfcore.figures.foundations import signal_tokens as figures

STRIP = 12  # patches shown in a row
PATCHES = [2 * half for half in range(2, 33)]
HOPS = [2.5, 4.0, 5.0, 7.5, 10.0, 12.5, 15.0, 20.0, 25.0, 30.0]
SOUNDS: dict[Melody, str] = {"notes": "notes", "sweep": "a sweep", "vowel": "a vowel"}

scene = cache.data(max_entries=16)(signals.scene)


@cache.data(max_entries=12)
def synthesised(kind: Melody, seconds: int, window_ms: float, hop_ms: float) -> AudioFrames:
    """A synthesised sound in frames."""
    return signal_tokens.cut_frames(signals.melody(kind, float(seconds)), window_ms, hop_ms)


def image() -> None:
    """The panel on images."""
    st.markdown("**Cut the picture into squares, read them line by line, and flatten each into one vector.**")
    page.try_this(
        {
            "ViT-B/16": {"side": 224, "patch": 16, "at": 77},
            "ViT-H/14": {"side": 224, "patch": 14},
            "ViT-B/32": {"side": 224, "patch": 32, "at": 16},
            "nearly pixels": {"side": 224, "patch": 4, "at": 900},
            "a border is lost": {"side": 224, "patch": 48, "at": 5},
            "twice the side": {"side": 448, "patch": 16, "at": 300},
        }
    )
    left, right = st.columns([2, 3], gap="large")
    with left:
        patch = controls.slider("Side P of a patch (pixels)", "patch", PATCHES[0], PATCHES[-1], 16, 2)
        side = controls.slider("Side of the image (pixels)", "side", 64, signals.PICTURE_SIDE, 224, 32)
        n = signal_tokens.patch_count(side, patch)
        at = controls.place("Patch to look at", "at", n, 77)
        own = upload(
            "Your own picture",
            "picture",
            ["png", "jpg", "jpeg"],
            signals.PICTURE_MEGABYTES,
            lambda data: signals.read_picture(data, signals.PICTURE_SIDE),
        )
    pixels = scene(side) if own is None else signals.scaled(own, side)
    with right:
        _picture(pixels, side, patch, at)
    vectors = signal_tokens.patchify(pixels, patch)
    vector = signal_tokens.patch_vector(vectors, at)
    cost.metrics(n, "Tokens (patches)", "Values per token", vector.values_text)
    _strip(vectors, vector)
    lengths = [signal_tokens.patch_count(side, p) for p in PATCHES]
    cost.curve(experiments.image(pixels, patch, PATCHES, at), PATCHES, lengths, "side of a patch")
    page.what_to_see(
        "Halve the side of a patch and there are about four times as many tokens, so sixteen times as many cells in "
        "every attention map. In the row below the picture a patch stands beside its left and right neighbours, but "
        "the one above it is a whole line away: only the position vectors can tell the model that they touch."
    )
    if own is None:
        source = made(signals.scene, side)
    else:
        source = made(experiments.own_picture, "picture.png", side, signals.PICTURE_SIDE)
    page.question(
        "A picture of 224 × 224 has 50,176 pixels. Why is no pixel a token?",
        "An attention map would have 50,176² = 2.5 billion cells, in every head of every layer. Patches of 16 make "
        "196 tokens and 38,416 cells; the 768 numbers of a patch fit into one vector of width 768.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.image, source, patch, PATCHES, at),
        formula=(
            r"n = \left\lfloor\tfrac{H}{P}\right\rfloor\left\lfloor\tfrac{W}{P}\right\rfloor, \qquad "
            r"x_i = E\,\mathrm{flatten}(\mathrm{patch}_i) + p_i, \quad E \in \mathbb{R}^{d \times 3P^2}"
        ),
        code=(signal_tokens.patchify, signals.scene if own is None else signals.read_picture),
        papers=(
            "An Image is Worth 16x16 Words, section 3.1, equation 1, arXiv:2010.11929; there one more token, for the "
            "class, stands in front"
        ),
    )


def _picture(pixels: Any, side: int, patch: int, at: int) -> None:
    finding = signal_tokens.picture_cut(side, patch, at)

    def choose(event: Event) -> None:
        match event["point"]:
            case [int(row), int(column)] if row < finding.rows and column < finding.rows:
                controls.set_values(at=row * finding.rows + column)

    figure(
        figures.picture_figure(signals.data_address(pixels), side, patch, at, height=460),
        key="picture",
        height=460,
        on_click=choose,
        alt=f"A picture of {side} by {side} pixels cut into squares. {finding}",
        caption=f"{finding} Click another patch to look at it.",
    )


def _strip(vectors: Any, finding: PatchVector) -> None:
    patch, at = isqrt(finding.values // signal_tokens.CHANNELS), finding.at
    first = max(0, min(at - 2, finding.n - STRIP))
    shown = vectors[first : first + STRIP]
    addresses = [signals.data_address(vector.reshape(patch, patch, 3), "PNG") for vector in shown]
    figure(
        figures.strip_figure(addresses, first, at, height=150),
        key="strip",
        height=150,
        min_width=600,
        alt=f"The sequence around patch {at}: patches {first} to {first + len(shown) - 1} in a row. {finding}",
        caption=f"What the model reads: patches {first} to {first + len(shown) - 1}. {finding}",
        table=lambda: pd.DataFrame(shown.T, columns=[f"patch {first + i}" for i in range(len(shown))]),
    )


def sound() -> None:
    """The panel on sounds."""
    st.markdown(
        "**Slide a short window over the sound; each stop is a frame.** A frame becomes a column of loudness by pitch."
    )
    page.try_this(
        {
            "Whisper's frames": {"window_ms": 25.0, "hop_ms": 10.0, "sound": "notes"},
            "30 seconds": {"seconds": 30, "hop_ms": 10.0, "window_ms": 25.0},
            "sharp in pitch": {"window_ms": 60.0, "sound": "notes"},
            "sharp in time": {"window_ms": 6.0, "hop_ms": 2.5, "sound": "notes"},
            "a rising tone": {"sound": "sweep"},
            "ah to ee": {"sound": "vowel", "window_ms": 25.0},
        }
    )
    left, right = st.columns([2, 3], gap="large")
    with left:
        kind = controls.segmented("Sound", "sound", list(SOUNDS), "notes", SOUNDS)
        seconds = controls.slider("Seconds", "seconds", 1, signals.SOUND_SECONDS, 2)
        with page.more_settings():
            window_ms = controls.slider("Window (ms)", "window_ms", 5.0, 60.0, 25.0, 1.0, format="%.0f")
            hop_ms = controls.slider("Hop: from frame to frame (ms)", "hop_ms", 2.5, 30.0, 10.0, 2.5, format="%.1f")
        own = upload("Your own WAV file", "wave", ["wav"], signals.SOUND_MEGABYTES, signals.read_sound)
        if own is not None:
            st.caption("Your file is shown; “Sound” and “Seconds” above belong to the example.")
    result = (
        synthesised(kind, seconds, window_ms, hop_ms)
        if own is None
        else signal_tokens.cut_frames(own, window_ms, hop_ms)
    )
    with left:
        at = controls.place("Frame to look at", "frame", result.frames, 60)
        st.audio(result.samples, sample_rate=signals.RATE)
    with right:
        _sound(result, at)
    n = signal_tokens.tokens_of_frames(result.frames)
    cost.metrics(n, "Tokens after stride 2", "Frames before", signal_tokens.spectrogram(result, at).frames_text)
    hops = sorted({*HOPS, hop_ms})
    counts = [signal_tokens.frame_count(len(result.samples), round(signals.RATE * hop / 1000)) for hop in hops]
    lengths = [signal_tokens.tokens_of_frames(count) for count in counts]
    shown = experiments.cost(hops, lengths, hops.index(hop_ms), "hop (ms)", "a hop of {} ms")
    cost.curve(shown, hops, lengths, "hop (ms)")
    page.what_to_see(
        "Where the window is longer than the hop, windows overlap and nothing falls between two frames. A long window "
        "tells pitches apart but blurs when they began; a short one does the opposite. Whisper reads 30 seconds at a "
        "time, silence added at the end, and a convolution with stride 2 halves the frames: at this hop "
        f"**{signal_tokens.speech_tokens(result.hop)}** for half a minute."
    )
    if own is None:
        source = made(signals.melody, kind, float(seconds))
    else:
        source = made(experiments.own_sound, "sound.wav")
    page.question(
        "A second of speech has 16,000 samples, and about three words. How many tokens is it with Whisper's hop of "
        "10 ms, and as text?",
        "100 frames, 50 tokens after the stride; as text about four. Sound says more than words (who, how, what "
        "noise), but most of the difference is that a frame is cut by the clock, not by meaning.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.frames, made(signal_tokens.cut_frames, source, window_ms, hop_ms), at),
        formula=(
            r"n_{frames} = \left\lfloor\tfrac{\text{samples}}{\text{hop}}\right\rfloor, \qquad "
            r"X_{mf} = \log_{10} \sum_k M_{mk} \left|\mathrm{FFT}(w \cdot s_f)_k\right|^2"
        ),
        code=(signal_tokens.log_mel, signal_tokens.mel_filters),
        papers="Robust Speech Recognition via Large-Scale Weak Supervision (Whisper), section 2.2, arXiv:2212.04356",
    )


def _sound(result: AudioFrames, at: int) -> None:
    shown = experiments.frames(result, at)
    figure(
        shown.figure,
        key="spectrogram",
        height=300,
        alt=shown.alt,
        caption=shown.caption,
        table=lambda: pd.DataFrame({"hertz": result.hertz, f"log10 power of frame {at}": result.mel[:, at]}),
    )
    finding = signal_tokens.frame_overlap(result, at)
    figure(
        figures.frames_figure(result, at, height=240),
        key="frames",
        height=240,
        alt=f"The wave around a frame, under its window and those of its neighbours. {finding}",
        caption=str(finding),
    )
