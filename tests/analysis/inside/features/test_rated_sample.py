"""The ratings that ship are of the features that ship, drawn as the file says, and counted right."""

import json
import shutil

import pytest

from tfcore.analysis.inside.features.feature_scan import SCAN_FILE, load_feature_scan
from tfcore.analysis.inside.features.rated_sample import (
    OF_EACH,
    RATINGS_FILE,
    drawn_features,
    load_ratings,
    rated_sample,
)
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.loading.transcoders import FOLDER, load_transcoders

PLACE = PRETRAINED / "stories" / FOLDER


def test_those_that_ship_are_of_the_features_that_were_drawn():
    ratings = load_ratings("stories")
    assert list(ratings) == [one.config.writes for one in load_transcoders("stories").each]
    seed = json.loads((PLACE / RATINGS_FILE).read_text("utf-8"))["seed"]
    assert [list(each) for each in ratings.values()] == drawn_features(load_feature_scan("stories"), seed)
    for each in ratings.values():
        assert all((rating.score > 0) == bool(rating.phrase) and rating.score in (0, 1, 2) for rating in each.values())


def test_ratings_of_other_features_are_not_shown(tmp_path):
    shutil.copy(PLACE / RATINGS_FILE, tmp_path)
    (tmp_path / SCAN_FILE).write_bytes(b"another")
    assert load_ratings("stories", tmp_path) == {}
    assert load_ratings("translate") == {}
    assert rated_sample({}, "blocks.0.mlp_out", "layer 0") is None


@pytest.mark.parametrize("writes", ["blocks.0.mlp_out", "blocks.2.resid_post"])
def test_they_are_counted(writes):
    said = json.loads((PLACE / RATINGS_FILE).read_text("utf-8"))["ratings"]
    found = rated_sample(load_ratings("stories"), writes, "layer 0")
    tally = [0, 0, 0]
    for score, _ in said[writes].values():
        tally[score] += 1
    assert found.scores == tuple(tally)
    assert sum(tally) == OF_EACH
    best = sum(score == 2 for each in said.values() for score, _ in each.values())
    assert (found.of_all, found.rated) == (best, 5 * OF_EACH)
    assert f"{tally[2]} with 2, {tally[1]} with 1, {tally[0]} with 0" in str(found)
    assert f"{best} of 50 have 2 ({best / 50:.0%}, 95 % interval " in str(found)
