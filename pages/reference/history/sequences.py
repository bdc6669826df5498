"""Part of the page on history: what else is a sequence, and how long each becomes."""

from typing import Any

import streamlit as st

from pages.reference.views import links
from pages.ui import controls, page
from pages.ui.components.figure import Event, name_of
from pages.ui.frame import panel
from tfcore.measures.token_counts import SEQUENCES, Knob
from tfcore.views.reference import history as views
from tfcore.views.reference.history import say
from tfcore.views.reference.history.measure import KINDS

TRY: dict[str, dict[str, Any]] = {
    "ViT-B/16": {"kind": "image", "image_side": 224, "image_patch": 16},
    "half the patch": {"kind": "image", "image_side": 224, "image_patch": 8},
    "30 seconds of speech": {"kind": "sound", "sound_seconds": 30, "sound_hop_ms": 10.0},
    "a second of music": {"kind": "codec", "codec_seconds": 1, "codec_rate": 75, "codec_books": 32},
    "a film": {"kind": "video", "video_frames": 32, "video_tubelet": 2, "video_side": 224, "video_patch": 16},
    "DNA, base by base": {"kind": "dna", "dna_bases": 131_072, "dna_pooled": 1},
    "the timeline again": {"show": "time"},
}

IN_SIGHT = 2  # knobs, beside the kind of data; the others are under More settings


def turn(kind: str, knob: Knob) -> Any:
    """The control of a knob."""
    return controls.slider(
        knob.label,
        f"{kind}_{knob.name}",
        knob.low,
        knob.high,
        knob.default,
        knob.step,
        format="%.1f" if isinstance(knob.default, float) else None,
    )


def show() -> None:
    """One kind to cut up by sliders, beside the lengths of all."""
    st.markdown(
        "**Whatever can be cut into a sequence of tokens, each a vector, can be read by a Transformer.** How it is cut "
        "decides the sequence length n, and attention costs n²."
    )
    with panel((2, 3)) as p:
        p.examples(TRY)
        with p.controls:
            kind = controls.select("Kind of data", "kind", KINDS, "image", {key: SEQUENCES[key].name for key in KINDS})
            one = SEQUENCES[kind]
            values = {knob.name: turn(kind, knob) for knob in one.knobs[:IN_SIGHT]}
            if len(one.knobs) > IN_SIGHT:
                with page.more_settings():
                    values |= {knob.name: turn(kind, knob) for knob in one.knobs[IN_SIGHT:]}
        with p.picture:
            p.show(views.lengths(kind, values), _click, "Click one.")
            st.latex(one.equation)
            if one.see:
                links([one.see.format(**values)], "history", "cut")
        p.what_to_see(
            f"{say.length_range()} "
            "Halve the side of a patch and an image has four times as many tokens, a film too, and either costs "
            "sixteen times as many scores. That is why raw signals are shortened first: by patches, by convolutions, "
            "by codes that another network has learned."
        )
        p.question(
            "A second of sound has 16,000 samples or more. Why does Whisper read it as 50 tokens, and EnCodec write "
            "it as 600?",
            "Sample by sample, half a minute would have 480,000 tokens and 230 billion scores per head. To recognise "
            "speech, 50 frames of a spectrogram per second are enough, because only the words must be kept. To "
            "generate sound, the signal must come back: 600 codes of 10 bits are 6,000 bits per second, over two "
            "hundred times less than a CD.",
        )


def _click(event: Event) -> None:
    if (kind := name_of(event, SEQUENCES)) is not None:
        controls.set_values(kind=kind)
