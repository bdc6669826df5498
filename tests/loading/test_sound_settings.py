"""What a folder says of sound and of texts written down: read, or refused where it is done otherwise here."""

import json

import pytest
import transformers as hf

from tests.parity.checkpoints import SOUNDS, written
from tfcore.files import CheckpointError
from tfcore.loading.checkpoints import load
from tfcore.loading.families import config_of, family_of
from tfcore.loading.families.config_values import NoTensors


def test_a_folder_of_transformers_is_read_with_its_preprocessor(tmp_path):
    written(*SOUNDS["whisper"], tmp_path)
    hf.WhisperFeatureExtractor(feature_size=8, chunk_length=1).save_pretrained(tmp_path)
    config = load(tmp_path, device="cpu")[0].config
    assert (config.sound.mels, config.sound.frames, config.reads) == (8, 100, "sound")
    assert (config.writing.never, config.writing.not_first) == ((5, 9), (3, 7))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"n_fft": 512}, "n_fft=512 is not supported; supported: 400"),
        ({"hop_length": 80}, "hop_length=80 is not supported; supported: 160"),
        ({"sampling_rate": 8_000}, "sampling_rate=8000 is not supported; supported: 16000"),
        ({"feature_size": 80}, "feature_size=80 is not supported; supported: 8"),
        ({"chunk_length": 30}, r"chunk_length=30 is not supported; supported: 1\.0"),
        ({"dither": 0.1}, r"dither=0\.1 is not supported; supported: 0"),
        ({"do_normalize": True}, "do_normalize=True is not supported; supported: False"),
    ],
)
def test_what_is_not_done_here_is_refused(tmp_path, said, why):
    written(*SOUNDS["whisper"], tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(said))
    with pytest.raises(CheckpointError, match=r"preprocessor_config\.json: " + why):
        load(tmp_path, device="cpu")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"scale_embedding": True}, "scale_embedding=True is not supported; supported: False"),
        ({"suppress_tokens": "all"}, "suppress_tokens='all' is not supported; supported: a list of token ids"),
        ({"suppress_tokens": [-1]}, r"suppress_tokens=\[-1\] is not supported"),
        ({"max_source_positions": 10**6}, "frames=2000000 must be between 2 and 60,000"),
        ({"decoder_ffn_dim": 1_000}, "decoder_ffn_dim=1000 is not supported; supported: 1536"),
        (
            {"architectures": ["WhisperForAudioClassification"]},
            "supported: WhisperForConditionalGeneration, WhisperModel",
        ),
    ],
)
def test_settings_without_a_counterpart_are_refused(said, why):
    values = {"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"]} | said
    with pytest.raises(ValueError, match=why):
        config_of(family_of(values), values, NoTensors())
