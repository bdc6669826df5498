"""The recipe of transcoders on what a model writes itself: whole, and small."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from tests.nightly import nightly
from tests.training import tiny_run
from tfcore.loading.transcoders import load_transcoders
from tfcore.measures.dictionaries import feature_scan, labels
from tfcore.training.data import CorpusError
from tfcore.training.recipes import RECIPES

recipes = import_module("tfcore.training.recipes.transcoders")  # the function has the name of its module


@pytest.fixture
def small():
    """Of stories, that it needs no real model."""
    recipe = RECIPES["smollm2-transcoders"].recipe
    names = (recipes.PAIRS, "tinystories", "fairytales", "classics", recipes.WRITTEN)
    return replace(
        recipe,
        model="stories",
        sources=dict.fromkeys(names, 0.2),
        layers=(3, 1),
        n_features=40,
        top_k=4,
        written=60,
        seq=24,
        held_out=0.02,
        kept=20,
        reseeded=3,
        settings=replace(recipe.settings, steps=6, rows=2, warmup=2, save_every=6),
    )


@nightly
def test_it_ends_with_weights_a_scan_labels_and_the_texts_it_was_measured_on(small, tmp_path):
    corpus, out, steps = tiny_run.write_corpus(tmp_path / "corpus"), tmp_path / "out", []
    measured = recipes.transcoders(corpus, out, steps.append, small)
    assert [one.step for one in steps] == [10, *[*range(1, 7)] * 3]  # one file; two layers, and one of them again
    found = load_transcoders(out)
    assert [one.config.writes for one in found.each] == ["blocks.1.mlp_out", "blocks.3.mlp_out"]
    assert {one.config.first for one in found.each} == {1}
    assert {
        f"blocks.{layer}.mlp_out {said}" for layer in (1, 3) for said in ("loss_recovered", "labels")
    } < measured.keys()
    assert 0 < measured["blocks.3.mlp_out with another seed median cosine"] < 1
    assert (out / feature_scan.SCAN_FILE).is_file()
    assert (out / labels.LABELS_FILE).is_file()
    texts = np.load(out / recipes.MEASURED_TEXTS)
    assert texts.shape[1] == 24
    assert measured["tokens"] == texts.shape[0] * 23  # from the first position on
    weights = [one.W_dec.clone() for one in found.each]
    again = recipes.transcoders(tmp_path / "no corpus", out, steps.append, small)
    assert again == measured
    assert len(steps) == 19, "what is kept is not read again, and nothing is trained again"
    assert all((one.W_dec == before).all() for one, before in zip(load_transcoders(out).each, weights, strict=True))


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
