"""Sound: cross-attention over one's own sound, token by token."""

import streamlit as st

from pages.foundations.sound.facts import FACTS
from pages.ui import controls, page
from pages.ui.components.figure import Event
from pages.ui.file_input import read_by, record, upload
from pages.ui.frame import panel
from pages.ui.loading import models
from tfcore.loading import checkpoints
from tfcore.measures.token_counts import RATE
from tfcore.views.foundations import sound as views
from tfcore.views.foundations.sound.measure import Recording
from tfcore.views.foundations.tokens.measure import signals
from tfcore.views.sources import File

HERE: dict[Recording, str] = {"speech": "a speech of 1961", "tune": "a tune"}
WHOSE: dict[views.Whose, str] = {"followers": "heads that follow", "head": "this head"}
REAL = "whisper"  # first where it was fetched
MISSING = "Whisper, which writes down English speech, is not here: `python -m tfcore.loading` fetches it, 71 MB, once."


here = checkpoints.reading("sound")
begun_with = REAL if REAL in here else here[0]
first: Recording = "speech" if begun_with == REAL else "tune"  # which the small one was trained on
page.begin(FACTS, always={"asr": begun_with, "sound": HERE[first]})
with panel((1, 3)) as p:
    with p.controls:
        name = models.choose(options={one: one for one in here}, key="asr", default=begun_with, reads="sound")
        if REAL not in here:
            st.caption(MISSING)
        kind = controls.select("Sound", "sound", list(HERE), first, HERE)
        sliders = st.container()
        with st.expander("Your own sound", icon=":material/mic:"):
            samples = record(f"Record, {signals.SOUND_SECONDS} s at most", "recorded", RATE, signals.read_sound)
            if samples is None:
                samples = upload("Or a WAV file", "wave", ["wav"], signals.SOUND_MEGABYTES, signals.read_sound)
    sound: Recording | File = kind if samples is None else File("sound.wav", read_by(name, samples, views.hear))
    heard = views.heard_of(name, sound)
    n_layers, n_heads, n_pieces, _ = heard.cross.shape
    best = heard.best
    p.examples(
        {
            "the head that follows best": {"layer": best[0], "head": best[1], "token": min(4, n_pieces - 1)},
            "the head that hears least": dict(zip(("layer", "head"), heard.resting, strict=True)),
            "one head's map": {"whose": "head", "layer": best[0], "head": best[1]},
            "another sound": {"sound": "tune" if first == "speech" else "speech"},
        }
    )
    with sliders:
        st.audio(heard.samples, sample_rate=RATE)
        layer = controls.place("Layer", "layer", n_layers, best[0])
        head = controls.place("Head", "head", n_heads, best[1])
        with page.more_settings():
            token = controls.place("Written token", "token", n_pieces, min(4, n_pieces - 1))
            whose = controls.segmented("Tokens by time: mean of", "whose", list(WHOSE), "followers", WHOSE)
            of_layer = controls.place("Layer of the encoder", "of_layer", len(heard.encoder), len(heard.encoder) - 1)
            of_head = controls.place("Head of the encoder", "of_head", heard.encoder.shape[1])
            last = max(0.1, round(heard.seconds - 0.05, 1))
            moment = controls.slider("Moment (s)", "moment", 0.0, last, min(1.0, last), 0.1, format="%.1f")

    def choose_token(event: Event) -> None:
        match event["point"]:
            case [int(one), *_] if one < n_pieces:
                controls.set_values(token=one)

    def choose_column(event: Event) -> None:
        match event["point"]:
            case [*_, int(one)] if one < n_pieces:
                controls.set_values(token=one)

    def choose_head(event: Event) -> None:
        match event["customdata"]:
            case [int(one), int(other)] if one < n_layers and other < n_heads:
                controls.set_values(layer=one, head=other)

    with p.picture:
        p.show(views.head(name, sound, layer, head, token))
        p.show(
            views.over_time(name, sound, layer, head, token, whose), choose_token, "Click a row to follow its token."
        )
        p.show(views.written(name, sound, token), choose_column)
        left, right = st.columns(2, gap="medium")
        with left:
            p.show(views.heads(name, sound, layer, head), choose_head, "Click a head to see it above.")
        with right:
            p.show(views.encoder(name, sound, of_layer, of_head, moment))
    p.what_to_see(
        "A decoder never hears the sound: for each token its cross-attention asks the encoder's states, one every 20 "
        "ms. In **heads that follow**, the weight moves on as the words do, and a repeated word is heard at two "
        "places. Nobody trained them for it; times of words are read from such heads. Their **alignment** is the share "
        "of weight within a tenth of a second of the best path that only goes forward, less that near the best single "
        "moment. Other heads rest on the **silence after the sound**, as heads of text models rest on the first token. "
        "A sound without words is written down all the same: look how unsure the tokens are."
    )
    p.question(
        "Whisper gets the sound with silence up to 30 seconds. Why does it not write anything for all that silence?",
        "It writes words, not seconds: the decoder asks for what comes next, and where nothing is left to hear the "
        "likeliest token is the one that ends the text. In silence alone it may still write something, because it was "
        "trained on recordings in which somebody speaks.",
    )
