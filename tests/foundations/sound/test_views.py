"""Cross-attention over a sound beside loops written apart, and its sentences."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.foundations.tokens.test_signals import wav
from tests.small import model
from tfcore.part_configs import SoundConfig
from tfcore.sounds import RATE, log_mel
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.training.recipes.tones import SECONDS
from tfcore.training.tone_sounds import melody_of
from tfcore.views.foundations import sound as views
from tfcore.views.foundations.sound import measure
from tfcore.views.sources import File

NAMES = ("<|endoftext|>", "<|startoftranscript|>", *"abcdefghi")
OF_SOUND = {
    "architecture": "encoder-decoder",
    "positions": "learned",
    "sound": SoundConfig(mels=8, frames=400),
    "max_seq_len": 9,
    "vocab_size": len(NAMES),
    "start_id": 1,
    "n_encoder_layers": 3,
}
SAMPLES = (np.random.default_rng(0).standard_normal(RATE * 7 // 2) * 0.1).astype(np.float32)


@pytest.fixture(scope="module")
def reader():
    return model(**OF_SOUND), NamedTokenizer(NAMES)


@pytest.fixture(scope="module")
def heard(reader):
    return views.hear(reader, SAMPLES)


def test_what_it_writes_and_where_it_looks_are_those_of_passes_without_a_cache(reader, heard):
    network, _ = reader
    read = log_mel(torch.from_numpy(SAMPLES)[None], network.config.sound)
    ids = [1]
    for piece, probability in zip(heard.pieces, heard.probabilities, strict=True):
        output = network(read, decoder_ids=torch.tensor([ids]), capture="*cross_attn.pattern")
        shares = output.logits[0, -1].softmax(-1)
        assert NAMES[int(shares.argmax())] == piece
        assert float(shares.max()) == pytest.approx(float(probability), abs=1e-5)
        for layer in range(2):
            last = output.activations[f"decoder.blocks.{layer}.cross_attn.pattern"][0, :, -1, :175]
            assert np.abs(heard.cross[layer, :, len(ids) - 1] - last.numpy()).max() < 1e-5
        ids.append(NAMES.index(piece))
    assert heard.prompt == ("<|startoftranscript|>",)
    assert (heard.cross.shape[3], heard.seconds) == (175, 3.5)
    assert heard.spectrogram.shape == (8, 350)


def test_maps_of_the_encoder_are_summed_in_bins(reader, heard):
    network, _ = reader
    read = log_mel(torch.from_numpy(SAMPLES)[None], network.config.sound)
    names = [f"encoder.blocks.{i}.attn.pattern" for i in range(3)]
    seen = network(read, decoder_ids=torch.tensor([[1]]), capture=names).activations
    assert (heard.places_a_bin, heard.encoder.shape) == (2, (3, 6, 88, 88))
    whole = seen["encoder.blocks.2.attn.pattern"][0, 4].numpy()
    assert heard.encoder[2, 4, 3, 5] == pytest.approx(whole[6:8, 10:12].sum() / 2, rel=1e-4)
    assert heard.encoder[2, 4, 87, 87] == pytest.approx(whole[174, 174], rel=1e-4)  # the last bin has one place


def test_a_path_forward_is_the_best_of_all():
    weights = np.random.default_rng(1).random((4, 6))
    paths = [path for path in itertools.product(range(6), repeat=4) if list(path) == sorted(path)]
    best = max(paths, key=lambda path: sum(weights[i, at] for i, at in enumerate(path)))
    assert measure.forward_path(weights).tolist() == list(best)
    assert measure.forward_path(weights[:0]).tolist() == []


def test_what_is_near_is_a_sum_over_a_tenth_of_a_second_to_either_side():
    weights = np.random.default_rng(1).random((2, 30))
    expected = [[row[max(0, at - 5) : at + 6].sum() for at in range(30)] for row in weights]
    assert np.allclose(measure.nearby(weights), expected)


def test_a_head_that_moves_on_follows_and_one_that_rests_does_not(heard):
    cross = np.zeros((1, 3, 4, 60))
    for i, at in enumerate((3, 17, 31, 55)):
        cross[0, 0, i, at] = 1
        cross[0, 1, i, 20] = 1
        cross[0, 2, 3 - i, at] = 1  # backwards
    scores = measure.alignments(cross)[0]
    assert scores[0] == pytest.approx(1 - 1 / 4)
    assert scores[1] == 0
    assert scores[2] == pytest.approx(0)
    assert measure.alignments(cross[:, :, :0]).tolist() == [[0, 0, 0]]


def planted(heard):
    """Four pieces and the end, heard at known places by head 1.2, while all others rest in the silence."""
    cross = np.zeros((2, 6, 5, 175), dtype=np.float32)
    cross[:, :, :, 0] = 0.25
    cross[1, 2] = 0
    for i, at in enumerate((10, 40, 90, 150, 150)):
        cross[1, 2, i, at] = 0.8
    pieces = ("a", "b", "a", "$x$", "<|endoftext|>")
    shares = np.array([0.9, 0.8, 0.5, 0.75, 0.99], dtype=np.float32)
    return replace(heard, cross=cross, pieces=pieces, probabilities=shares)


def test_sentences_say_what_is_planted(reader, heard):
    file = File("a.wav", planted(heard))
    said = str(views.head(reader, file, 1, 2, 1))
    assert said == (
        "Head 1.2, writing 'b': most weight at 0.81 s, 80 % within a tenth of a second; 20 % on the silence after the "
        "sound."
    )
    assert str(views.over_time(reader, file, 1, 2, 2, "followers")) == (
        "By the mean of 1 head, 'a' was said at 1.81 s, all from 0.21 to 3.01 s."
    )
    followed = "Head 1.2 follows the sound with an alignment of 0.60."
    assert str(views.over_time(reader, file, 1, 2, 2, "head")) == followed
    assert str(views.written(reader, file, 0)) == "It writes “aba$x$”: 4 tokens, least sure of 'a' (50 %)."
    ranked = views.heads(reader, file, 0, 1)
    assert str(ranked) == "Best: 1.2 (0.60), 0.0 (0.00), 0.1 (0.00); head 0.1: 0.00."
    assert "At 1.02 s head 2.3 looks most at " in str(views.encoder(reader, file, 2, 3, 1.0))


def test_where_none_follows_and_where_nothing_is_written_it_is_said(reader, heard):
    resting = replace(planted(heard), cross=np.full((2, 6, 5, 175), 1 / 200, dtype=np.float32))
    shown = views.over_time(reader, File("a.wav", resting), 0, 0, 0, "followers")
    assert str(shown) == "No head follows this sound (best: 0.00, and 0.1 is asked for), so this is the mean of all."
    silent = replace(
        resting,
        pieces=("<|endoftext|>",),
        probabilities=np.array([0.5], dtype=np.float32),
        cross=np.full((2, 6, 1, 175), 1 / 200, dtype=np.float32),
    )
    file = File("a.wav", silent)
    assert str(views.written(reader, file, 0)) == "It writes nothing, and ends the text at once (50 %)."
    assert "Nothing was written" in str(views.over_time(reader, file, 0, 0, 0, "followers"))
    assert "writing '<|endoftext|>'" in str(views.head(reader, file, 0, 0, 0))


def test_one_token_alone_and_a_text_without_an_end_are_said(reader, heard):
    half, prompt = np.array([0.5], dtype=np.float32), ("<|startoftranscript|>", "<|de|>")
    one = replace(heard, pieces=("a",), cross=planted(heard).cross[:, :, :1], probabilities=half, prompt=prompt)
    file = File("a.wav", one)
    assert str(views.over_time(reader, file, 0, 0, 0, "followers")).startswith("One token alone shows no head")
    said = "It writes, in <|de|>, “a”: 1 token without an end, least sure of 'a' (50 %)."
    assert str(views.written(reader, file, 0)) == said


def test_a_model_of_many_heads_writes_fewer_tokens(reader, heard, monkeypatch):
    monkeypatch.setattr(measure, "MOST_WEIGHTS", 2 * 6 * 200 * 3 + 5)  # layers, heads, places of all it reads, tokens
    shorter = views.hear(reader, SAMPLES)
    assert shorter.pieces == heard.pieces[:3]
    assert shorter.cross.shape[2] == 3
    assert not shorter.ended


def test_a_file_is_read_as_it_is(reader, heard, tmp_path):
    (tmp_path / "a.wav").write_bytes(wav((SAMPLES * 32_767).round().astype("<i2").tobytes()))
    again = views.heard_of(reader, File(str(tmp_path / "a.wav")))
    assert again.pieces == heard.pieces
    assert np.abs(again.cross - heard.cross).max() < 1e-3


def test_a_longer_sound_is_read_as_far_as_the_model_reads(reader):
    assert views.hear(reader, np.tile(SAMPLES, 2)).seconds == 4.0


def test_the_language_is_the_likeliest_of_many_and_no_times_are_written(reader):
    special = {"<|startoftranscript|>": 1, "<|en|>": 3, "<|de|>": 4, "<|transcribe|>": 5, "<|notimestamps|>": 6}
    network, _ = reader
    read = log_mel(torch.from_numpy(SAMPLES)[None], network.config.sound).to(network.device)
    assert measure._prompt(network, special, read) == [1, 6]
    many = model(**OF_SOUND | {"vocab_size": measure.MULTILINGUAL, "d_model": 12, "n_heads": 2})
    logits = many(read, decoder_ids=torch.tensor([[1]], device=many.device)).logits[0, -1]
    likelier = 3 if logits[3] > logits[4] else 4
    assert measure._prompt(many, special, read) == [1, likelier, 5, 6]


def test_what_does_not_write_down_sound_is_refused(reader):
    with pytest.raises(ValueError, match="this model reads texts; take one that writes down sound, such as whisper"):
        measure.hear(model(), reader[1], SAMPLES)
    with pytest.raises(ValueError, match="without a tokenizer, so nobody can read what it writes"):
        measure.hear(reader[0], None, SAMPLES)


def test_the_tune_is_written_down_where_it_is_played():
    shown = views.heard_of("tones", "tune")
    notes, begins = melody_of(measure.TUNE, SECONDS)
    assert shown.pieces[:-1] == tuple([*"CDEFGABc"][note] for note in notes)
    times = [measure.time_of(place) for place in shown.path.tolist()]
    assert np.abs(np.array(times) - begins).max() < 0.2  # a little after a note begins
    assert all(layer == 1 for layer, _ in shown.aligning)
