"""Usual weights of heads by distance, against loops; their file."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tests import small
from tfcore.files import CheckpointError
from tfcore.loading.checkpoints import PRETRAINED, described
from tfcore.measures.atlas.atlas import atlas_of, with_atlas
from tfcore.measures.atlas.sums import ExamplePlaces, HeadSums
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.highlights import usual as module
from tfcore.measures.highlights.usual import DISTANCES, UsualWeights, save_usual, stored_usual, usual_weights
from tfcore.tokenizers.tokenizer import ByteTokenizer


@pytest.mark.parametrize("architecture", ["decoder", "encoder"])
def test_means_are_those_of_loops(architecture):
    model = small.model(vocab_size=256, architecture=architecture)
    texts = ["abcdefg", "hgfedcbahgf"]
    found = usual_weights(model, ByteTokenizer(), texts)
    weights: dict[int, list[np.ndarray]] = {}
    for text in texts:
        patterns = attention_maps(model, list(text.encode())).patterns[..., 1:, 1:]
        patterns = patterns / patterns.sum(-1, keepdims=True)
        for query, key in np.ndindex(patterns.shape[2:]):
            if architecture == "encoder" or key <= query:
                weights.setdefault(query - key, []).append(patterns[:, :, query, key])
    for distance, values in weights.items():
        mean = found.before[:, :, distance] if distance >= 0 else found.after[:, :, -distance - 1]
        assert mean == pytest.approx(np.mean(values, axis=0), abs=1e-6)
    assert bool(found.after.any()) == (architecture == "encoder")
    assert not found.before[:, :, 11:].any()


@pytest.mark.parametrize("architecture", ["decoder", "encoder"])
def test_those_of_an_atlas_are_the_same_means(architecture):
    """Which are summed over whole windows at once, and here text by text along diagonals."""
    model, words = small.model(vocab_size=256, architecture=architecture), ByteTokenizer()
    texts = ["The dog saw (a cat).", "A cat saw [the] dog."]
    windows = [words.encode(text) for text in texts]
    sums = HeadSums(model.config, 20, ExamplePlaces.drawn(windows, 8))
    sums.add(model, words, windows)
    atlas = atlas_of(sums, windows, model="", architecture=architecture, sources={}, ranks={})
    found, expected = UsualWeights.of_atlas(atlas), usual_weights(model, words, texts)
    assert found.before == pytest.approx(expected.before[..., :20], abs=1e-6)
    assert found.after == pytest.approx(expected.after[..., :19], abs=1e-6)


def test_at_has_each_distance_in_its_place():
    before, after = np.zeros((2, 1, 1, 4), np.float32)
    before[0, 0], after[0, 0] = (0.1, 0.2, 0.3, 0.4), (0.5, 0.6, 0.7, 9)
    (one,) = UsualWeights(before, after[..., :3]).at(0, 6)
    assert one[2].tolist() == pytest.approx([0.3, 0.2, 0.1, 0.5, 0.6, 0.7])
    assert one[0].tolist() == pytest.approx([0.1, 0.5, 0.6, 0.7, 0.7, 0.7])
    assert one[5].tolist() == pytest.approx([0.4, 0.4, 0.4, 0.3, 0.2, 0.1])  # further away counts as the furthest


def test_an_encoder_decoder_has_none():
    model = small.model(vocab_size=256, architecture="encoder-decoder")
    with pytest.raises(ValueError, match="model of one stack"):
        usual_weights(model, ByteTokenizer(), ["abc"])


def test_no_text_is_refused():
    with pytest.raises(ValueError, match="no token"):
        usual_weights(small.model(vocab_size=256), ByteTokenizer(), [""])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PRETRAINED", tmp_path / "pretrained")
    stored_usual.cache_clear()
    yield tmp_path / "pretrained"
    stored_usual.cache_clear()


def test_a_file_gives_back_what_was_saved(folder):
    before, after = torch.rand(2, 2, 3, DISTANCES, generator=torch.Generator().manual_seed(0)).numpy()
    save_usual(folder / "mine" / module.FILE, UsualWeights(before, after))
    found = stored_usual("mine")
    assert found.before == pytest.approx(before, abs=1e-3)
    assert found.after == pytest.approx(after, abs=1e-3)


def test_a_model_without_a_file(folder):
    assert stored_usual("mine") is None
    save_usual(folder.parent / module.FILE, UsualWeights(*np.ones((2, 1, 1, 4), np.float32)))
    assert stored_usual("..") is None


def test_another_file_is_refused(folder):
    (folder / "mine").mkdir(parents=True)
    save_file({"other": torch.ones(2)}, folder / "mine" / module.FILE)
    with pytest.raises(CheckpointError, match=r"usual_weight\.before"):
        stored_usual("mine")


def test_stored_weights_fit_their_models():
    files = {path.parent.name for path in PRETRAINED.glob(f"*/{module.FILE}")}
    assert files
    assert with_atlas()
    assert not files & set(with_atlas()), "the file of a model with an atlas is read by nothing"
    for name in sorted({*files, *with_atlas()}):
        found = stored_usual(name)
        assert found.before.min() >= 0
        assert found.before.max() <= 1
        if (PRETRAINED / name / "config.json").is_file():
            config, _ = described(name)
            assert found.before.shape[:2] == (config.n_layers, config.attention.n_heads)
            assert found.before.shape[2] >= DISTANCES
            assert bool(found.after.any()) == (config.architecture == "encoder")


def test_the_command_refuses_a_model_with_an_atlas(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["usual", "stories"])
    with pytest.raises(SystemExit):
        module.main()
    assert "stories has an atlas, which is read" in capsys.readouterr().err


def test_stored_weights_are_measured_again(unchecked):
    import tfcore

    model, tokenizer = tfcore.load("stories", device="cpu")
    texts = module.general_texts()[:4]
    again, stored = usual_weights(model, tokenizer, texts), stored_usual("stories")
    near = slice(1, 8)  # of a few texts, the distances with many pairs
    assert np.corrcoef(again.before[:, :, near].ravel(), stored.before[:, :, near].ravel())[0, 1] > 0.9
