"""Images, sounds and series cut into tokens, against torch and `transformers`."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.audio_utils import mel_filter_bank, spectrogram, window_function

from tfcore.measures.token_counts import frame_count, patch_count, tokens_of_frames, window_count
from tfcore.views.foundations.tokens.measure.signal_tokens import (
    AudioFrames,
    SeriesWindows,
    cut_frames,
    cut_windows,
    log_mel,
    mel_filters,
    patchify,
)
from tfcore.views.foundations.tokens.measure.signals import melody, scene, temperatures
from tfcore.views.foundations.tokens.say import signals as say
from tfcore.views.foundations.tokens.say.signals import FrameOverlap, PictureCut, picture_cut


@pytest.mark.parametrize(("side", "patch", "n"), [(224, 16, 196), (224, 14, 256), (224, 32, 49), (100, 30, 9)])
def test_patches_equal_torchs_unfold(side, patch, n):
    image = np.random.default_rng(1).integers(0, 256, (side, side, 3), dtype=np.uint8)
    cut = patchify(image, patch)
    assert len(cut) == patch_count(side, patch) == n
    tensor = torch.from_numpy(image).permute(2, 0, 1)[None].float()
    unfolded = torch.nn.functional.unfold(tensor, patch, stride=patch)[0].T  # (n, channel * patch * patch)
    same_order = unfolded.view(n, 3, patch * patch).transpose(1, 2).reshape(n, -1)
    np.testing.assert_array_equal(cut, same_order.numpy())


@pytest.mark.parametrize("patch", [0, 65, -4])
def test_impossible_patches_are_named(patch):
    assert [len(patchify(scene(64), possible)) for possible in (1, 64)] == [64 * 64, 1]
    with pytest.raises(ValueError, match=f"patch={patch} must be between 1 and 64"):
        patchify(scene(64), patch)


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
    assert tokens_of_frames(3_000) == 1_500


@pytest.mark.parametrize("seconds", [0.1, 1.0])
@pytest.mark.parametrize(("window", "hop"), [(25.0, 10.0), (5.0, 2.5), (60.0, 30.0), (5.0, 40.0)])
def test_as_many_frames_as_counted(seconds, window, hop):
    sound = melody("notes", seconds)
    found = cut_frames(sound, window, hop)
    assert found.frames == frame_count(len(sound), found.hop)
    assert (found.window, found.hop) == (16 * window, 16 * hop), "16 samples a millisecond"
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
    assert out.shape[-1] == tokens_of_frames(frames) == places


@given(n=st.integers(1, 80), length=st.integers(1, 20), stride=st.integers(1, 20))
def test_windows_hold_what_stands_there(n, length, stride):
    values = np.cumsum(np.random.default_rng(n).normal(size=n))
    if n < length:
        with pytest.raises(ValueError, match="fewer than one window"):
            cut_windows(values, length, stride)
        return
    found = cut_windows(values, length, stride)
    assert len(found.windows) == len(found.starts) == window_count(n, length, stride)
    padded = [*values.tolist(), *[values[-1]] * stride]
    for start, row in zip(found.starts.tolist(), found.windows, strict=True):
        np.testing.assert_allclose(row * found.deviation + found.mean, padded[start : start + length], atol=1e-9)


def test_patchtst_counts_42_tokens():
    assert len(cut_windows(temperatures(336), 16, 8).windows) == 42
    assert window_count(512, 16, 8) == 64


def test_a_flat_series_is_no_division_by_zero():
    assert (cut_windows(np.full(9, 3.0), 3, 3).windows == 0).all()


@pytest.mark.parametrize(("length", "stride"), [(0, 1), (1, 0)])
def test_windows_of_nothing_are_refused(length, stride):
    with pytest.raises(ValueError, match="at least 1"):
        cut_windows(np.ones(5), length, stride)


def test_a_picture_and_its_cuts_in_words():
    assert picture_cut(224, 48, 5) == PictureCut(224, 48, 4, 5, 32)
    assert picture_cut(224, 16, 77).lost == 0
    assert str(picture_cut(448, 4, 900)) == (
        "448/4 → 112 × 112 = 12,544 patches, numbered line by line; patch 900 is framed."
    )
    assert str(picture_cut(224, 48, 5)) == (
        "224/48 → 4 × 4 = 16 patches, numbered line by line; patch 5 is framed. The last 32 pixels at the right and at "
        "the bottom fill no patch and are left out."
    )


def test_a_patch_has_the_mean_colour_of_its_pixels():
    image = np.random.default_rng(2).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    found = say.patch_vector(patchify(image, 16), 6)  # the second row, the third column
    pixels = [image[y, x].tolist() for y in range(16, 32) for x in range(32, 48)]
    red, green, blue = (sum(pixel[i] for pixel in pixels) / 256 for i in range(3))
    assert found.values == pytest.approx({"at": 6, "n": 16, "values": 768, "red": red, "green": green, "blue": blue})
    vectors = np.zeros((1_024, 1_200), np.uint8)
    vectors[6] = [1, 3, 255] * 400
    assert str(say.patch_vector(vectors, 6)) == (
        "The sequence has shape (1,024, 1,200); patch 6 has mean red, green, blue 1, 3, 255 of 255."
    )


def test_the_loudest_band_is_that_of_the_frame():
    mel = np.full((4, 6), -8.0, np.float32)
    mel[2, 3], mel[1, 4], mel[3, 2] = 0, 1, 2
    sound = AudioFrames(np.zeros(24_000, np.float32), 400, 160, mel, np.array([100.0, 200.0, 1_300.0, 400.0]))
    assert say.spectrogram(sound, 3).values["hertz"] == 1_300.0
    long = replace(sound, mel=np.pad(mel, ((0, 0), (0, 2_994)), constant_values=-8))
    assert str(say.spectrogram(long, 3)) == (
        "Log-mel spectrogram, shape (80, 3,000): 1.5 s at 16,000 samples per second, one column every 160 samples. "
        "Frame 3 is loudest near 1,300 Hz."
    )
    assert str(FrameOverlap(2, 400, 160)) == (
        "Frame 2: 400 samples under a Hann window, the next one 160 samples on; neighbours share 60%."
    )
    assert str(FrameOverlap(2, 80, 480)).endswith("the next one 480 samples on; a gap of 400 samples.")
    assert [str(FrameOverlap(2, 80, hop)).partition("on; ")[2] for hop in (80, 100)] == [
        "a gap of 0 samples.",
        "a gap of 20 samples.",
    ]


def test_the_tokens_of_half_a_minute_of_speech():
    assert str(say.speech_tokens(160)) == "3,000 frames → 1,500 tokens"


def test_a_window_in_words_is_the_one_in_its_place():
    values = np.random.default_rng(6).normal(3.0, 2.0, 40)
    found = say.series_windows(cut_windows(values, 6, 4), 5)
    mean, deviation = float(np.mean(values)), float(np.std(values))
    window = sum(values[20 + i] for i in range(6)) / 6
    places = {"steps": 40, "windows": 10, "length": 6, "at": 5, "start": 20, "end": 25}
    measured = {"mean": mean, "deviation": deviation, "window_mean": (window - mean) / deviation}
    assert found.values == pytest.approx(places | measured)
    rows = np.zeros((42, 16))
    rows[12] = -0.514
    steps = SeriesWindows(np.zeros(1_336), 11.0, 6.25, 8 * np.arange(42), rows, 8)
    assert str(say.series_windows(steps, 12)) == (
        "1,336 steps, mean 11, deviation 6.25, in 42 windows of 16. Window 12: steps 96 to 111, -0.51 deviations from "
        "the mean."
    )
