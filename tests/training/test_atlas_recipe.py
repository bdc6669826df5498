"""The recipe of the atlases: it goes on where it was stopped, and the cards say what their command prints."""

import json
import sys
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from tests.nightly import nightly
from tests.training.tiny_run import write_corpus
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.measures.atlas.atlas import FOLDER, load_atlas, with_atlas
from tfcore.training.recipes.atlas import ATLAS, atlas, of_atlas, said_of, texts_of
from tfcore.training.written_texts import articles, programs

TINY = replace(
    ATLAS,
    models=("stories-learned",),
    windows={"stories": 3, "French sentences": 1},
    least=4,
    length=24,
    rows=1,
    places=10.0,
    ablated=2,
    ablated_length=12,
)


recipe_module = sys.modules[atlas.__module__]


def test_a_stopped_run_goes_on_to_the_same_atlas(tmp_path, monkeypatch):
    monkeypatch.setattr(recipe_module, "SAVED_EVERY", 1)
    corpus, steps = write_corpus(tmp_path / "corpus"), []
    said = atlas(corpus, tmp_path / "one", steps.append, TINY)
    assert [step.step for step in steps] == [1, 2, 3, 1, 1, 2]

    def stop(step):
        seen.append(step)
        if len(seen) in (2, 5):
            raise KeyboardInterrupt

    seen: list = []
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            atlas(corpus, tmp_path / "two", stop, TINY)
    assert atlas(corpus, tmp_path / "two", seen.append, TINY) == said
    assert len(seen) == len(steps)
    whole, resumed = (load_atlas(tmp_path / name / "stories-learned") for name in ("one", "two"))
    assert whole.sources == {"stories": 72, "French sentences": 24}
    assert whole.tokens == 4 * 23
    for name in whole.measures:
        np.testing.assert_array_equal(whole.measures[name], resumed.measures[name])
    assert whole.sample.shape == (2, 12)


def test_the_last_source_has_the_windows_that_the_others_lack(tmp_path):
    corpus = write_corpus(tmp_path / "corpus")
    atlas(corpus, tmp_path, lambda _: None, replace(TINY, least=6))
    assert load_atlas(tmp_path / "stories-learned").sources == {"stories": 72, "French sentences": 72}


def test_texts_come_in_an_order_that_the_seed_decides(tmp_path):
    corpus = write_corpus(tmp_path)
    read = [list(texts_of("English sentences", corpus, tmp_path, replace(ATLAS, seed=seed))) for seed in (0, 0, 1)]
    assert read[0] == read[1] != read[2]
    assert sorted(read[0]) == sorted(read[2])
    assert "A dog 3." in read[0]


def test_beginnings_are_of_their_kind():
    assert all("{0}" not in text for text in islice(articles(), 100))
    assert next(articles()).startswith("The violin\n")
    assert next(programs()).startswith("def ")


@pytest.mark.parametrize("name", with_atlas())
def test_a_card_has_the_numbers_of_its_atlas(name):
    card = (PRETRAINED / name / FOLDER / "CARD.md").read_text("utf-8")
    found = json.loads(card.split("```json\n")[1].split("```")[0])
    shipped = load_atlas(name)
    assert {key: found[f"{name} {key}"] for key in said_of(shipped)} == said_of(shipped)
    assert f"{shipped.tokens:,}" in card
    assert f"{shipped.sample.size:,}" in card
    assert all(f"{tokens:,}" in card for tokens in shipped.sources.values())


@nightly
@pytest.mark.parametrize("name", with_atlas())
def test_a_card_says_what_is_measured_again(name, request):
    if name != "stories":
        request.getfixturevalue("real_models")
    card = (PRETRAINED / name / FOLDER / "CARD.md").read_text("utf-8")
    expected = json.loads(card.split("```json\n")[1].split("```")[0])
    assert of_atlas(replace(ATLAS, models=(name,))) == pytest.approx(expected, abs=2e-3)
