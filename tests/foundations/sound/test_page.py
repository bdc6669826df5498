"""The page on sound: with the model that ships, and with one of a visitor's own."""

from functools import partial

from pages.ui import session
from tests.foundations.tokens.test_signals import wav
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.own_models import brought
from tests.parity.checkpoints import SOUNDS, written
from tests.tokenizers.test_foreign_tokenizers import byte_level
from tfcore.training.recipes.tones import HELD_OUT, SECONDS
from tfcore.training.tone_sounds import NOTES, played

opened = partial(visits.opened, "foundations/sound/page.py")


def test_a_visitors_own_model_hears_and_others_are_refused(allowed):
    kind, settings = SOUNDS["whisper"]
    written(kind, settings | {"vocab_size": 320}, allowed / "hearing")
    byte_level().save(str(allowed / "hearing" / "tokenizer.json"))
    brought("./hearing")
    test = opened(asr="./hearing", layer="1", head="3")
    assert {"head", "over_time", "written", "heads", "encoder"} == set(figures(test))
    assert not test.exception
    assert "Head 1.3, writing " in figures(test)["head"][0]["caption"]
    brought("./llama")
    refused = opened(asr="./llama")
    assert "it reads texts, and what is shown here is made of sound." in visits.said(refused, "info")
    assert "It writes “EcBEB”" in figures(refused)["written"][0]["caption"]  # by the one that ships


def test_a_recording_is_heard_before_a_file_and_both_are_forgotten():
    names, test = "".join(NOTES), opened()
    first = figures(test)["written"][0]["caption"]
    for notes, key in ("CG", "wave:file_uploader"), ("cDE", "recorded:audio_input"):
        sound = played([names.index(note) for note in notes], [0.1, 0.5, 0.9][: len(notes)], SECONDS, HELD_OUT)
        data = wav((sound * 32_000).astype("<i2").tobytes())
        if key.endswith("input"):
            test.audio_input(key=key).set_value(("own.wav", data, "audio/wav"))
        else:
            test.file_uploader(key=key).upload("own.wav", data, "audio/wav")
        test = visits.run(test)
        assert f"It writes “{notes}”" in figures(test)["written"][0]["caption"]
    test.audio_input(key="recorded:audio_input").set_value(None)
    test = visits.run(test)
    assert figures(test)["written"][0]["caption"] == first
    assert not test.session_state[session.KEY].visit.held


def test_without_whisper_it_is_said_how_to_get_it():
    assert "`python -m tfcore.loading` fetches it, 71 MB, once." in visits.said(opened(), "caption")


def test_a_head_and_a_token_are_those_of_the_address():
    shown = figures(opened(layer="1", head="2", token="3", whose="this head"))
    assert shown["head"][0]["caption"].startswith("Head 1.2, writing 'E': most weight at ")
    assert shown["over_time"][0]["caption"].startswith("Head 1.2 follows the sound with an alignment of 0.")
