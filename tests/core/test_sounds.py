"""Sound as tokens: spectrograms are those of `transformers`, convolutions those of torch, and what fits no model of
sound is refused."""

import re

import numpy as np
import pytest
import torch
import transformers as hf
from torch import nn

from tests.small import difference, model
from tfcore.config import ModelConfig
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.measures.parameter_count import parameters
from tfcore.part_configs import SoundConfig
from tfcore.sounds import N_FFT, RATE, SoundEmbedding, hertz, log_mel, mel, mel_filters

SOUND = SoundConfig(mels=8, frames=20)
OF_SOUND = {"architecture": "encoder-decoder", "positions": "learned", "sound": SOUND, "max_seq_len": 12}


@pytest.mark.parametrize("mels", [80, 128])
def test_filters_are_those_of_transformers(mels):
    theirs = hf.WhisperFeatureExtractor(feature_size=mels).mel_filters.T
    assert np.abs(mel_filters(mels).numpy() - theirs).max() < 1e-7
    tones = torch.tensor([0.0, 440.0, 999.0, 1_000.0, 4_000.0, 8_000.0])
    assert difference(hertz(mel(tones)), tones) < 1e-2


@pytest.mark.parametrize("seconds", [0.3, 1.0, 1.7])  # shorter than it reads, as long, and longer
def test_spectrograms_are_those_of_transformers(seconds):
    draws = np.random.default_rng(0)
    heard = (draws.standard_normal(round(seconds * RATE)) * np.linspace(0, 0.2, round(seconds * RATE))).astype(
        "float32"
    )
    extractor = hf.WhisperFeatureExtractor(feature_size=80, chunk_length=1)
    theirs = extractor(heard, sampling_rate=RATE, return_tensors="pt")["input_features"]
    ours = log_mel(torch.tensor(heard)[None], SoundConfig(frames=100))
    assert ours.shape == theirs.shape == (1, 80, 100)
    assert difference(ours, theirs) < 1e-4


def test_silence_is_a_number():
    silent = log_mel(torch.zeros(1, N_FFT), SoundConfig(frames=100))
    assert torch.equal(silent, torch.full((1, 80, 100), -1.5))  # (log10(1e-10) + 4) / 4


def test_the_embedding_is_two_convolutions_of_torch():
    config = model(**OF_SOUND).config
    ours, generator = SoundEmbedding(config, SOUND), torch.Generator().manual_seed(0)
    first, second = nn.Conv1d(8, 24, 3, padding=1), nn.Conv1d(24, 24, 3, stride=2, padding=1)
    for mine, theirs in ((ours.conv1, first), (ours.conv2, second)):
        mine.load_state_dict(theirs.state_dict())
    heard = torch.randn(2, 8, 20, generator=generator)
    gelu = nn.GELU()
    assert difference(ours(heard), gelu(second(gelu(first(heard)))).mT) < 1e-6


def test_an_encoder_of_sound_and_its_decoder_have_positions_of_their_own():
    subject = model(**OF_SOUND)
    heard = torch.randn(2, 8, 20, generator=torch.Generator().manual_seed(0))
    output = subject(heard, decoder_ids=torch.tensor([[1, 2, 3]] * 2), capture=("encoder.embed", "*cross_attn.pattern"))
    assert output.activations["encoder.embed"].shape == (2, 10, 24)
    assert output.activations["decoder.blocks.1.cross_attn.pattern"].shape == (2, 6, 3, 10)
    assert subject.encoder.pos_embed.weight.shape == (10, 24)
    assert subject.decoder.pos_embed.weight.shape == (12, 24)
    assert parameters(subject.config).total == sum(one.numel() for one in subject.parameters())


def test_a_text_is_written_with_a_cache_as_without_one_and_begins_as_it_may():
    subject = model(**OF_SOUND)
    heard = torch.randn(1, 8, 20, generator=torch.Generator().manual_seed(0))
    free = generate(subject, heard, Sampling(temperature=0), max_new_tokens=5)
    ids = [subject.config.start_id]
    for _ in range(5):
        ids.append(int(subject(heard, decoder_ids=torch.tensor([ids])).logits[0, -1].argmax()))
    assert free == ids[1:]
    other = subject.with_weights(subject.config.changed(never_first=(free[0],)), subject.state_dict())
    assert generate(other, heard, Sampling(temperature=0), max_new_tokens=1) != free[:1]


WRONG = {
    "sounds (1, 8, 19) of torch.float32 must be numbers of shape (batch, 8, 20), as tfcore.sounds.log_mel gives": (
        torch.zeros(1, 8, 19)
    ),
    "sounds (1, 5) of torch.int64 must be numbers of shape": torch.zeros(1, 5, dtype=torch.long),
    "there are no sounds to compute on; give at least one": torch.zeros(0, 8, 20),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_is_no_sound_is_refused(sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        model(**OF_SOUND)(WRONG[sentence], decoder_ids=torch.ones(len(WRONG[sentence]), 1, dtype=torch.long))


def test_what_belongs_to_texts_is_refused():
    with pytest.raises(ValueError, match="masks and segments go with texts, and this model reads sound"):
        model(**OF_SOUND)(
            torch.zeros(1, 8, 20), decoder_ids=torch.ones(1, 1, dtype=torch.long), padding_mask=torch.ones(1, 20) > 0
        )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"architecture": "encoder"}, "sound goes with architecture='encoder-decoder'"),
        ({"positions": "none"}, "and with learned positions"),
        ({"sound": {"frames": 21}}, "frames=21 must be even, two for each position; nearest: 22"),
        ({"sound": {"mels": 0}}, "mels=0 must be between 1 and 512"),
        ({"writing": {"not_first": (99,)}}, "writing has id 99, which must be below vocab_size"),
        ({"writing": {"not_first": "a"}}, "not_first='a' must be a tuple of token ids"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(given, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        ModelConfig.from_dict({"vocab_size": 61} | OF_SOUND | given)


def test_a_config_comes_back_from_its_file():
    config = ModelConfig.from_dict({"vocab_size": 61, "writing": {"not_first": [3]}} | OF_SOUND)
    assert ModelConfig.from_dict(config.to_dict()) == config
