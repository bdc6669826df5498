"""Images, sounds, series and proteins cut into tokens, against torch and `transformers`."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.audio_utils import mel_filter_bank, spectrogram, window_function

import tfcore
from tfcore.analysis.foundations.signal_tokens import (
    GROUPS,
    LETTERS,
    SPECIAL,
    cut_frames,
    cut_windows,
    frame_count,
    log_mel,
    mel_filters,
    patch_count,
    patchify,
    read_protein,
    tokens_of_frames,
    window_count,
)
from tfcore.analysis.foundations.signals import melody, scene, temperatures
from tfcore.analysis.model.flop_count import flops, sequence_cost


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


def test_cost_by_hand_and_as_the_accountant_says():
    n = 196
    cost = sequence_cost([n])
    assert cost.cells[0] == 38_416
    assert cost.matrices[0] == 12 * 38_416 * 2
    counted = flops(tfcore.presets.gpt2_small(), n)
    inside = sum(v for k, v in counted.by_component.items() if "embed" not in k)
    assert cost.total[0] == inside


def test_attention_is_half_of_the_work_at_six_widths():
    assert sequence_cost([6 * 768]).share[0] == pytest.approx(0.5)


def test_the_samples_are_the_same_every_time_and_never_too_loud():
    assert scene(64).shape == (64, 64, 3)
    np.testing.assert_array_equal(scene(96), scene(96))
    for kind in ("notes", "sweep", "vowel"):
        sound = melody(kind, 1.0)
        assert len(sound) == 16_000
        assert 0.3 < np.abs(sound).max() <= 1
        np.testing.assert_array_equal(sound, melody(kind, 1.0))
    np.testing.assert_array_equal(temperatures(), temperatures())


def test_a_protein_as_esm_numbers_it():
    found = read_protein("> test\nla gv\nC*")
    assert found.name == "test"
    assert found.residues == "LAGVC"
    assert found.ids == (0, 4, 5, 6, 7, 23, 2)


def test_every_letter_has_an_id_and_a_group():
    assert sorted("".join(GROUPS.values())) == sorted(LETTERS)
    found = read_protein(LETTERS)
    assert found.ids[1:-1] == tuple(range(len(SPECIAL), len(SPECIAL) + len(LETTERS)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no residues"),
        (">only a name", "no residues"),
        ("MQ1F", "letter 3 is '1'"),
        ("MQJ", "letter 3 is 'J'"),
        (">a\nMQ\n>b\nMQ", "two proteins"),
        ("猫", "letter 1"),
    ],
)
def test_what_is_no_protein_is_said(text, words):
    with pytest.raises(ValueError, match=words):
        read_protein(text)
