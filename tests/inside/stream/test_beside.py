"""One token in two texts and in two models: which parts write it, and where it comes up."""

import numpy as np
import pytest

from tfcore.measures.logit_attribution import Contributions
from tfcore.views.inside import stream as views
from tfcore.views.inside.stream.measure.lens import TokenPath, path_of
from tfcore.views.inside.stream.measure.parts import contributions_of, instalments, instalments_beside
from tfcore.views.inside.stream.measure.text import read_of
from tfcore.views.inside.stream.say.beside import largest_difference, led_from
from tfcore.views.sources import Reading, opened

FIRST = Reading("stories", "Lily had a red ball. One day Lily lost the red")
SECOND = Reading("stories", "Lily had a red hat. One day Lily lost the red")
OTHER = Reading("stories-learned", FIRST.text)
NAMES = ("this text", "the other text")


def place(reading, piece):
    tokenizer = opened(reading.model)[1]
    (token,) = tokenizer.encode(piece)
    return len(read_of(reading).ids) - 1, token


def test_the_same_place_in_another_text_and_in_another_model():
    position, token = place(FIRST, " ball")
    assert views.place_beside(FIRST, SECOND, (position, token)) == (len(read_of(SECOND).ids) - 1, token)
    at, same = views.place_beside(FIRST, OTHER, (3, token))
    assert read_of(OTHER).tokens[at][-1] == read_of(FIRST).tokens[3][-1]
    assert opened(OTHER.model)[1].tokens([same]) == [" ball"]


def test_shares_are_those_of_each_and_of_two_models_those_of_kinds():
    here, there = place(FIRST, " ball"), place(SECOND, " ball")
    shown = views.parts_beside(FIRST, SECOND, here, there)
    each = [dict(instalments(contributions_of(one, *at, "mean"))) for one, at in ((FIRST, here), (SECOND, there))]
    assert all((first, second) == (each[0][name], each[1][name]) for name, first, second in shown.result)
    kinds = views.parts_beside(FIRST, OTHER, here, views.place_beside(FIRST, OTHER, here)).result
    assert {name for name, *_ in kinds} <= {"embedding", "positions", "attention", "feed-forward", "biases"}
    assert sum(first for _, first, _ in kinds) == pytest.approx(contributions_of(FIRST, *here, "mean").total, rel=1e-4)


def test_the_largest_parts_of_either_stand_in_the_order_of_computation():
    attributed = [
        Contributions(
            np.array([[heads, 0.0]] * 3), np.array(forward), np.zeros(3), 1.0, 0.0, 0.0, 5.0, 1.0, (), (True,) * 3
        )
        for heads, forward in ((0.1, [0.0, 2.0, 0.2]), (0.2, [0.0, 0.3, 3.0]))
    ]
    rows = instalments_beside(*attributed, most=3, by_kind=False)
    assert rows == [("embedding", 1.0, 1.0), ("feed-forward 1", 2.0, 0.3), ("feed-forward 2", 0.2, 3.0)]
    said = str(largest_difference(rows, " ball", NAMES, (5.0, 4.5)))
    assert said == (
        "Logit of '·ball': +5.00 for this text, +4.50 for the other text. Of these parts feed-forward 2 differs most: "
        "+0.20 and +3.00."
    )


def test_a_token_leads_from_the_stage_after_which_no_other_does():
    stages = ("blocks.0.resid_pre", "blocks.0.resid_mid", "blocks.0.resid_post")
    column = lambda *values: np.array(values, dtype=float)[:, None]  # noqa: E731
    first = TokenPath(stages, column(0.1, 0.4, 0.9), column(0, 1, 2), column(3, 0, 0).astype(int))
    never = TokenPath(stages, column(0.1, 0.4, 0.2), column(0, 1, 2), column(3, 0, 2).astype(int))
    assert str(led_from((first, never), " ball", NAMES)) == (
        "'·ball' is, for this text, first from attn 0 on, with 90% at the end; for the other text, not first, with 20% "
        "at the end."
    )


def test_paths_are_those_of_each_reading():
    here, there = place(FIRST, " ball"), place(SECOND, " ball")
    shown = views.lens_beside(FIRST, SECOND, here, there)
    for one, reading, (position, token) in zip(shown.result, (FIRST, SECOND), (here, there), strict=True):
        np.testing.assert_array_equal(one.probability, path_of(reading, position, (token,), "logit").probability)
    assert [line.name for line in shown.chart.data] == list(NAMES)
    assert shown.numbers().columns.tolist() == ["of", "stage", "probability"]
