"""The ratings that ship are of the features that ship, drawn as the file says, and counted right."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from tfcore.loading.checkpoints import PRETRAINED, load
from tfcore.loading.transcoders import FOLDER, load_transcoders
from tfcore.measures.dictionaries.feature_scan import SCAN_FILE, FeatureScan, load_feature_scan
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.views.inside.features.measure.ratings import (
    OF_EACH,
    RATINGS_FILE,
    Rating,
    drawn_features,
    load_ratings,
    named_tokens,
    share_elsewhere,
)
from tfcore.views.inside.features.say import phrases_elsewhere, rated_sample

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
    assert [found.values[name] for name in ("none", "one", "two")] == tally
    assert sum(tally) == OF_EACH
    best = sum(score == 2 for each in said.values() for score, _ in each.values())
    assert (found.values["of_all"], found.values["rated"]) == (best, 5 * OF_EACH)
    assert f"gave 2 points to {tally[2]}, 1 to {tally[1]} and 0 to {tally[0]} (" in str(found)
    assert f"{best} of 50 have 2 points ({best / 50:.0%}, 95 % interval " in str(found)


PIECES = ["we", " we", "to", " to", "'s", " then", " suddenly", "good"]


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("we", {0, 1}),
        ("the token “ we”, as a word or a piece", {1}),
        ("“to” after “good” or “important”", {2, 3}),
        ("the “'s” of let's", {4}),
        ("“then” or “suddenly”, where the story turns", {5, 6}),
        ("a name", set()),
        ("a comma after “Thank you”", set()),
        ("", set()),
        ("absent", set()),
    ],
)
def test_the_tokens_that_a_phrase_names(phrase, expected):
    assert named_tokens(phrase, PIECES) == expected


def test_phrases_are_held_against_all_other_places():
    tokenizer = load("stories", "cpu")[1]
    scan, ratings, of = load_feature_scan("stories"), load_ratings("stories"), load_transcoders("stories").each
    writes = [one.config.writes for one in of]
    found = phrases_elsewhere(ratings, scan, writes, tokenizer)
    pieces = tokenizer.tokens(list(range(tokenizer.vocab_size)))
    named = half = first = 0
    for dictionary, name in enumerate(writes):
        for feature, rating in ratings[name].items():
            if tokens := named_tokens(rating.phrase, pieces):
                named += 1
                first += int(scan.token[dictionary, feature, 0]) in tokens
                half += share_elsewhere(scan, dictionary, feature, tokens) >= 0.5
    assert found.values == {"rated": 50, "named": named, "half": half, "first": first}
    assert str(found) == (
        f"These phrases are of the strongest places. {named} of 50 name a token: {half} of these {named} features are "
        f"active on it at half or more of all other held-out places, and for {first} it is the token on which they are "
        "active most often."
    )
    assert phrases_elsewhere({}, scan, writes, tokenizer) is None


def test_a_share_without_the_strongest_places():
    """Of 12 places 3 of token 7 and 6 of token 9; the strongest two, in two windows, are on 7 and 9."""
    scan = FeatureScan(
        windows=np.array([[7, 9], [9, 5]], dtype=np.uint16),
        window=np.array([[[0, 1, 0]]]),
        position=np.array([[[0, 0, 0]]]),
        value=np.array([[[2.0, 1.0, 0.0]]]),
        fires=np.array([[12]]),
        token=np.array([[[9, 7]]]),
        token_share=np.array([[[0.5, 0.25]]]),
        histogram=np.zeros((1, 1, 2)),
        read=np.array([99]),
    )
    assert share_elsewhere(scan, 0, 0, {7}) == pytest.approx(2 / 10)
    assert share_elsewhere(scan, 0, 0, {7, 9}) == pytest.approx(7 / 10)
    assert share_elsewhere(scan, 0, 0, {1}) == 0
    ratings = {"it": {0: Rating(2, "seven")}}
    tokenizer = NamedTokenizer([*"abcdefg", "seven", "h", "nine"])
    found = phrases_elsewhere(ratings, scan, ["it"], tokenizer)
    assert found.values == {"rated": 1, "named": 1, "half": 0, "first": 0}
    half = replace(scan, token_share=np.array([[[0.5, 6 / 12]]]))
    assert phrases_elsewhere(ratings, half, ["it"], tokenizer).values["half"] == 1, "5 of 10"


def test_the_sentence_of_the_sample():
    twos = dict(enumerate([Rating(2, "")] * 21 + [Rating(0, "")] * 19))
    own = dict(enumerate([Rating(0, "")] + [Rating(1, "")] * 3 + [Rating(2, "")] * 6))
    assert str(rated_sample({"own": own, "others": twos}, "own", "layer 0")) == (
        "A language model read and rated 10 features of layer 0, drawn at random, and gave 2 points to 6, 1 to 3 "
        "and 0 to 1 (2 where one phrase names what the places of all 5 strongest held-out texts have in common, 1 "
        "where it names what most of them have in common, 0 where it names less). Of all five dictionaries, 27 of "
        "50 have 2 points (54%, 95 % interval 40% to 67%)."
    )
