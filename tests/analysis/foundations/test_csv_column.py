"""Numbers out of pasted tables, whatever stands there."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcore.analysis.foundations.csv_column import number, read_column


@pytest.mark.parametrize(
    ("text", "index", "names", "values"),
    [
        ("1\n2\n3", None, ("column 1",), [1, 2, 3]),
        ("x\n1\n2", None, ("x",), [1, 2]),
        ("day,t\n1,2.5\n2,3.5", None, ("day", "t"), [2.5, 3.5]),
        ("day,t\n1,2.5\n2,3.5", 0, ("day", "t"), [1, 2]),
        ("Monat;Wert\nJan;1,5\nFeb;-2,5", None, ("Monat", "Wert"), [1.5, -2.5]),
        ("a\tb\nx\t1e3\ny\t−4", None, ("a", "b"), [1000, -4]),
        ('name,"a, b"\n"x, y",7', None, ("name", "a, b"), [7]),
        ("\n\n  \nv\n\n1\n", None, ("v",), [1]),
        ("t,v\n1,2\n2,x\n3,4", None, ("t", "v"), [2, 4]),
        ("v,note\n1,\n2,\n3,7", None, ("v", "note"), [1, 2, 3]),
        ("1,2,3\n4", 2, ("column 1", "column 2", "column 3"), [3]),
    ],
)
def test_usual_tables(text, index, names, values):
    found = read_column(text, index)
    assert found.names == names
    np.testing.assert_array_equal(found.values, values)


def test_bad_rows_are_named_with_their_line():
    found = read_column("month;sales\nJan;12,5\nFeb;n/a\n\nMar;\nApr;inf\nMay;1\n", 1)
    assert found.values.tolist() == [12.5, 1.0]
    assert found.skipped == ((3, "n/a"), (5, ""), (6, "inf"))


@pytest.mark.parametrize(
    ("text", "index", "words"),
    [
        ("", None, "no table yet"),
        (" \n\t\n", None, "no table yet"),
        ("a,b\nc,d", None, "no row has a number"),
        ("1,2", 2, "no column 3; this table has 2"),
        ("1", -1, "no column 0"),
    ],
)
def test_what_is_no_column_is_said(text, index, words):
    with pytest.raises(ValueError, match=words):
        read_column(text, index)


@pytest.mark.parametrize("cell", ["", "x", "nan", "inf", "-inf", "1e400", "1e16", "1_000", "0x10", "1,5", "1 2"])
def test_what_is_no_number(cell):
    assert number(cell) is None


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_in_a_sentence(text):
    try:
        found: Any = read_column(text)
    except ValueError as problem:
        found = str(problem)
    if isinstance(found, str):
        assert len(found) > 20
    else:
        assert len(found.values) > 0
        assert np.isfinite(found.values).all()
        assert 0 <= found.index < len(found.names)
