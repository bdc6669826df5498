"""The recipe of transcoders on what a model writes itself: whole, and small."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from tests.nightly import nightly
from tests.training import tiny_run
from tfcore.loading.transcoders import load_transcoders
from tfcore.measures.dictionaries import feature_scan
from tfcore.training.data import CorpusError
from tfcore.training.recipes import RECIPES

recipes = import_module("tfcore.training.recipes.transcoders")  # the function has the name of its module


@pytest.fixture
def small():
    """Of stories, that it needs no real model."""
    recipe = RECIPES["smollm2-transcoders"].recipe
    settings = replace(recipe.settings, steps=6, rows=2, warmup=2, save_every=6)
    tuning = replace(recipe.tuning, steps=2, rows=2, warmup=1)
    return replace(
        recipe,
        model="stories",
        layers=(1, 3),
        n_features=40,
        top_k=4,
        written=60,
        seq=24,
        settings=settings,
        tuning=tuning,
    )


@nightly
def test_it_ends_with_weights_a_scan_and_the_texts_it_was_measured_on(small, tmp_path):
    corpus, out, steps = tiny_run.write_corpus(tmp_path / "corpus"), tmp_path / "out", []
    measured = recipes.transcoders(corpus, out, steps.append, small)
    assert [one.step for one in steps] == [1, 2, 3, 4, 5, 6, 1, 2]
    found = load_transcoders(out)
    assert [one.config.writes for one in found.each] == ["blocks.1.mlp_out", "blocks.3.mlp_out"]
    assert {one.config.first for one in found.each} == {1}
    assert {f"blocks.{layer}.mlp_out loss_recovered" for layer in (1, 3)} < measured.keys()
    assert (out / feature_scan.SCAN_FILE).is_file()
    texts = np.load(out / recipes.MEASURED_TEXTS)
    assert texts.shape[1] == 24
    assert measured["tokens"] == texts.shape[0] * 23  # from the first position on


def test_what_was_written_is_read_again_and_nothing_is_in_two_parts(small, tmp_path):
    corpus = tiny_run.write_corpus(tmp_path / "corpus")
    given = recipes.with_tokenizer("stories")
    first = recipes.texts_of(small, corpus, tmp_path / "out", *given)
    again = recipes.texts_of(small, tmp_path / "no corpus", tmp_path / "out", *given)
    assert all(np.array_equal(first.streams[name], again.streams[name]) for name in small.sources)
    whole = np.load(tmp_path / "out" / "texts" / "written.npy")
    assert len(whole) == 60 * 24
    assert len(first.streams["written"]) == 59 * 24
    assert whole[59 * 24 :].tolist() in first.held_out


def test_a_missing_text_is_one_sentence(small, tmp_path):
    with pytest.raises(CorpusError, match="is missing"):
        recipes.texts_of(small, tmp_path, tmp_path / "out", *recipes.with_tokenizer("stories"))
