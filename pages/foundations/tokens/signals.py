"""The panels on an image as patches and a sound as frames."""

import streamlit as st

from pages.foundations.tokens import cost
from pages.ui import controls, links, page
from pages.ui.components.figure import Event
from pages.ui.file_input import upload
from pages.ui.frame import panel
from tfcore.measures.token_counts import RATE, frame_count, patch_count, tokens_of_frames
from tfcore.views.foundations import tokens as views
from tfcore.views.foundations.tokens.measure import signals
from tfcore.views.foundations.tokens.measure.signals import Melody
from tfcore.views.foundations.tokens.say.signals import speech_tokens
from tfcore.views.sources import File

PATCHES = tuple(2 * half for half in range(2, 33))
HOPS = [2.5, 4.0, 5.0, 7.5, 10.0, 12.5, 15.0, 20.0, 25.0, 30.0]
SOUNDS: dict[Melody, str] = {"notes": "notes", "sweep": "a sweep", "vowel": "a vowel"}


def image() -> None:
    """The panel on images."""
    st.markdown("**Cut the picture into squares, read them line by line, and flatten each into one vector.**")
    with panel((2, 3)) as p:
        p.examples(
            {
                "ViT-B/16": {"side": 224, "patch": 16, "at": 77},
                "ViT-H/14": {"side": 224, "patch": 14},
                "ViT-B/32": {"side": 224, "patch": 32, "at": 16},
                "nearly pixels": {"side": 224, "patch": 4, "at": 900},
                "a border is lost": {"side": 224, "patch": 48, "at": 5},
                "twice the side": {"side": 448, "patch": 16, "at": 300},
            }
        )
        with p.controls:
            patch = controls.slider("Side P of a patch (pixels)", "patch", PATCHES[0], PATCHES[-1], 16, 2)
            side = controls.slider("Side of the image (pixels)", "side", 64, signals.PICTURE_SIDE, 224, 32)
            at = controls.place("Patch to look at", "at", patch_count(side, patch), 77)
            read = upload(
                "Your own picture",
                "picture",
                signals.PICTURE_KINDS,
                signals.PICTURE_MEGABYTES,
                lambda data: signals.read_picture(data, signals.PICTURE_SIDE),
            )
        own = None if read is None else File("picture.png", read)
        rows = side // patch

        def choose(event: Event) -> None:
            match event["point"]:
                case [int(row), int(column)] if row < rows and column < rows:
                    controls.set_values(at=row * rows + column)

        with p.picture:
            p.show(views.picture(own, side, patch, at), choose, "Click another patch to look at it.")
        strip, now = views.strip(own, side, patch, at), PATCHES.index(patch)
        lengths = tuple(patch_count(side, one) for one in PATCHES)
        shown = views.cost(PATCHES, lengths, now, "side of a patch", f"patches of {patch} pixels")
        cost.metrics(shown, now, "Tokens (patches)", "Values per token", f"{strip.result.shape[1]:,}")
        p.show(strip)
        p.show(shown)
        p.what_to_see(
            "Halve the side of a patch and there are about four times as many tokens, so sixteen times as many cells "
            "in every attention map. In the row below the picture a patch stands beside its left and right neighbours, "
            "but the one above it is a whole line away: only the position vectors can tell the model that they touch."
        )
        links.to("foundations/pictures/page.py", {}, "What attention makes of patches", ":material/arrow_outward:")
        p.question(
            "A picture of 224 × 224 has 50,176 pixels. Why is no pixel a token?",
            "An attention map would have 50,176² = 2.5 billion cells, in every head of every layer. Patches of 16 make "
            "196 tokens and 38,416 cells; the 768 numbers of a patch fit into one vector of width 768.",
        )


def sound() -> None:
    """The panel on sounds."""
    st.markdown(
        "**Slide a short window over the sound; each stop is a frame.** A frame becomes a column of loudness by pitch."
    )
    with panel((2, 3)) as p:
        p.examples(
            {
                "Whisper's frames": {"window_ms": 25.0, "hop_ms": 10.0, "sound": "notes"},
                "30 seconds": {"seconds": 30, "hop_ms": 10.0, "window_ms": 25.0},
                "sharp in pitch": {"window_ms": 60.0, "sound": "notes"},
                "sharp in time": {"window_ms": 6.0, "hop_ms": 2.5, "sound": "notes"},
                "a rising tone": {"sound": "sweep"},
                "ah to ee": {"sound": "vowel", "window_ms": 25.0},
            }
        )
        with p.controls:
            kind = controls.segmented("Sound", "sound", list(SOUNDS), "notes", SOUNDS)
            seconds = controls.slider("Seconds", "seconds", 1, signals.SOUND_SECONDS, 2)
            with page.more_settings():
                window_ms = controls.slider("Window (ms)", "window_ms", 5.0, 60.0, 25.0, 1.0, format="%.0f")
                hop_ms = controls.slider("Hop: from frame to frame (ms)", "hop_ms", 2.5, 30.0, 10.0, 2.5, format="%.1f")
            own = upload("Your own WAV file", "wave", ["wav"], signals.SOUND_MEGABYTES, signals.read_sound)
            if own is not None:
                st.caption("Your file is shown; “Sound” and “Seconds” above belong to the example.")
        heard: views.Sound = views.Tune(kind, seconds) if own is None else File("sound.wav", own)
        samples = views.samples_of(heard)

        def frames(hop: float) -> int:
            return frame_count(len(samples), round(RATE * hop / 1000))

        with p.controls:
            at = controls.place("Frame to look at", "frame", frames(hop_ms), 60)
            st.audio(samples, sample_rate=RATE)
        with p.picture:
            p.show(views.spectrogram(heard, window_ms, hop_ms, at))
            p.show(views.frames(heard, window_ms, hop_ms, at))
        hops = tuple(sorted({*HOPS, hop_ms}))
        lengths, now = tuple(tokens_of_frames(frames(hop)) for hop in hops), hops.index(hop_ms)
        shown = views.cost(hops, lengths, now, "hop (ms)", f"a hop of {hop_ms:g} ms")
        cost.metrics(shown, now, "Tokens after stride 2", "Frames before", f"{frames(hop_ms):,}")
        p.show(shown)
        p.what_to_see(
            "Where the window is longer than the hop, windows overlap and nothing falls between two frames. A long "
            "window tells pitches apart but blurs when they began; a short one does the opposite. Whisper reads 30 "
            "seconds at a time, silence added at the end, and a convolution with stride 2 halves the frames: at this "
            f"hop **{speech_tokens(round(RATE * hop_ms / 1000))}** for half a minute."
        )
        links.to("foundations/sound/page.py", {}, "What attention makes of sound", ":material/arrow_outward:")
        p.question(
            "A second of speech has 16,000 samples, and about three words. How many tokens is it with Whisper's hop of "
            "10 ms, and as text?",
            "100 frames, 50 tokens after the stride; as text about four. Sound says more than words (who, how, what "
            "noise), but most of the difference is that a frame is cut by the clock, not by meaning.",
        )
