"""The file of an atlas, the atlases that ship, and one that grows on a text of one's own."""

from itertools import islice

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests import small
from tests.measures.atlas.test_sums import TEXT, read, subject, tokenizer, windows
from tfcore.files import CheckpointError
from tfcore.loading.checkpoints import PRETRAINED, described
from tfcore.measures.atlas import growing
from tfcore.measures.atlas.atlas import FOLDER, MEASURES, load_atlas, save_atlas, with_atlas
from tfcore.measures.atlas.examples import DECILES
from tfcore.measures.atlas.growing import growing_atlas


def test_a_file_gives_back_what_was_written(tmp_path):
    made = read(subject(), tokenizer(), windows())
    made = made.with_effects(np.random.default_rng(0).normal(size=(2, 3, 2)), windows())
    save_atlas(tmp_path, made, {"seed": 0})
    found = load_atlas(tmp_path)
    assert (found.tokens, found.window, found.kinds, found.shape) == (made.tokens, 20, made.kinds, (2, 3))
    for name, value in made.measures.items():
        np.testing.assert_allclose(found.measures[name], value, rtol=1e-6)
    np.testing.assert_allclose(found.pairs, made.pairs, atol=1e-3)
    assert found.examples.of(1, 2, 9)[0].ids == made.examples.of(1, 2, 9)[0].ids
    assert found.sample.tolist() == windows()[:2]
    assert (found.measures["effect_low"] <= found.measures["effect"]).all()
    np.testing.assert_allclose(found.measures["effect"], found.by_text.mean(-1), rtol=1e-5)


def test_a_damaged_file_is_refused_by_its_name(tmp_path):
    save_atlas(tmp_path, read(subject(), tokenizer(), windows()))
    path = tmp_path / "heads.safetensors"
    arrays = load_file(path)
    save_file({name: array[:, :, :9] if "examples" in name else array for name, array in arrays.items()}, path)
    with pytest.raises(
        CheckpointError, match=r"heads.safetensors is no atlas of heads: its parts do not fit each other"
    ):
        load_atlas(tmp_path)
    path = tmp_path / "two"
    save_atlas(path, read(subject(), tokenizer(), windows()))
    save_file({name: array for name, array in arrays.items() if name != "means"}, path / "heads.safetensors")
    with pytest.raises(CheckpointError, match=r"'means'; `python -m tfcore.training atlas` makes it"):
        load_atlas(path)
    with pytest.raises(CheckpointError, match=r"fill has no atlas of heads; .*stories"):
        load_atlas("fill")


@pytest.mark.parametrize("name", with_atlas())
def test_those_that_ship_are_of_their_models(name, request):
    if name not in ("stories",):
        request.getfixturevalue("real_models")
    found, (config, _) = load_atlas(name), described(name)
    assert found.shape == (config.n_layers, config.attention.n_heads)
    assert found.architecture == config.architecture
    assert found.tokens <= sum(found.sources.values())
    assert set(found.measures) <= set(MEASURES)
    for name_of, value in found.measures.items():
        most = MEASURES[name_of].most
        assert np.isfinite(value).all()
        assert most is None or (value.min() >= -1e-6 and value.max() <= most + 1e-6)
    whole = found.measures["first"] + found.distances.sum(-1) + found.ahead.sum(-1)
    np.testing.assert_allclose(whole, 1, atol=5e-3)
    np.testing.assert_allclose(found.deciles.mean(-1), found.measures["activity"], atol=0.06)
    assert found.deciles.shape[-1] == DECILES


def test_together_they_are_small():
    sizes = [path.stat().st_size for path in PRETRAINED.glob(f"*/{FOLDER}/*")]
    assert 0 < sum(sizes) < 6_000_000


def test_one_grows_on_a_text_and_can_be_stopped(monkeypatch):
    monkeypatch.setattr(growing, "WINDOW", 20)
    monkeypatch.setattr(growing, "ROWS", 1)
    steps = list(growing_atlas(subject(), tokenizer(), TEXT, name="mine", ablated=2))
    maps = [step for step in steps if not step.ablates]
    assert maps[-1].done == maps[-1].total == 80  # of 82: two make no window
    assert [step.atlas.tokens for step in maps if step.atlas] == sorted(
        step.atlas.tokens for step in maps if step.atlas
    )
    assert steps[-1].atlas.by_text.shape == (2, 3, 2)
    assert (steps[-1].atlas.model, maps[-1].atlas.measures.get("effect")) == ("mine", None)
    (stopped,) = islice(growing_atlas(subject(), tokenizer(), TEXT), 1)
    assert stopped.atlas.tokens == 19
    expected = read(subject(), tokenizer(), windows(most=1))
    np.testing.assert_allclose(stopped.atlas.pairs, expected.pairs, atol=1e-6)


@pytest.mark.parametrize("text", ["(a dog)", "The dog saw the cat.", "}}}}"])
def test_short_texts_have_no_number_where_there_is_no_case(text):
    *_, last = growing_atlas(subject(), tokenizer(), text)
    assert np.isfinite(last.atlas.measures["activity"]).all()
    assert last.atlas.examples.of(0, 0, 0) is not None


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ValueError, match="the text has 1 tokens; an atlas needs at least 4"):
        next(growing_atlas(subject(), tokenizer(), "a"))
    with pytest.raises(ValueError, match="an atlas is of a model of one stack"):
        next(growing_atlas(small.model(architecture="encoder-decoder"), tokenizer(), "a dog"))
