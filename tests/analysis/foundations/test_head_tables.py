"""The tables say what the maps hold, cell by cell, and the orders are orders."""

import io

import numpy as np
import pandas as pd
import pytest

from tests import small
from tfcore.analysis.foundations.attention_maps import attention_maps
from tfcore.analysis.foundations.head_tables import head_table, map_table, order, score_columns, token_table
from tfcore.analysis.foundations.heads import KINDS

N = 7
TOKENS = ["a", " b", "a", "<b>", "$x$", '"', "\n"]


@pytest.fixture(scope="module")
def found():
    return attention_maps(small.model(), small.ids(1, N)[0].tolist())


@pytest.mark.parametrize("sort", ["place", "kind", "score"])
def test_every_order_holds_every_head_once(found, sort):
    assert sorted(order(found, sort)) == [(layer, head) for layer in range(2) for head in range(6)]


def test_orders_are_sorted_by_what_they_are_called(found):
    heads = found.heads
    assert order(found, "place") == sorted(order(found, "place"))
    scores = [heads.score[place] for place in order(found, "score")]
    assert scores == sorted(scores, reverse=True)
    by_kind = [(heads.kind[place], -heads.score[place]) for place in order(found, "kind")]
    assert by_kind == sorted(by_kind)
    assert order(found, "score") != order(found, "place"), "this model cannot tell the orders apart"


def test_head_table_has_a_row_a_head_and_every_score(found):
    table = head_table(found)
    assert list(table.columns) == ["layer", "head", "kind", *score_columns(found)]
    assert list(table.select_dtypes(float).columns) == score_columns(found)
    assert len(table) == 12
    for row in table.to_dict("records"):
        place = row["layer"], row["head"]
        assert row["kind"] == found.heads.kind[place]
        assert row["score"] == found.heads.score[place] == row[row["kind"]]
        assert row["entropy (bits)"] == found.heads.entropy[place]
        assert row["mean distance (tokens)"] == found.heads.distance[place]
        assert all(row[kind] == found.heads.scores[kind][place] for kind in KINDS)


def test_map_table_holds_every_weight_that_is_not_zero(found):
    pattern = found.patterns[1, 3]
    table = map_table(pattern, TOKENS, TOKENS)
    assert len(table) == N * (N + 1) // 2, "causal: no row for a token that is not seen"
    rebuilt = np.zeros_like(pattern)
    rebuilt[table["query"], table["key"]] = table["weight"]
    np.testing.assert_array_equal(rebuilt, pattern)
    assert table["query token"].tolist() == [TOKENS[i] for i in table["query"]]
    assert table["key token"].tolist() == [TOKENS[i] for i in table["key"]]


def test_token_table_is_one_row_of_every_map(found):
    table = token_table(found, 4, TOKENS)
    assert len(table) == 12 * N
    for row in table.to_dict("records"):
        assert row["weight"] == found.patterns[row["layer"], row["head"], 4, row["key"]]
        assert row["key token"] == TOKENS[row["key"]]


def test_any_token_survives_the_way_through_csv(found):
    table = map_table(found.patterns[0, 0], TOKENS, TOKENS)
    again = pd.read_csv(io.StringIO(table.to_csv(index=False)), keep_default_na=False)
    assert again["key token"].tolist() == table["key token"].tolist()


def test_one_token_has_tables_too():
    found = attention_maps(small.model(), [5])
    assert not head_table(found).isna().any(axis=None)
    assert map_table(found.patterns[0, 0], ["x"], ["x"]).to_dict("records") == [
        {"query": 0, "key": 0, "query token": "x", "key token": "x", "weight": 1.0}
    ]
    assert (token_table(found, 0, ["x"])["weight"] == 1).all()
