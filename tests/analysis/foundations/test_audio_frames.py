"""Frames of a sound, against the arithmetic of `transformers` and against pure tones."""

import numpy as np
import pytest
import torch
from transformers.audio_utils import mel_filter_bank, spectrogram, window_function

from tfcore.analysis.foundations.audio_frames import cut_frames, frame_count, log_mel, mel_filters, positions
from tfcore.analysis.foundations.sample_sequences import melody


def test_filters_equal_those_of_transformers():
    theirs = mel_filter_bank(201, 80, 0.0, 8_000.0, 16_000, norm="slaney", mel_scale="slaney")
    np.testing.assert_allclose(mel_filters(400).numpy(), theirs.T, atol=1e-6)


def test_log_mel_equals_that_of_transformers():
    sound = melody("vowel", 0.5)
    theirs = spectrogram(
        sound.astype(np.float64),
        window_function(400, "hann"),
        frame_length=400,
        hop_length=160,
        power=2.0,
        mel_filters=mel_filter_bank(201, 80, 0.0, 8_000.0, 16_000, norm="slaney", mel_scale="slaney"),
        log_mel="log10",
    )[:, :-1]
    ours = log_mel(torch.from_numpy(sound), 400, 160).numpy()
    np.testing.assert_allclose(ours, np.maximum(theirs, theirs.max() - 8), atol=2e-3)


def test_whispers_half_minute():
    assert frame_count(30 * 16_000, 160) == 3_000
    assert positions(3_000) == 1_500


@pytest.mark.parametrize("seconds", [0.1, 1.0])
@pytest.mark.parametrize(("window", "hop"), [(25.0, 10.0), (5.0, 2.5), (60.0, 30.0), (5.0, 30.0)])
def test_as_many_frames_as_counted(seconds, window, hop):
    sound = melody("notes", seconds)
    found = cut_frames(sound, window, hop)
    assert found.frames == frame_count(len(sound), found.hop)
    assert np.isfinite(found.mel).all()


@pytest.mark.parametrize("hertz", [300, 1_000, 3_000])
def test_a_pure_tone_is_loudest_in_its_band(hertz):
    sound = np.sin(2 * np.pi * hertz * np.arange(8_000) / 16_000).astype(np.float32)
    found = cut_frames(sound, 25.0, 10.0)
    assert found.hertz[found.mel[:, 20].argmax()] == pytest.approx(hertz, rel=0.08)


def test_silence_is_no_error():
    assert np.isfinite(cut_frames(np.zeros(1_600, np.float32), 25.0, 10.0).mel).all()


@pytest.mark.parametrize(("frames", "places"), [(1, 1), (2, 1), (3, 2), (200, 100)])
def test_positions_are_those_of_the_convolution(frames, places):
    out = torch.nn.Conv1d(1, 1, 3, stride=2, padding=1)(torch.zeros(1, 1, frames))
    assert out.shape[-1] == positions(frames) == places
